package delivery

import (
	"fmt"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// id is a fixed id for a short name, so that goldens can be read.
func id(prefix string, n int) string { return fmt.Sprintf("%s_01K4ZQPX%018d", prefix, n) }

var (
	wsID = id("ws", 1)

	arjun, priya, mel, gus = id("usr", 1), id("usr", 2), id("usr", 3), id("usr", 4) // owner, member, member elsewhere, guest

	scout, ledger, far = id("hrn", 1), id("hrn", 2), id("hrn", 3) // declares agents; does not; declares, in no room with others

	s1, s2, ledgerA, farA = id("agt", 1), id("agt", 2), id("agt", 3), id("agt", 4)

	roomR, roomG, roomF, roomQ = id("spc", 1), id("spc", 2), id("spc", 3), id("spc", 4)
)

// world is a workspace folded event by event: room R holds Arjun, Priya, S1, S2 (Scout's) and Ledger's agent; room G holds Arjun
// and the guest; room F is Far's; room Q holds Priya and the harness Scout itself.
type world struct {
	s   *workspace.State
	seq int64
}

func (w *world) event(space string, actor protocol.Actor, d protocol.Data) protocol.Event {
	w.seq++
	at := time.Date(2026, 9, 2, 14, 22, 15, 4e6, time.UTC).Add(time.Duration(w.seq) * time.Second)
	return protocol.Event{Envelope: protocol.Envelope{
		V: 1, Type: d.EventType(), ID: protocol.EventID(at, w.seq, [5]byte{}), TS: protocol.At(at), WorkspaceID: wsID,
		SpaceID: space, Seq: w.seq, Actor: actor,
	}, Data: d}
}

func (w *world) put(space string, actor protocol.Actor, d protocol.Data) protocol.Event {
	e := w.event(space, actor, d)
	workspace.Evolve(w.s, e)
	return e
}

func person(id string) protocol.Actor { return protocol.Actor{Kind: protocol.KindPerson, ID: id} }

func (w *world) agent(id string) protocol.Actor {
	return protocol.Actor{Kind: protocol.KindAgent, ID: id, HarnessID: w.s.HarnessOf(id)}
}

func newWorld() *world {
	w := &world{s: workspace.New(wsID)}
	sys := protocol.System
	w.put("", sys, &protocol.WorkspaceOpened{Name: "Northwind"})
	for _, p := range []struct {
		id, name string
		role     protocol.Role
	}{{arjun, "Arjun", protocol.Owner}, {priya, "Priya", protocol.Member}, {mel, "Mel", protocol.Member}, {gus, "Gus", protocol.Guest}} {
		w.put("", person(arjun), &protocol.PersonAdded{PersonID: p.id, Name: p.name, Role: p.role})
	}
	for _, h := range []struct {
		id, name string
		caps     []string
	}{{scout, "Scout", []string{"agents", "new_spaces"}}, {ledger, "Ledger", nil}, {far, "Far", []string{"agents"}}} {
		w.put("", person(arjun), &protocol.HarnessAdded{HarnessID: h.id, DisplayName: h.name, OwnerID: arjun, Capabilities: h.caps})
	}
	for _, a := range []struct{ id, harness, name string }{
		{s1, scout, "Scout"}, {s2, scout, "Scout 2"}, {ledgerA, ledger, "Bookkeeper"}, {farA, far, "Far"},
	} {
		w.put("", sys, &protocol.AgentRegistered{AgentFacts: protocol.AgentFacts{
			AgentID: a.id, HarnessID: a.harness, Name: a.name, State: "active", Key: "key-" + a.name,
		}})
	}
	w.put(roomR, person(arjun), &protocol.SpaceOpened{Title: "R", ParticipantIDs: []string{arjun, priya, s1, ledgerA}})
	for _, a := range []string{s1, s2, ledgerA} {
		w.put(roomR, sys, &protocol.AgentAttached{AgentID: a})
	}
	w.put(roomG, person(arjun), &protocol.SpaceOpened{Title: "G", ParticipantIDs: []string{arjun, gus}})
	w.put(roomF, person(mel), &protocol.SpaceOpened{Title: "F", ParticipantIDs: []string{mel, farA}})
	w.put(roomF, sys, &protocol.AgentAttached{AgentID: farA})
	w.put(roomQ, person(priya), &protocol.SpaceOpened{Title: "Q", ParticipantIDs: []string{priya, scout}, AskedOf: scout})
	return w
}

// everybody in the workspace, by the name tests call them.
var everybody = []struct {
	name string
	r    Recipient
}{
	{"Arjun", Recipient{Kind: protocol.KindPerson, ID: arjun}},
	{"Priya", Recipient{Kind: protocol.KindPerson, ID: priya}},
	{"Mel", Recipient{Kind: protocol.KindPerson, ID: mel}},
	{"Gus", Recipient{Kind: protocol.KindPerson, ID: gus}},
	{"Scout", Recipient{Kind: protocol.KindHarness, ID: scout}},
	{"Ledger", Recipient{Kind: protocol.KindHarness, ID: ledger}},
	{"Far", Recipient{Kind: protocol.KindHarness, ID: far}},
}

func recipient(t *testing.T, name string) Recipient {
	t.Helper()
	for _, x := range everybody {
		if x.name == name {
			return x.r
		}
	}
	t.Fatalf("nobody is called %q", name)
	return Recipient{}
}
