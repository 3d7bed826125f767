package attachment

import (
	"context"
	"errors"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// openLink opens a URL as a fetch of it would.
func (w *world) openLink(t testing.TB, link string) (Content, error) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	return w.Open(t.Context(), path.Base(u.Path), q.Get("exp"), q.Get("tok"), q.Get("sig"))
}

const (
	notFound  = "not_found: no such attachment"
	forbidden = "forbidden: the URL is not good, or no longer"
)

// A post that was committed and not noted, as its process died, is found out by whoever asks; so is one that never was.
func TestPostsThatWereNotNoted(t *testing.T) {
	w := newWorld(t)
	posted, never := w.upload(t, "a.txt", "posted"), w.upload(t, "b.txt", "never")
	for key, file := range map[string]protocol.Attachment{"k1": posted, "k2": never} {
		if _, err := w.facts(t.Context(), ws, draft(key, file.AttachmentID), []string{file.AttachmentID}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.read(t, priya, posted.AttachmentID); got != notFound {
		t.Errorf("before it is in the log: %s", got)
	}
	w.commits(t, "k1", posted)
	if got := w.read(t, priya, posted.AttachmentID); got != "posted" {
		t.Errorf("once it is: %s", got)
	}
	if got := w.read(t, priya, never.AttachmentID); got != notFound {
		t.Errorf("what was never posted: %s", got)
	}
	// What is asked about a day later is looked at too, and then told apart.
	late := w.upload(t, "c.txt", "late")
	if _, err := w.facts(t.Context(), ws, draft("k3", late.AttachmentID), []string{late.AttachmentID}, nil); err != nil {
		t.Fatal(err)
	}
	w.commits(t, "k3", late)
	w.now = w.now.Add(unposted + time.Hour)
	w.sweep(t)
	if _, ok, _ := w.get(t.Context(), never.AttachmentID); ok {
		t.Error("what was never posted is still there")
	}
	for _, file := range []protocol.Attachment{posted, late} {
		if u, ok, _ := w.get(t.Context(), file.AttachmentID); !ok || u.pending() || !u.due.IsZero() {
			t.Errorf("%s: %+v, %v", file.Filename, u, ok)
		}
	}
}

// An upload that is not posted goes after a day with its bytes, and one whose post was refused is as one that was not posted.
func TestUploadsThatAreNotPosted(t *testing.T) {
	w := newWorld(t)
	file := w.upload(t, "a.txt", "bytes")
	cmd := draft("k1", file.AttachmentID)
	if _, err := w.facts(t.Context(), ws, cmd, []string{file.AttachmentID}, nil); err != nil {
		t.Fatal(err)
	}
	w.notPosted(t.Context(), cmd, []string{file.AttachmentID})
	if u, _, _ := w.get(t.Context(), file.AttachmentID); len(u.Posts) != 0 {
		t.Errorf("after its post was refused: %+v", u.Posts)
	}
	w.now = w.now.Add(unposted - time.Minute)
	w.sweep(t)
	if len(w.memory.blobs) != 1 {
		t.Error("it is gone before its day is over")
	}
	started, err := w.Begin(t.Context(), by(arjun), "b.txt", 3)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(started.PutURL)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Receive(t.Context(), started.AttachmentID, u.Query().Get("exp"), u.Query().Get("sig"), []byte("abc")); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(2 * unposted)
	w.sweep(t)
	w.now = w.now.Add(2 * time.Minute)
	w.sweep(t)
	if len(w.memory.blobs) != 0 {
		t.Errorf("left over: %v", w.memory.blobs)
	}
	for key := range w.memory.rows {
		if strings.HasPrefix(key[0], UploadRows) || strings.HasPrefix(key[0], BytesRows) && key[1] != only {
			t.Errorf("left over: %v", key)
		}
	}
}

// covers: HLD-10
func TestBytesGoWithTheirLastUse(t *testing.T) {
	w := newWorld(t)
	one, two := w.upload(t, "a.txt", "same"), w.upload(t, "b.txt", "same")
	if len(w.memory.blobs) != 1 {
		t.Errorf("the same bytes twice are stored as %d", len(w.memory.blobs))
	}
	var posts []protocol.Event
	for key, file := range map[string]protocol.Attachment{"k1": one, "k2": two} {
		e := w.commits(t, key, file)
		w.posted(t.Context(), []protocol.Event{e}, key)
		posts = append(posts, e)
	}
	first := posts[0].Data.(*protocol.MessagePost).Attachments[0].AttachmentID
	second := posts[1].Data.(*protocol.MessagePost).Attachments[0].AttachmentID
	gone := func(e protocol.Event, id string) {
		w.deletes(e)
		// Not served from then on, whatever became of the rows.
		if got := w.read(t, arjun, id); got != notFound {
			t.Errorf("of a deleted message: %s", got)
		}
		if _, _, err := w.update(t.Context(), id, func(u *upload) bool { u.due = w.now; return true }); err != nil {
			t.Fatal(err)
		}
		w.sweep(t)
	}
	gone(posts[0], first)
	if got := w.read(t, priya, second); got != "same" {
		t.Errorf("the other's after the first was deleted: %s", got)
	}
	gone(posts[1], second)
	if len(w.memory.blobs) != 0 {
		t.Errorf("after the last: %v", w.memory.blobs)
	}
	anew := w.upload(t, "c.txt", "same")
	if got := w.read(t, arjun, anew.AttachmentID); got != "same" {
		t.Errorf("uploaded anew: %s", got)
	}
	if len(w.memory.deleted) != 1 {
		t.Errorf("deleted %v", w.memory.deleted)
	}
}

// A sweep that dies between two of its steps is finished by the next.
func TestSweepsThatDie(t *testing.T) {
	for dies := 1; ; dies++ {
		w := newWorld(t)
		w.upload(t, "a.txt", "bytes")
		w.now = w.now.Add(2 * unposted)
		calls := 0
		w.memory.step = func() {
			if calls++; calls == dies {
				panic("dies")
			}
		}
		done := func() (done bool) {
			defer func() { _ = recover() }()
			w.sweep(t)
			return true
		}()
		w.memory.step = func() {}
		for range 3 {
			w.now = w.now.Add(time.Hour)
			w.sweep(t)
		}
		if len(w.memory.blobs) != 0 {
			t.Fatalf("dying at call %d leaves %v", dies, w.memory.blobs)
		}
		if done {
			if dies < 20 {
				t.Errorf("%d calls: it was not tried", dies)
			}
			return
		}
	}
}

// Nothing of a room that was deleted is served, to who uploaded it neither, unless it stands elsewhere too.
func TestFilesOfADeletedRoom(t *testing.T) {
	w := newWorld(t)
	file := w.upload(t, "plan.md", "the plan")
	e := w.commits(t, "k", file)
	w.posted(t.Context(), []protocol.Event{e}, "k")
	if got := w.read(t, arjun, file.AttachmentID); got != "the plan" {
		t.Fatalf("before: %s", got)
	}
	d := &protocol.SpaceDeleted{}
	workspace.Evolve(w.log.state, protocol.Event{Envelope: protocol.Envelope{Type: d.EventType(), SpaceID: room, Seq: e.Seq + 1}, Data: d})
	for _, who := range []string{arjun, priya} {
		if got := w.read(t, who, file.AttachmentID); got != "not_found: no such attachment" {
			t.Errorf("%s gets %s", who, got)
		}
	}
}

// covers: DLV-5, FILE-12
func TestURLsEnd(t *testing.T) {
	w := newWorld(t)
	file := w.upload(t, "a.txt", "bytes")
	link, until, err := w.URL(t.Context(), by(arjun), file.AttachmentID)
	if err != nil {
		t.Fatal(err)
	}
	if got := until.Sub(w.now); got != 10*time.Minute {
		t.Errorf("a URL is good for %v", got)
	}
	w.now = w.now.Add(10 * time.Minute)
	if _, err := w.openLink(t, link); err != nil {
		t.Errorf("in its tenth minute: %v", err)
	}
	w.now = w.now.Add(time.Second + time.Millisecond)
	if _, err := w.openLink(t, link); err == nil || err.Error() != forbidden {
		t.Errorf("after ten minutes: %v", err)
	}
}

// Bytes that are put past us and are not as many as were announced are no upload, and nothing of them is stored.
func TestOtherBytesThanAnnounced(t *testing.T) {
	w := newWorld(t)
	started, err := w.Begin(t.Context(), by(arjun), "a.txt", 3)
	if err != nil {
		t.Fatal(err)
	}
	staged := "uploads/" + started.AttachmentID
	for _, put := range []string{"four", "ab"} {
		w.memory.blobs[staged] = []byte(put)
		_, err := w.Done(t.Context(), by(arjun), started.AttachmentID)
		if e, ok := errors.AsType[*protocol.Error](err); !ok || e.Code != protocol.InvalidRequest || !strings.Contains(e.Message, "byte_size is 3") {
			t.Errorf("%q is answered %v", put, err)
		}
		if len(w.memory.blobs) != 1 {
			t.Errorf("%q is kept: %d", put, len(w.memory.blobs))
		}
	}
	w.memory.blobs[staged] = []byte("abc")
	if file, err := w.Done(t.Context(), by(arjun), started.AttachmentID); err != nil || file.ByteSize != 3 {
		t.Errorf("%+v, %v", file, err)
	}
}

// Keys are changed, and URLs of the one before are taken on, also by another process that has not read of the new one.
func TestKeysChange(t *testing.T) {
	w := newWorld(t)
	file := w.upload(t, "a.txt", "bytes")
	other := New(w.c)
	link := func(s *Service) string {
		l, err := s.Links(t.Context(), by(arjun).Credential)
		if err != nil {
			t.Fatal(err)
		}
		u, _ := l(file.AttachmentID)
		return u
	}
	before := link(w.Service)
	link(other)
	w.now = w.now.Add(keyFor - time.Minute)
	old := link(w.Service)
	w.now = w.now.Add(2 * time.Minute)
	w.keys.at = time.Time{} // this one reads, and makes the next key
	fresh := link(w.Service)
	for name, s := range map[string]*Service{"the one": w.Service, "the other": other} {
		check := func(what, link string, good bool) {
			u, _ := url.Parse(link)
			q := u.Query()
			_, err := s.Open(t.Context(), file.AttachmentID, q.Get("exp"), q.Get("tok"), q.Get("sig"))
			if good != (err == nil) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		check("by the key before", old, true)
		check("by the new key", fresh, true)
		check("of a month ago", before, false)
	}
	if strings.Split(old, "sig=")[1] == strings.Split(fresh, "sig=")[1] {
		t.Error("the key did not change")
	}
}

// hearing says the same of each recording, or fails.
type hearing struct {
	heard Heard
	err   error
}

func (h hearing) Hear(context.Context, string, protocol.Attachment) (Heard, error) {
	return h.heard, h.err
}

// covers: HLD-11, HLD-12
func TestListening(t *testing.T) {
	wave := "RIFF\x00\x00\x00\x00WAVEfmt "
	for name, c := range map[string]struct {
		listener Listener
		content  string
		want     protocol.Attachment
	}{
		"nobody listens":   {nil, wave, protocol.Attachment{}},
		"a voice note":     {hearing{Heard{DurationMS: 4200, Transcript: "Call Northwind."}, nil}, wave, protocol.Attachment{DurationMS: 4200, Transcript: "Call Northwind."}},
		"it cannot be":     {hearing{Heard{DurationMS: 1}, errors.New("too quiet")}, wave, protocol.Attachment{}},
		"a picture":        {hearing{Heard{DurationMS: 1}, nil}, "GIF89a\x03\x00\x04\x00\x00\x00\x00", protocol.Attachment{Width: 3, Height: 4}},
		"a very long note": {hearing{Heard{Transcript: strings.Repeat("é", 2000)}, nil}, wave, protocol.Attachment{Transcript: strings.Repeat("é", 1000)}},
	} {
		w := newWorld(t)
		w.c.Listener = c.listener
		got := w.upload(t, "a", c.content)
		if got.DurationMS != c.want.DurationMS || got.Transcript != c.want.Transcript || got.Width != c.want.Width || got.Height != c.want.Height {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestBusyRows(t *testing.T) {
	w := newWorld(t)
	file := w.upload(t, "a.txt", "bytes")
	_, _, err := w.update(t.Context(), file.AttachmentID, func(u *upload) bool { u.rev += 100; return true })
	if !errors.Is(err, engine.ErrBusy) {
		t.Errorf("a row that others write all the time: %v", err)
	}
}
