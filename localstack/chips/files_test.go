package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// upload stores a file and answers what it is.
func (p *party) upload(name string, content []byte) protocol.Attachment {
	p.t.Helper()
	file, err := p.Upload(p.t.Context(), name, bytes.NewReader(content))
	if err != nil {
		p.t.Fatalf("upload %s: %v", name, err)
	}
	return file
}

// share posts files in the room and answers the post's seq.
func (p *party) share(ids ...string) int64 {
	p.t.Helper()
	return p.write("message.post", J{"space_id": p.w.room, "text": "here", "upload_ids": ids})
}

// fetched is what a URL answers; the code of its refusal where it is refused.
func (p *party) fetched(link string) string {
	p.t.Helper()
	body, err := p.Fetch(p.t.Context(), link)
	if refusal, ok := errors.AsType[*protocol.Error](err); ok {
		return string(refusal.Code)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return string(body)
}

// files are those the party is shown in the room, by name.
func (p *party) files() map[string]J {
	p.t.Helper()
	byName := map[string]J{}
	list, _ := p.must(http.MethodGet, "/v1/spaces/"+p.w.room+"/files", nil)["files"].([]any)
	for _, f := range list {
		byName[str(f.(J), "name")] = f.(J)
	}
	return byName
}

// Files of every size go up, are posted, come with a turn and a URL, and are all there after SIGKILL.
//
// covers: DLV-4, DLV-5, FILE-1, FILE-2, FILE-9, FILE-22
func TestFiles(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	scout := c.scouts.live("")
	large := make([]byte, 25<<20)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(large)
	contents := map[string][]byte{"none.txt": {}, "plan.txt": []byte("the plan"), "copy.txt": []byte("the plan"), "large.bin": large, "middle.bin": large[:3<<20]}
	var ids []string
	for name, content := range contents {
		ids = append(ids, c.priya.upload(name, content).AttachmentID)
	}
	if _, err := c.priya.Upload(t.Context(), "more.bin", bytes.NewReader(append(large, 'x'))); err == nil {
		t.Error("one byte more than 25 MB is taken")
	}
	seq := c.priya.write("message.post", J{"space_id": c.room, "text": "@Scout here", "upload_ids": ids})
	turn := scout.messages(seq)["@Scout here"]
	if str(turn, "type") != "message.new" {
		t.Fatalf("Scout is sent %v", turn)
	}
	list, _ := turn["attachments"].([]any)
	inContext, _ := at(turn, "context", "files").([]any)
	if len(list) != len(contents) || len(inContext) != len(contents) {
		t.Fatalf("%d files with the turn, %d in its context", len(list), len(inContext))
	}
	check := func(when string) {
		t.Helper()
		for _, a := range append(list, inContext...) {
			f := a.(J)
			name := str(f, "filename") + str(f, "name")
			if got := c.scouts.fetched(str(f, "url")); got != string(contents[name]) {
				t.Errorf("%s, %s: %d bytes, %.20q", when, name, len(got), got)
			}
		}
		for name, f := range c.gus.files() {
			if got := c.gus.fetched(str(f, "url")); got != string(contents[name]) {
				t.Errorf("%s, %s as Gus has it: %d bytes", when, name, len(got))
			}
		}
	}
	check("at once")
	c.restart(syscall.SIGKILL)
	check("after SIGKILL")
	if n := len(c.gus.files()); n != len(contents) {
		t.Errorf("%d files are listed", n)
	}
}

// Two harnesses change one file at the same moment, fifty times: each time one of them does, and the other is told who did.
//
// covers: FILE-14, FILE-15, FILE-16
func TestOneOfTwoReplaces(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	now := c.owner.upload("plan.txt", []byte("v1")).AttachmentID
	c.owner.share(now)
	names := []string{"Scout", "Ledger"}
	for round := range 50 {
		var writing sync.WaitGroup
		var refused [2]*protocol.Error
		var mine [2]string
		for i, p := range []*party{c.scouts, c.ledger} {
			mine[i] = p.upload("plan.txt", fmt.Appendf(nil, "%s, round %d", names[i], round)).AttachmentID
			e := p.event("message.post", J{"space_id": c.room, "text": "mine", "upload_ids": []string{mine[i]}, "replaces": J{mine[i]: now}})
			writing.Go(func() {
				err := p.Do(t.Context(), http.MethodPost, "/v1/events", e, nil)
				var ok bool
				if refused[i], ok = errors.AsType[*protocol.Error](err); err != nil && !ok {
					t.Error(err)
				}
			})
		}
		writing.Wait()
		winner := 0
		if refused[0] != nil {
			winner = 1
		}
		loser := 1 - winner
		if refused[winner] != nil || refused[loser] == nil || refused[loser].Code != protocol.StaleFile {
			t.Fatalf("round %d: Scout %v, Ledger %v", round, refused[0], refused[1])
		}
		want := fmt.Sprintf("plan.txt is now v%d, by %s. Fetch it and redo.", round+2, names[winner])
		if e := refused[loser]; e.Message != want || e.File == nil || e.File.AttachmentID != mine[winner] {
			t.Errorf("round %d: %v, want %q", round, refused[loser], want)
		}
		now = mine[winner]
	}
	if v := number(c.owner.files()["plan.txt"], "version"); v != 51 {
		t.Errorf("it is version %d", v)
	}
	list, _ := c.owner.must(http.MethodGet, "/v1/spaces/"+c.room+"/files?name=plan.txt", nil)["files"].([]any)
	for i, f := range list {
		if got := number(f.(J), "version"); got != int64(51-i) {
			t.Errorf("listed %d is version %d", i, got)
		}
	}
	if len(list) != 51 {
		t.Errorf("%d versions are listed", len(list))
	}
}

// A URL opens nothing once its holder has left the room, or its credential was taken back; and no log has one.
//
// covers: DLV-5, FILE-11
func TestURLsAreForOneWhoIsThere(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	id := c.owner.upload("minutes.txt", []byte("the minutes")).AttachmentID
	c.owner.share(id)
	url := func(p *party) string { return str(p.must(http.MethodGet, "/v1/attachments/"+id+"/url", nil), "url") }
	gus, ledger := url(c.gus), url(c.ledger)
	c.owner.must(http.MethodDelete, "/v1/spaces/"+c.room+"/members/"+c.gus.id, nil)
	for link, want := range map[string]string{gus: "forbidden", ledger: "the minutes", url(c.owner): "the minutes"} {
		if got := c.owner.fetched(link); got != want {
			t.Errorf("%.60s: %s, want %s", link, got, want)
		}
	}
	res, err := http.Head(ledger)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK || res.ContentLength != int64(len("the minutes")) {
		t.Errorf("asked about, it is %s, %d bytes", res.Status, res.ContentLength)
	}
	c.owner.must(http.MethodDelete, "/v1/harnesses/"+c.ledger.id, nil)
	if got := c.owner.fetched(ledger); got != "forbidden" {
		t.Errorf("of a harness that was removed: %s", got)
	}
	if logs := c.logs.String(); strings.Contains(logs, "sig=") {
		t.Error("the log has URLs")
	}
}
