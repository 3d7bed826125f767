package attachment_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// The bytes of a room go with it, however many there are and however often one name was posted, but for what is used elsewhere.
// covers: HLD-10
func TestBytesOfADeletedRoom(t *testing.T) {
	h := newHouse(t)
	gone, kept := h.room(), h.room()
	for i := range 230 { // more commits than are gone through at once, and more versions than a room knows whole
		h.post(gone, h.upload("plan.md", fmt.Sprint("version ", i)), h.upload(fmt.Sprint(i, ".md"), fmt.Sprint("file ", i)))
	}
	both, same, twin := h.upload("both.md", "in both"), h.upload("same.md", "the same"), h.upload("twin.md", "the same")
	h.post(gone, both, same)
	h.post(kept, both)
	h.post(kept, twin)
	if n := len(h.stored()); n != 462 {
		t.Fatalf("%d are stored", n)
	}
	h.do(workspace.DraftIn(gone, &protocol.SpaceDeleted{}))
	h.later(10 * time.Minute)
	if got := h.stored(); len(got) != 2 || got["in both"] != 1 || got["the same"] != 1 {
		t.Errorf("%d are left", len(got))
	}
	if h.read(both) != "in both" || h.read(twin) != "the same" || h.read(same) == "the same" {
		t.Errorf("of what is used elsewhere: %q, %q, and %q of what is not", h.read(both), h.read(twin), h.read(same))
	}
	h.do(workspace.DraftIn(kept, &protocol.SpaceDeleted{}))
	h.later(10 * time.Minute)
	if got := h.stored(); len(got) != 0 {
		t.Errorf("after the last room %d are left", len(got))
	}
	h.nothingDue()
}

// A deletion that is refused takes nothing away, and leaves nothing to be done.
func TestARoomThatIsNotDeleted(t *testing.T) {
	h := newHouse(t)
	room := h.room()
	file := h.upload("plan.md", "the plan")
	h.post(room, file)
	h.do(workspace.DraftIn(room, &protocol.SpaceLockSet{Locked: true}))
	_, err := h.engine.Do(t.Context(), h.ws, workspace.Command{By: h.arjun, Draft: workspace.DraftIn(room, &protocol.SpaceDeleted{}), Operation: true})
	if err == nil {
		t.Fatal("a locked room was deleted")
	}
	h.later(48 * time.Hour)
	if got := h.read(file); got != "the plan" {
		t.Errorf("its file is %q", got)
	}
	h.nothingDue()
}

// What is posted in a room while it is about to be deleted goes with it, too.
func TestPostedWhileARoomIsDeleted(t *testing.T) {
	h := newHouse(t)
	room := h.room()
	h.do(workspace.DraftIn(room, &protocol.SpaceLockSet{Locked: true}))
	deletion := workspace.Command{By: h.arjun, Draft: workspace.DraftIn(room, &protocol.SpaceDeleted{}), Operation: true}
	if _, err := h.engine.Do(t.Context(), h.ws, deletion); err == nil {
		t.Fatal("a locked room was deleted")
	}
	h.do(workspace.DraftIn(room, &protocol.SpaceLockSet{}))
	h.post(room, h.upload("late.md", "late"))
	if _, err := h.engine.Engine.Do(t.Context(), h.ws, deletion); err != nil { // the same one, which took its time
		t.Fatal(err)
	}
	h.later(10 * time.Minute)
	if got := h.stored(); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
}

// Whatever call the sweep of a room dies at, the next sweeps go on from there: all bytes go, but those that are used elsewhere.
func TestSweepsOfRoomsThatDie(t *testing.T) {
	for calls := 0; ; calls++ {
		h := newHouse(t)
		gone, kept := h.room(), h.room()
		h.post(gone, h.upload("a.md", "a"), h.upload("b.md", "b"))
		h.post(kept, h.upload("twin.md", "a"))
		h.do(workspace.DraftIn(gone, &protocol.SpaceDeleted{}))
		h.rows.lives(calls)
		h.later(10 * time.Minute)
		h.rows.mu.Lock()
		done := h.rows.left > 0
		h.rows.left = -1
		h.rows.mu.Unlock()
		for range 3 {
			h.later(2 * time.Hour)
		}
		if got := h.stored(); len(got) != 1 || got["a"] != 1 {
			t.Fatalf("dying after %d calls leaves %v", calls, got)
		}
		h.nothingDue()
		if done {
			if calls < 15 {
				t.Errorf("%d calls: it was not tried", calls)
			}
			return
		}
	}
}

// The bytes of a face go when there is another, or none, and those of one that never came to be with what was not posted.
func TestBytesOfFaces(t *testing.T) {
	h := newHouse(t)
	_, agent, room := h.harness()
	picture := func(n byte) string { return "GIF89a" + string(n) + "\x00\x01\x00\x00\x00\x00\x3b" }
	give := func(f protocol.Face) {
		t.Helper()
		h.do(workspace.Draft(&workspace.AgentDraft{AgentID: agent, SetFace: true, Face: f}))
	}
	a, b, posted := h.upload("a.gif", picture(1)), h.upload("b.gif", picture(2)), h.upload("c.gif", picture(3))
	h.post(room, posted)
	give(protocol.Face{AttachmentID: a})
	h.later(48 * time.Hour)
	if h.read(a) != picture(1) || h.read(b) == picture(2) {
		t.Errorf("two days later the face is %q, and what was not given %q", h.read(a), h.read(b))
	}
	b = h.upload("b.gif", picture(2))
	give(protocol.Face{AttachmentID: b})
	h.later(10 * time.Minute)
	if got := h.stored(); got[picture(1)] != 0 || h.read(b) != picture(2) {
		t.Errorf("after the next face: %v", got)
	}
	give(protocol.Face{AttachmentID: posted})
	h.later(48 * time.Hour)
	if got := h.stored(); got[picture(2)] != 0 || h.read(posted) != picture(3) {
		t.Errorf("after a face that was posted: %v", got)
	}
	give(protocol.Face{Emoji: "🙂"})
	h.later(48 * time.Hour)
	if got := h.stored(); len(got) != 1 || h.read(posted) != picture(3) {
		t.Errorf("without a face: %v", got)
	}
	// One that was begun to be given and was not.
	_, err := h.engine.Do(t.Context(), h.ws, workspace.Command{
		By: h.arjun, Operation: true,
		Draft: workspace.Draft(&workspace.AgentDraft{AgentID: agent, SetFace: true, Face: protocol.Face{AttachmentID: h.upload("d.txt", "no picture")}}),
	})
	if err == nil || !strings.Contains(err.Error(), "no image") {
		t.Fatalf("a face of words: %v", err)
	}
	h.later(48 * time.Hour)
	if got := h.stored(); len(got) != 1 {
		t.Errorf("after one that was refused: %v", got)
	}
	h.nothingDue()
}

// What is said to a run holds its files as any message does, and no longer.
// covers: FILE-2
func TestFilesSaidToARun(t *testing.T) {
	h := newHouse(t)
	scout, _, room := h.harness()
	start := workspace.DraftIn(room, &protocol.RunStarted{})
	start.RunID = protocol.NewID(protocol.PrefixRun, h.now, [10]byte{2})
	h.by(scout, start)
	file := h.upload("plan.md", "the plan")
	steer := workspace.DraftIn(room, &protocol.RunSteer{Mode: protocol.ModeSteer, Text: "by this", UploadIDs: []string{file}})
	steer.RunID = start.RunID
	said := h.do(steer)[0]
	h.later(48 * time.Hour)
	if got := h.read(file); got != "the plan" {
		t.Fatalf("two days later it is %q", got)
	}
	h.do(workspace.DraftIn(room, &protocol.MessageDeleted{MessageID: protocol.MessageID(said.ID)}))
	h.later(10 * time.Minute)
	if got := h.stored(); len(got) != 0 {
		t.Errorf("after the words were deleted: %v", got)
	}
}
