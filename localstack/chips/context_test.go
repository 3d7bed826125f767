package main

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// lines are a context's words, with who said them.
func lines(context any) []string {
	list := []string{}
	c, _ := context.(J)
	entries, _ := c["lines"].([]any)
	for _, l := range entries {
		if text, said := l.(J)["text"].(string); said {
			list = append(list, str(l.(J), "from", "name")+": "+text)
		}
	}
	return list
}

// What was overheard comes with the next question, and the same after a reconnect and a kill.
// covers: DLV-15, DLV-18, CTX-1, CTX-2, CTX-5, CTX-7, CTX-9, CTX-23, CTX-30, CTX-31
func TestOverheardComesWithTheNextQuestion(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	scout := c.scouts.live("")
	say := func(p *party, text string) int64 {
		t.Helper()
		return p.write("message.post", J{"space_id": c.room, "text": text})
	}
	asked := func(s *stream, seq int64) jsontext.Value {
		t.Helper()
		for _, raw := range s.through(seq) {
			if seqOf(t, raw) == seq {
				return raw
			}
		}
		t.Fatalf("seq %d never came", seq)
		return nil
	}
	say(c.priya, "before Scout spoke")
	run := c.run()
	c.scouts.write("run.started", J{"space_id": c.room, "run_id": run})
	overheard := say(c.priya, "@Ledger, do <they> hold the slot?")
	say(c.scouts, "I am on it")
	c.scouts.write("run.completed", J{"run_id": run})
	say(c.ledger, "Until Friday.")
	ask := say(c.owner, "@Scout, and?")

	if e := read(t, asked(scout, overheard)); str(e, "type") != "message.overheard" || e["context"] != nil {
		t.Errorf("overheard: %v", e)
	}
	live := asked(scout, ask)
	e := read(t, live)
	want := []string{"Priya: @Ledger, do <they> hold the slot?", "Ledger: Until Friday."}
	if got := lines(e["context"]); str(e, "type") != "message.new" || !slices.Equal(got, want) {
		t.Errorf("the question comes with %v, want %v", got, want)
	}
	if at(e, "context", "truncated") != false || number(e, "context", "before") != overheard || number(e, "context", "since_seq") >= overheard {
		t.Errorf("context %v, its first line at %d", e["context"], overheard)
	}

	say(c.priya, "after it")
	same := func(what string) {
		t.Helper()
		if got := asked(c.scouts.from(ask-1, ""), ask); !bytes.Equal(got, live) {
			t.Errorf("%s it is\n%s\nand was\n%s", what, got, live)
		}
	}
	same("resumed")
	small := read(t, asked(c.scouts.from(ask-1, `,"context":{"lines":1}`), ask))
	if got := lines(small["context"]); !slices.Equal(got, want[1:]) || at(small, "context", "truncated") != true {
		t.Errorf("with one line: %v", small["context"])
	}
	older := c.scouts.must(http.MethodGet, fmt.Sprintf("/v1/spaces/%s/context?before=%d&limit=1", c.room, number(small, "context", "before")), nil)
	if got := lines(older); !slices.Equal(got, []string{"Scout: I am on it"}) {
		t.Errorf("the one older than that: %v", got)
	}
	c.owner.fails(protocol.Forbidden, http.MethodGet, "/v1/spaces/"+c.room+"/context", nil)

	c.restart(syscall.SIGTERM)
	same("after a restart")
	c.restart(syscall.SIGKILL)
	same("after a kill")
}
