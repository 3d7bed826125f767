package delivery

import (
	"fmt"
	"testing"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// thousand is a harness with 1,000 agents, three in each of 200 rooms.
func thousand() *workspace.State {
	w := newWorld()
	for i := range 200 {
		room := &workspace.Room{ID: id("spc", 1000+i), Title: fmt.Sprint("Room ", i), Members: []string{arjun}, OpenedSeq: int64(i)}
		w.s.Rooms[room.ID] = room
	}
	for i := range 1000 {
		a := &workspace.Agent{ID: id("agt", 1000+i), HarnessID: scout, Key: fmt.Sprint("agent-", i), Name: fmt.Sprint("Agent ", i)}
		if i < 600 {
			a.Room = id("spc", 1000+i%200)
			w.s.Rooms[a.Room].Members = append(w.s.Rooms[a.Room].Members, a.ID)
		}
		w.s.Agents[a.ID] = a
	}
	return w.s
}

// A hello of 1,000 agents fits into a message: those in rooms are in it, and of the others as many as there is room for.
//
// covers: HEV-14
func TestHelloOfAThousandAgents(t *testing.T) {
	s := thousand()
	e := hello(s, recipient(t, "Scout"))
	raw, err := e.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := e.Data.(*protocol.Hello)
	in := 0
	for _, a := range d.Agents {
		if a.Room != nil {
			in++
		}
	}
	all := len(s.AgentsOf(scout))
	if len(raw) > 127<<10 || d.AgentsLeftOut == 0 || len(d.Agents)+d.AgentsLeftOut != all || in < 600 && d.AgentsLeftOut < 400 {
		t.Errorf("%d bytes, %d agents of %d, %d in rooms, %d left out", len(raw), len(d.Agents), all, in, d.AgentsLeftOut)
	}
	t.Logf("%d bytes, %d agents of %d, %d of them in rooms", len(raw), len(d.Agents), all, in)
}

func BenchmarkHelloOfAThousandAgents(b *testing.B) {
	s, r := thousand(), Recipient{Kind: protocol.KindHarness, ID: scout}
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		var err error
		if buf, err = hello(s, r).Append(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(buf)), "bytes/hello")
}
