package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// Where a stream starts, how a replay is sent and that it is followed by what is live.
//
// covers: SUB-1, SUB-2, SUB-3, SUB-4, SUB-6, SUB-7, SUB-8, SUB-9, SUB-10
func TestSubscribe(t *testing.T) {
	t.Parallel()
	c := newTown(t, "CHIPS_EVENTS_PER_FRAME=7")
	for i := range 40 {
		c.scouts.write("message.post", J{"space_id": c.room, "text": fmt.Sprint(i)})
	}
	for _, x := range []struct {
		name string
		back int64 // how far before the head it starts; -1 for no since at all
		past int64 // how far past the head
	}{{"without since", -1, 0}, {"at the head", 0, 0}, {"past the head", 0, 1 << 53}, {"in the middle", 15, 0}, {"from before", 40, 0}} {
		for _, packed := range []bool{false, true} {
			head := c.owner.head()
			start := head - max(x.back, 0)
			s := c.priya.connect(map[bool]string{true: `,"accepts":["events"]`}[packed])
			if x.back < 0 {
				s.subscribe("")
			} else {
				s.subscribe(fmt.Sprintf(`,"since":%d`, start+x.past))
			}
			var got []jsontext.Value
			if x.back > 0 {
				got = s.through(head)
			}
			for i, n := range s.frames {
				if packed != (n > 0) || n > 7 || packed && i+1 < len(s.frames) && n != 7 {
					t.Errorf("%s: replayed in frames of %v", x.name, s.frames)
					break
				}
			}
			// Then it is live: sooner or later, and from then on for good, frames of one event.
			for s.frames = nil; len(s.frames) < 100; {
				if got = append(got, s.through(c.fence())...); s.frames[len(s.frames)-1] == 0 {
					break
				}
			}
			s.frames = nil
			for range 5 {
				got = append(got, s.through(c.fence())...)
			}
			if !slices.Equal(s.frames, make([]int, 5)) {
				t.Errorf("%s: live it is sent frames of %v", x.name, s.frames)
			}
			same(t, x.name, got, c.priya.log(start, ""))
		}
	}

	// What is no since is refused; the stream that is there goes on. Another's workspace is not to be had. A second subscribe replaces.
	s := c.priya.live(`,"accepts":["events"]`)
	for _, bad := range []string{`,"since":-1`, `,"since":1.5`, `,"since":"5"`, `,"since":null`, `,"since":5,"since":0`} {
		s.subscribe(bad)
		for s.answers[""] == nil {
			s.pump()
		}
		if a := read(t, s.answers[""]); a["code"] != "invalid_frame" {
			t.Errorf("%s is answered %v", bad, a)
		}
		delete(s.answers, "")
	}
	other, err := as(c.url, adminToken).CreateWorkspace(t.Context(), "Other", "Nan")
	if err != nil {
		t.Fatal(err)
	}
	s.send(fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q}`, other.WorkspaceID))
	for s.answers[""] == nil {
		s.pump()
	}
	if a := read(t, s.answers[""]); a["code"] != "forbidden" {
		t.Errorf("another workspace is answered %v", a)
	}
	if got := s.through(c.fence()); len(got) != 1 {
		t.Errorf("%d events came, want the one", len(got))
	}
	since := c.owner.head() - 20
	s.subscribe(fmt.Sprintf(`,"since":%d`, since))
	same(t, "a second subscribe", s.through(c.fence()), c.priya.log(since, ""))
}

// While others write as fast as they can, whoever subscribes from any seq is sent every event above it, once and in order, as they are
// logged: there is no gap and no double where a replay becomes live.
//
// covers: SUB-2, SUB-4, SUB-5, SUB-8
func TestReplayBesideWrites(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers sync.WaitGroup
	post := func(token string, n int, done func(int)) {
		w := client.New(client.Config{URL: c.url, Credential: client.Bearer(token), WriteOnly: true, Pipelined: true})
		go func() { _ = w.Run(ctx) }()
		for i := range n {
			if _, err := w.Post(ctx, client.Draft{SpaceID: c.room, Data: &protocol.MessagePost{Text: fmt.Sprint(i)}}); err != nil {
				t.Errorf("post %d: %v", i, err)
				return
			}
			done(i)
		}
	}
	since := c.owner.head()
	post(c.owner.token, 300, func(int) {})
	streams := make(chan *stream, 20)
	for _, p := range []*party{c.owner, c.scouts} {
		writers.Go(func() {
			post(p.token, 400, func(i int) {
				if i%80 == 0 {
					streams <- c.gus.from(since, map[bool]string{true: `,"accepts":["events"]`}[i%160 == 0])
				}
			})
		})
	}
	writers.Wait()
	close(streams)
	end := c.fence()
	want := c.gus.log(since, "")
	if len(want) != 1101 {
		t.Errorf("%d events", len(want))
	}
	n := 0
	for s := range streams {
		n++
		same(t, fmt.Sprint("stream ", n), s.through(end), want)
	}
	if n != 10 {
		t.Errorf("%d streams", n)
	}
}

// Whoever loses a room is sent up to what took them out of it, stays connected, and gets nothing of it from then on by any way.
//
// covers: SUB-11, SUB-12, AUTH-7, AUTH-8
func TestLosingARoom(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	x := c.open(c.owner, "Secret", c.priya.id)
	harness, made := c.harness("Spy", "agents")
	c.move(made.AgentID, x)
	since := c.owner.head()
	streams := map[*party]*stream{c.priya: c.priya.from(since, ""), harness: harness.from(since, ""), c.gus: c.gus.from(since, ""), c.ledger: c.ledger.from(since, "")}
	c.owner.write("message.post", J{"space_id": x, "text": "inside"})
	// Posts race the removal: whoever is out before and after one is not sent it.
	raced := make(chan struct{})
	go func() {
		defer close(raced)
		c.owner.fill(x, 100, "a race")
	}()
	c.owner.must(http.MethodDelete, "/v1/spaces/"+x+"/members/"+c.priya.id, nil)
	c.owner.must(http.MethodDelete, "/v1/spaces/"+x+"/members/"+made.AgentID, nil)
	<-raced
	c.owner.write("message.post", J{"space_id": x, "text": "after"})
	out := map[*party]int64{} // the seq of what took each out
	for _, raw := range c.owner.log(since, x) {
		if e := read(t, raw); str(e, "type") == "member.removed" {
			out[map[string]*party{c.priya.id: c.priya, made.AgentID: harness}[str(e, "participant_id")]] = number(e, "seq")
		}
	}
	end := c.fence()
	for p, s := range streams {
		got := s.through(end)
		for _, again := range []*stream{p.from(since, ""), p.from(0, `,"accepts":["events"]`)} {
			for _, raw := range again.through(end) {
				if e := read(t, raw); str(e, "space_id") == x && !slices.Contains([]string{"agent.attached", "agent.released"}, str(e, "type")) {
					t.Errorf("a replay brings %s", raw)
				}
			}
		}
		of, told := 0, int64(0)
		for _, raw := range got {
			e := read(t, raw)
			if str(e, "space_id") != x {
				continue
			}
			of++
			told = max(told, number(e, "seq"))
			if last := out[p]; number(e, "seq") > last && str(e, "type") != "agent.released" {
				t.Errorf("one who is out is sent %s", raw)
			}
		}
		if told < out[p] {
			t.Errorf("%s is told of the room up to %d, and was taken out at %d", p.id, told, out[p])
		}
		if outside := p == c.gus || p == c.ledger; outside != (of == 0) {
			t.Errorf("%s is sent %d events of the room", p.id, of)
		}
		if logged := p.log(0, ""); slices.ContainsFunc(logged, func(raw jsontext.Value) bool {
			e := read(t, raw)
			return str(e, "space_id") == x && !slices.Contains([]string{"agent.attached", "agent.released"}, str(e, "type"))
		}) {
			t.Errorf("%s reads of the room over HTTP", p.id)
		}
		p.fails(protocol.Forbidden, http.MethodGet, "/v1/events?space_id="+x, nil)
		p.fails(protocol.Forbidden, http.MethodGet, "/v1/spaces/"+x, nil)
		if p == harness { // its agent is free, and the words wait for its next room
			s.lands("message.post", J{"space_id": x, "text": "still here"})
			continue
		}
		s.fails(protocol.Forbidden, "message.post", J{"space_id": x, "text": "still here"})
		s.lands("message.post", J{"space_id": c.room, "text": "but here"})
	}
}
