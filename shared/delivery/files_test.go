package delivery

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// file is the nth file there is, by a name.
func file(n int, name string) protocol.Attachment {
	return protocol.Attachment{AttachmentID: id("att", n), Filename: name, MimeType: "text/html", ByteSize: 4812, SHA256: fmt.Sprintf("%064x", n)}
}

// links makes URLs that say whom they are for.
func links(credential string) Links {
	return func(id string) (string, protocol.Time) {
		return "https://chips.example/v1/attachments/" + id + "?tok=" + credential, protocol.At(time.Date(2026, 9, 2, 14, 32, 15, 0, time.UTC))
	}
}

func urls(files []protocol.Attachment) (all []string) {
	for _, f := range files {
		all = append(all, f.URL)
	}
	return all
}

// covers: DLV-4, FILE-1
func TestFilesOfWordsComeWithURLs(t *testing.T) {
	w := newWorld()
	sent := []protocol.Attachment{file(1, "a.html"), file(2, "b.html")}
	post := &protocol.MessagePost{Text: "look", Attachments: sent, AddressedTo: []string{s1}}
	e := w.put(roomR, person(arjun), post)
	one, _ := links("tok")(id("att", 1))
	two, _ := links("tok")(id("att", 2))
	want := []string{one, two}
	for name, kind := range map[string]string{"Scout": "message.new", "Ledger": "message.overheard", "Priya": "message.post"} {
		r := recipient(t, name).At(w.s)
		rendered := Render(w.s, e, r, nil)
		got := Finish(rendered, Hand{Now: e.TS.Time, Links: links("tok")})
		if got.Type != kind || HasFiles(rendered) != (kind != "message.post") {
			t.Errorf("%s hears %s, with files for URLs: %v", name, got.Type, HasFiles(rendered))
		}
		switch d := got.Data.(type) {
		case *protocol.MessageNew:
			if diff := cmp.Diff(want, urls(d.Attachments)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		case *protocol.MessageOverheard:
			if diff := cmp.Diff(want, urls(d.Attachments)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		case *protocol.MessagePost:
			if diff := cmp.Diff(sent, d.Attachments); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
	if diff := cmp.Diff([]string{"", ""}, urls(post.Attachments)); diff != "" {
		t.Errorf("what was logged was changed: %s", diff)
	}
	// Two credentials of one harness are not of one class.
	first, second := recipient(t, "Scout"), recipient(t, "Scout")
	first.Credential, second.Credential = "tok_1", "tok_2"
	if Class(e, first) == Class(e, second) {
		t.Error("two credentials would be sent the URLs of one")
	}
}

// covers: FILE-6, FILE-7, FILE-8, FILE-9, FILE-11, FILE-12
func TestFilesOfTheRoomComeWithATurn(t *testing.T) {
	w := newWorld()
	for i := range 25 {
		w.put(roomR, person(priya), &protocol.MessagePost{Text: "here", Attachments: []protocol.Attachment{file(i, fmt.Sprintf("f%02d", i))}, AddressedTo: []string{}})
	}
	w.put(roomR, w.agent(s2), &protocol.MessagePost{Text: "again", Attachments: []protocol.Attachment{file(30, "f07")}, AddressedTo: []string{}})
	e := w.put(roomR, person(arjun), &protocol.MessagePost{Text: "look", Attachments: []protocol.Attachment{file(31, "own")}, AddressedTo: []string{s1}})
	r := recipient(t, "Scout").At(w.s)
	rendered := Render(w.s, e, r, nil)
	got := Finish(rendered, Hand{Now: e.TS.Time, Links: links("tok")}).Data.(*protocol.MessageNew).Context.Files
	if len(got) != 20 || got[0].Name != "own" || got[1].Name != "f07" || got[1].Version != 2 || got[2].Name != "f24" || got[19].Name != "f06" {
		t.Fatalf("%d files, first %+v", len(got), got[:min(3, len(got))])
	}
	url, until := links("tok")(id("att", 30))
	want := protocol.File{
		Name: "f07", Version: 2, AttachmentID: id("att", 30), SHA256: fmt.Sprintf("%064x", 30), ByteSize: 4812, MimeType: "text/html",
		By: protocol.Participant{ID: s2, Kind: protocol.KindAgent, Name: "Scout 2"}, At: w.s.Rooms[roomR].Files["f07"].Current().At, URL: url, URLExpiresAt: &until,
	}
	if diff := cmp.Diff(want, got[1]); diff != "" {
		t.Error(diff)
	}
	// As of the message: what comes after it changes nothing, and nothing is shared with what was rendered.
	if c := rendered.Data.(*protocol.MessageNew).Context; c.Files[0].URL != "" {
		t.Error("the hand-over changed what was rendered")
	}
	// Who is before agents is shown itself.
	before := recipient(t, "Ledger").At(w.s)
	w.put(roomR, w.agent(ledgerA), &protocol.MessagePost{Text: "mine", Attachments: []protocol.Attachment{file(40, "mine")}, AddressedTo: []string{}})
	e = w.put(roomR, person(arjun), &protocol.MessagePost{Text: "and?", AddressedTo: []string{ledgerA}})
	first := Render(w.s, e, before, nil).Data.(*protocol.MessageNew).Context.Files[0]
	if diff := cmp.Diff(protocol.Participant{ID: ledger, Kind: protocol.KindHarness, Name: "Ledger"}, first.By); diff != "" {
		t.Error(diff)
	}
	// An agent that joins is told of the room's files, too.
	e = w.put(roomR, protocol.System, &protocol.AgentAttached{AgentID: s2})
	if c := Render(w.s, e, r, nil).Data.(*protocol.AgentAttached).CatchUp; len(c.Files) != 20 || c.Files[0].Name != "mine" {
		t.Errorf("with catch_up: %d files", len(c.Files))
	}
}

// covers: CTX-15, CTX-16
func TestLinesSayWhichFilesCame(t *testing.T) {
	w := &talk{world: newWorld()}
	note, second := file(1, "note.m4a"), file(2, "second.m4a")
	note.Transcript, second.Transcript = "Call Northwind.", "And the slot."
	e := w.put(roomR, person(priya), &protocol.MessagePost{Text: "listen", Attachments: []protocol.Attachment{note, file(3, "plan.html"), second}, AddressedTo: []string{}})
	w.log = append(w.log, e)
	e = w.put(roomR, person(arjun), &protocol.MessagePost{Text: "and?", AddressedTo: []string{s1}})
	r := recipient(t, "Scout").At(w.s)
	want, ok := Wants(w.s, e, r)
	if !ok {
		t.Fatal("no lines are wanted")
	}
	lines := Render(w.s, e, r, w.lines(want)).Data.(*protocol.MessageNew).Context.Lines
	got := lines[len(lines)-1]
	if diff := cmp.Diff([]string{"note.m4a", "plan.html", "second.m4a"}, got.Files); diff != "" || got.Transcript != "Call Northwind.\nAnd the slot." {
		t.Errorf("%q %s", got.Transcript, diff)
	}
}

// A delivery whose words, files and lines together are too much loses the oldest lines, then the oldest files.
func TestFilesAreCutAfterLines(t *testing.T) {
	w := &talk{world: newWorld()}
	long := func(i int) string { return fmt.Sprint(i, strings.Repeat("é", 140)) }
	for i := range 30 {
		e := w.put(roomR, person(priya), &protocol.MessagePost{Text: strings.Repeat("\n", 1000), Attachments: []protocol.Attachment{file(i, long(i))}, AddressedTo: []string{}})
		w.log = append(w.log, e)
	}
	for _, text := range []int{1, 45 << 10, 56 << 10} {
		e := w.put(roomR, person(arjun), &protocol.MessagePost{Text: strings.Repeat("\n", text), AddressedTo: []string{s1}})
		r := budget(200, 32000).At(w.s)
		want, _ := Wants(w.s, e, r)
		got := Render(w.s, e, r, w.lines(want))
		hand := Finish(got, Hand{Now: e.TS.Time, Links: links(id("tok", 1))})
		raw, err := hand.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		c := got.Data.(*protocol.MessageNew).Context
		if len(raw) > 128<<10 {
			t.Errorf("%d of text: the frame has %d bytes", text, len(raw))
		}
		if len(c.Files) < 20 && len(c.Lines) > 0 {
			t.Errorf("%d of text: %d files with %d lines: lines go first", text, len(c.Files), len(c.Lines))
		}
		t.Logf("%d of text: %d lines, %d files, %d bytes", text, len(c.Lines), len(c.Files), len(raw))
	}
}
