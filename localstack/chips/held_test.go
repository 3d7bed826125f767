package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// gif is an image of 3 by 2 pixels, as far as anybody looks.
const gif = "GIF89a\x03\x00\x02\x00\x00\x00\x00;"

// What an agent says while it is free, with files, is held where its harness alone is told of it, and is said in the room that it joins
// next, where the files are then everybody's. People are told how many words wait.
//
// covers: HELD-3, HELD-5, HELD-6, HELD-7, HELD-8, HLD-1, HLD-2, HLD-3, HLD-4, HLD-5, HLD-6, HLD-7, HLD-8, HLD-9, HLD-11, HLD-14
func TestHeldWordsAndFiles(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	parties := []*party{c.owner, c.priya, c.gus, c.ledger}
	live := c.scouts.live("")
	others := map[*party]*stream{}
	for _, p := range parties {
		others[p] = p.live("")
	}
	c.owner.must(http.MethodDelete, "/v1/spaces/"+c.room+"/members/"+c.s1, nil)
	notes, picture := c.scouts.upload("plan.pdf", []byte("only *words*")), c.scouts.upload("sofa.txt", []byte(gif))
	ids := []string{notes.AttachmentID, picture.AttachmentID}
	const text = "Look at **this**"
	held := live.write(c.scouts.event("message.post", J{"actor": speaks(c.s1), "text": text, "upload_ids": ids}))
	live.lands("message.post", J{"actor": speaks(c.s1), "text": "and more"})
	for _, p := range []*party{c.priya, c.owner, c.ledger} {
		p.fails(protocol.NotFound, http.MethodGet, "/v1/attachments/"+ids[0]+"/url", nil)
	}
	end := c.fence()
	told := live.ofType("message.held", end)
	if len(told) != 2 || number(told[0], "seq") != number(held, "seq") {
		t.Fatalf("its harness is told %v, acked %v", told, held)
	}
	// As it is in the log, with nothing that is made for one reader.
	logged := c.scouts.log(number(held, "seq")-1, "")[0]
	checkEvent(t, logged)
	e := read(t, logged)
	sum := func(s string) string { d := sha256.Sum256([]byte(s)); return hex.EncodeToString(d[:]) }
	want := []any{
		J{"attachment_id": ids[0], "filename": "plan.pdf", "mime_type": "text/plain", "byte_size": 12.0, "sha256": sum("only *words*")},
		J{"attachment_id": ids[1], "filename": "sofa.txt", "mime_type": "image/gif", "byte_size": float64(len(gif)), "sha256": sum(gif), "width": 3.0, "height": 2.0},
	}
	files, _ := e["attachments"].([]any)
	for _, f := range files {
		delete(f.(J), "url")
		delete(f.(J), "url_expires_at")
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("its files: %s", diff)
	}
	if str(e, "agent_id") != c.s1 || str(e, "text") != text || e["run_id"] != nil || e["space_id"] != nil {
		t.Errorf("it is held as %v", e)
	}
	if diff := cmp.Diff(J{"kind": "agent", "id": c.s1, "harness_id": c.scouts.id}, e["actor"]); diff != "" {
		t.Errorf("its actor: %s", diff)
	}
	for p, s := range others {
		for _, raw := range s.through(end) {
			if strings.Contains(string(raw), text) || str(read(t, raw), "type") == "message.held" {
				t.Errorf("%s is told %s", p.id, raw)
			}
		}
		for _, raw := range p.log(0, "") {
			if strings.Contains(string(raw), text) {
				t.Errorf("%s reads %s", p.id, raw)
			}
		}
	}
	waits := func() int64 {
		t.Helper()
		for _, p := range c.priya.must(http.MethodGet, "/v1/participants", nil)["participants"].([]any) {
			if str(p.(J), "participant_id") == c.s1 {
				return number(p.(J), "held")
			}
		}
		t.Fatal("the agent is not there")
		return 0
	}
	if n := waits(); n != 2 {
		t.Errorf("people are told that %d wait", n)
	}

	c.owner.must(http.MethodPost, "/v1/spaces/"+c.x+"/members", J{"participant_id": c.s1})
	posts := others[c.priya].ofType("message.post", c.fence())
	if len(posts) != 2 || str(posts[0], "text") != text || str(posts[1], "text") != "and more" || str(posts[0], "held_since") != str(e, "ts") {
		t.Fatalf("it is posted as %v", posts)
	}
	if n := waits(); n != 0 {
		t.Errorf("posted, %d wait", n)
	}
	for i, content := range []string{"only *words*", gif} {
		link := str(c.priya.must(http.MethodGet, "/v1/attachments/"+ids[i]+"/url", nil), "url")
		if got := c.priya.fetched(link); got != content {
			t.Errorf("the file is %q", got)
		}
	}
	c.gus.fails(protocol.NotFound, http.MethodGet, "/v1/attachments/"+ids[0]+"/url", nil)
}
