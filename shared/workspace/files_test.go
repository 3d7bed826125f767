package workspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// shelf is the uploads there are, which the engine would have looked up.
type shelf map[string]Upload

// put stores bytes, told apart by their words, under a name.
func (s shelf) put(by Caller, name, words string) string {
	id := fmt.Sprintf("att_01K4ZQPX%018d", len(s)+1)
	sum := fmt.Sprintf("%x", words)
	s[id] = Upload{By: by.ID, File: protocol.Attachment{
		AttachmentID: id, Filename: name, MimeType: "text/plain", ByteSize: int64(len(words)), SHA256: sum + strings.Repeat("0", 64-len(sum)),
	}}
	return id
}

// post posts uploads, and notes in which room they are if it is taken.
func (s shelf) post(w *world, by Caller, room string, replaces map[string]string, ids ...string) (protocol.Event, *protocol.Error) {
	w.t.Helper()
	post := &protocol.MessagePost{Text: "here", UploadIDs: ids, Replaces: replaces}
	w.uploads = s
	events, err := w.do(by, event(room, post))
	if err != nil {
		return protocol.Event{}, err
	}
	for _, id := range ids {
		up := s[id]
		up.Rooms = append(up.Rooms, room)
		s[id] = up
	}
	return events[0], nil
}

func (s shelf) must(w *world, by Caller, room string, replaces map[string]string, ids ...string) protocol.Event {
	w.t.Helper()
	e, err := s.post(w, by, room, replaces, ids...)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// versions are the numbers of a file's versions that are remembered whole, and of its current one.
func versions(w *world, room, name string) (all []int, current int) {
	f := w.s.Rooms[room].Files[name]
	if f == nil {
		return nil, 0
	}
	for _, v := range f.Versions {
		all = append(all, v.Number)
	}
	return all, f.Current().Number
}

// covers: FILE-1, FILE-2, FILE-3, FILE-4, FILE-5, FILE-13, FILE-18, FILE-19, FILE-20, HLD-13
func TestFilesOfOneNameAreVersions(t *testing.T) {
	w := newWorld(t)
	h, agent, room := w.harness(w.arjun, "Oc2")
	s := shelf{}
	one := s.put(w.arjun, "plan.txt", "one")
	e := s.must(w, w.arjun, room, nil, one)
	if diff := cmp.Diff([]protocol.Attachment{s[one].File}, e.Data.(*protocol.MessagePost).Attachments); diff != "" {
		t.Errorf("what Chips fills in is not what was stored:\n%s", diff)
	}
	two := s.put(h, "plan.txt", "two")
	e = s.must(w, h, room, map[string]string{two: one}, two)
	if a := e.Data.(*protocol.MessagePost).Attachments[0]; a.Replaces != one {
		t.Errorf("the second says it replaces %q, not the first", a.Replaces)
	}
	// What the sender writes of its files itself is not read.
	w.uploads = s
	claimed := protocol.Attachment{AttachmentID: one, Filename: "other.txt", Replaces: two}
	e = w.must(h, event(room, &protocol.MessagePost{Text: "mine", Attachments: []protocol.Attachment{claimed}}))[0]
	if a := e.Data.(*protocol.MessagePost).Attachments; len(a) != 0 || w.s.Rooms[room].Files["other.txt"] != nil {
		t.Errorf("taken from the sender: %v", a)
	}
	if all, now := versions(w, room, "plan.txt"); now != 2 || len(all) != 2 {
		t.Errorf("after the second: versions %v, %d is current", all, now)
	}
	if by := w.s.Rooms[room].Files["plan.txt"].Current().By; by != agent {
		t.Errorf("the second is by %s", by)
	}

	// The same bytes again make no version and are never stale; without replaces nothing is checked, whoever posts.
	same := s.put(h, "plan.txt", "two")
	s.must(w, h, room, map[string]string{same: one}, same)
	if _, now := versions(w, room, "plan.txt"); now != 2 {
		t.Errorf("the same bytes made version %d", now)
	}
	// Made from an upload that posted the current bytes once more, it is made from what is current.
	more := s.put(w.arjun, "plan.txt", "more")
	s.must(w, w.arjun, room, map[string]string{more: same}, more)
	s.must(w, w.arjun, room, nil, s.put(w.arjun, "plan.txt", "two"))
	if _, now := versions(w, room, "plan.txt"); now != 4 {
		t.Errorf("then version %d is current", now)
	}
	for i, by := range []Caller{h, w.arjun} {
		s.must(w, by, room, nil, s.put(by, "plan.txt", fmt.Sprint("next ", i)))
		if _, now := versions(w, room, "plan.txt"); now != 5+i {
			t.Errorf("a file without replaces is version %d, want %d", now, 5+i)
		}
	}
}

// covers: FILE-14, FILE-16, FILE-21
func TestStaleFiles(t *testing.T) {
	w := newWorld(t)
	h, _, room := w.harness(w.arjun, "Oc2")
	other := w.room(w.arjun, "Elsewhere")
	s := shelf{}
	one, two := s.put(w.arjun, "ascii-alphabet.html", "one"), s.put(h, "ascii-alphabet.html", "two")
	s.must(w, w.arjun, room, nil, one)
	s.must(w, h, room, map[string]string{two: one}, two)
	s.must(w, h, room, nil, s.put(h, "ascii-alphabet.html", "three"))

	mine, fine := s.put(h, "ascii-alphabet.html", "mine"), s.put(h, "fine.txt", "fine")
	for _, from := range []string{one, two} {
		seq := w.s.Seq
		_, err := s.post(w, h, room, map[string]string{mine: from}, fine, mine)
		if err == nil || err.Code != protocol.StaleFile || w.s.Seq != seq {
			t.Fatalf("made from an older version: %v, seq %d after %d", err, w.s.Seq, seq)
		}
		if want := "ascii-alphabet.html is now v3, by Oc2. Fetch it and redo."; err.Message != want {
			t.Errorf("got %q, want %q", err.Message, want)
		}
		now := w.s.Rooms[room].Files["ascii-alphabet.html"].Current()
		want := &protocol.FileVersion{
			Name: "ascii-alphabet.html", Version: 3, AttachmentID: now.AttachmentID,
			By: protocol.Participant{ID: now.By, Kind: protocol.KindAgent, Name: "Oc2"},
		}
		if diff := cmp.Diff(want, err.File); diff != "" {
			t.Error(diff)
		}
	}

	// What is another file's, another room's or nobody's is left out, and so unchecked.
	foreign, another := s.put(w.arjun, "ascii-alphabet.html", "elsewhere"), s.put(w.arjun, "another.html", "another")
	s.must(w, w.arjun, other, nil, foreign)
	s.must(w, w.arjun, room, nil, another)
	for i, from := range []string{foreign, another, "att_01K4ZQPX000000000000009999"} {
		id := s.put(h, "ascii-alphabet.html", fmt.Sprint("left out ", i))
		e := s.must(w, h, room, map[string]string{id: from}, id)
		if a := e.Data.(*protocol.MessagePost).Attachments[0]; a.Replaces != "" {
			t.Errorf("it says it replaces %s", a.Replaces)
		}
		if _, now := versions(w, room, "ascii-alphabet.html"); now != 4+i {
			t.Errorf("it is version %d, want %d", now, 4+i)
		}
	}
}

func TestUploadsThatCannotBePosted(t *testing.T) {
	w := newWorld(t)
	h, _, room := w.harness(w.arjun, "Oc2")
	s := shelf{}
	theirs := s.put(h, "a.txt", "theirs")
	x, y, z := s.put(w.arjun, "a.txt", "x"), s.put(w.arjun, "a.txt", "y"), s.put(w.arjun, "b.txt", "z")
	spent := s[z]
	spent.Spent = true
	s[z] = spent
	for name, ids := range map[string][]string{
		"another's": {theirs}, "nobody's": {"att_01K4ZQPX000000000000009999"}, "two of one name": {x, y}, "one twice": {x, x}, "posted too often": {z},
	} {
		if _, err := s.post(w, w.arjun, room, nil, ids...); err == nil || err.Code != protocol.InvalidEvent || !strings.Contains(err.Message, "upload_ids") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Where two things are wrong the files are said last (contract U-120).
	w.uploads = s
	why := w.refused(protocol.InvalidEvent, w.arjun, event(room, &protocol.MessagePost{UploadIDs: []string{theirs}, ReplyTo: "msg_01K4ZQPX000000000000009999"}))
	if !strings.Contains(why.Message, "reply_to") {
		t.Errorf("a reply to nothing with a file of nobody: %s", why.Message)
	}
}

func TestFilesOfDeletedMessages(t *testing.T) {
	w := newWorld(t)
	room := w.room(w.arjun, "R")
	s := shelf{}
	var posts []protocol.Event
	for i := range 6 {
		posts = append(posts, s.must(w, w.arjun, room, nil, s.put(w.arjun, "plan.txt", fmt.Sprint("words ", i))))
	}
	gone := func(i int) { w.s.Rooms[room].evolveFilesGone(protocol.MessageID(posts[i].ID)) }
	gone(4)
	if all, now := versions(w, room, "plan.txt"); now != 6 || !cmp.Equal(all, []int{4, 6}) {
		t.Errorf("without the fifth: %v, %d is current", all, now)
	}
	gone(0)
	if older := w.s.Rooms[room].Files["plan.txt"].Older; !cmp.Equal(older, []OlderVersion{{2, posts[1].Seq}, {3, posts[2].Seq}}) {
		t.Errorf("without the first: older %v", older)
	}
	gone(5)
	if _, now := versions(w, room, "plan.txt"); now != 4 {
		t.Errorf("without the newest %d is current, want 4", now)
	}
	s.must(w, w.arjun, room, nil, s.put(w.arjun, "plan.txt", "seventh"))
	if _, now := versions(w, room, "plan.txt"); now != 7 {
		t.Errorf("the next is version %d: versions keep their numbers", now)
	}
	// Also where none stands any more.
	other := s.must(w, w.arjun, room, nil, s.put(w.arjun, "other.txt", "first"))
	w.s.Rooms[room].evolveFilesGone(protocol.MessageID(other.ID))
	if _, now := versions(w, room, "other.txt"); now != 0 {
		t.Error("a file of which nothing stands is listed")
	}
	s.must(w, w.arjun, room, nil, s.put(w.arjun, "other.txt", "second"))
	if _, now := versions(w, room, "other.txt"); now != 2 {
		t.Errorf("the next is version %d, want 2", now)
	}
}

// What a room remembers is bounded, and the newest of it.
func TestRoomsRememberSoManyFiles(t *testing.T) {
	w := newWorld(t)
	room := w.room(w.arjun, "R")
	s := shelf{}
	for i := range 1 + olderVersions + keptVersions + 1 {
		s.must(w, w.arjun, room, nil, s.put(w.arjun, "busy.txt", fmt.Sprint("words ", i)))
	}
	if f := w.s.Rooms[room].Files["busy.txt"]; len(f.Older) != olderVersions || len(f.Versions) != keptVersions || f.Last != 205 {
		t.Errorf("%d older, %d whole, last %d", len(f.Older), len(f.Versions), f.Last)
	}
	for i := range MaxRoomFiles {
		s.must(w, w.arjun, room, nil, s.put(w.arjun, fmt.Sprint(i), fmt.Sprint("file ", i)))
	}
	r := w.s.Rooms[room]
	if len(r.Files) != MaxRoomFiles || r.Files["busy.txt"] != nil {
		t.Errorf("%d files; the oldest is there: %v", len(r.Files), r.Files["busy.txt"] != nil)
	}
	newest := r.NewestFiles(20)
	for i, f := range newest {
		if want := fmt.Sprint(MaxRoomFiles - 1 - i); f.Name != want {
			t.Errorf("newest %d is %s, want %s", i, f.Name, want)
		}
	}
	if len(newest) != 20 {
		t.Errorf("%d newest", len(newest))
	}
	// A name that was forgotten goes on with its numbers.
	s.must(w, w.arjun, room, nil, s.put(w.arjun, "busy.txt", "words again"))
	if f := r.Files["busy.txt"]; f.Last != 206 {
		t.Errorf("its next version is %d", f.Last)
	}
}
