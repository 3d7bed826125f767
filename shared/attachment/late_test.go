package attachment_test

import (
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// A face that is about to be replaced is looked at when it has been, also where a look that was to come before finds it the face as yet.
func TestAFaceReplacedWhileItIsLookedAt(t *testing.T) {
	h := newHouse(t)
	_, agent, _ := h.harness()
	give := func(f protocol.Face) workspace.Command {
		return workspace.Command{By: h.arjun, Operation: true, Draft: workspace.Draft(&workspace.AgentDraft{AgentID: agent, SetFace: true, Face: f})}
	}
	h.do(give(protocol.Face{AttachmentID: h.upload("a.gif", "GIF89a\x01\x00\x01\x00\x00\x00\x00\x3b")}).Draft)
	words := h.upload("b.txt", "no picture")
	h.later(24*time.Hour - time.Minute) // one more, and it is looked at
	if _, err := h.engine.Do(t.Context(), h.ws, give(protocol.Face{AttachmentID: words})); err == nil {
		t.Fatal("a face of words")
	}
	h.later(2 * time.Minute)
	if _, err := h.engine.Engine.Do(t.Context(), h.ws, give(protocol.Face{Emoji: "🙂"})); err != nil { // as the one before, which took its time
		t.Fatal(err)
	}
	h.later(48 * time.Hour)
	if got := h.stored(); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
	h.nothingDue()
}

// The same of a message: here the earlier look is for what became of the post, which nobody had noted.
func TestAMessageDeletedWhileItsFileIsLookedAt(t *testing.T) {
	h := newHouse(t)
	room, other := h.room(), h.room()
	said := workspace.DraftIn(room, &protocol.MessagePost{Text: "here", UploadIDs: []string{h.upload("plan.md", "the plan")}})
	h.rows.lives(2) // it is noted that it perhaps was posted, and no more
	message := h.do(said)[0]
	h.rows.lives(-1)
	deletion := func(room string) workspace.Command {
		return workspace.Command{By: h.arjun, Operation: true, Draft: workspace.DraftIn(room, &protocol.MessageDeleted{MessageID: protocol.MessageID(message.ID)})}
	}
	h.later(24*time.Hour - time.Minute)
	if _, err := h.engine.Do(t.Context(), h.ws, deletion(other)); err == nil {
		t.Fatal("it was deleted where it is not")
	}
	h.later(2 * time.Minute)
	if _, err := h.engine.Engine.Do(t.Context(), h.ws, deletion(room)); err != nil {
		t.Fatal(err)
	}
	h.later(48 * time.Hour)
	if got := h.stored(); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
	h.nothingDue()
}
