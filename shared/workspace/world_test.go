package workspace

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// world is a workspace whose events are decided and folded one command after another, as the engine does it.
type world struct {
	t     *testing.T
	s     *State
	now   time.Time
	n     uint32
	log   []protocol.Event
	arjun Caller
	// uploads are those that the engine would look up.
	uploads map[string]Upload
}

const testWorkspace = "ws_01K4ZQPX000000000000000001"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, s: New(testWorkspace), now: time.Date(2026, 9, 2, 14, 0, 0, 0, time.UTC)}
	events := w.must(Caller{Kind: protocol.KindSystem, ID: protocol.SystemID}, op(&NameDraft{Name: "W", OwnerName: "Arjun"}))
	w.arjun = person(events[1].Data.(*protocol.PersonAdded).PersonID)
	return w
}

// command is a draft, and whether it comes by a route of its own.
type command struct {
	draft     protocol.Event
	operation bool
}

func op(data protocol.Data) command { return command{Draft(data), true} }

func opIn(space string, data protocol.Data) command { return command{DraftIn(space, data), true} }

func event(space string, data protocol.Data) command { return command{DraftIn(space, data), false} }

func onRun(run string, data protocol.Data) command {
	e := Draft(data)
	e.RunID = run
	return command{e, false}
}

func (c command) as(agent string) command {
	c.draft.Actor = protocol.Actor{Kind: protocol.KindAgent, ID: agent}
	return c
}

func person(id string) Caller {
	return Caller{Workspace: testWorkspace, Kind: protocol.KindPerson, ID: id}
}

func harness(id string) Caller {
	return Caller{Workspace: testWorkspace, Kind: protocol.KindHarness, ID: id}
}

// do decides a command and folds what it caused.
func (w *world) do(by Caller, c command) ([]protocol.Event, *protocol.Error) {
	w.t.Helper()
	w.n++
	w.now = w.now.Add(time.Second)
	cmd := Command{By: by, Draft: c.draft, Operation: c.operation, Now: w.now, Waits: DefaultWaits(), Cited: w.cited(c.draft), Uploads: w.uploads, Prices: testPrices}
	binary.BigEndian.PutUint32(cmd.Seed[:], w.n)
	decision, err := Decide(w.s, cmd)
	for err == nil && len(decision.Missing) > 0 {
		for _, id := range decision.Missing {
			cmd.Cited[id] = w.message(id)
		}
		decision, err = Decide(w.s, cmd)
	}
	if err != nil {
		return nil, err
	}
	w.fold(decision)
	if len(decision.Events) > 0 {
		p := decision.Events[decision.Primary]
		_, registers := c.draft.Data.(*AgentDraft)
		free := c.draft.Type == "message.post" && (p.Type == "message.held" || p.Type == "turn.passed")
		_, fires := c.draft.Data.(*FireDraft)
		if p.Type != c.draft.Type && !registers && !free && !fires {
			w.t.Errorf("the ack of %s names a %s", c.draft.Type, p.Type)
		}
	}
	return decision.Events, nil
}

// fold folds what was decided.
func (w *world) fold(decision Decision) {
	for i := range decision.Events {
		e := &decision.Events[i]
		e.V, e.WorkspaceID, e.Seq, e.TS = protocol.Version, w.s.ID, w.s.Seq+1, protocol.At(w.now)
		e.ID = protocol.EventID(w.now, e.Seq, [5]byte{1})
		Evolve(w.s, *e)
	}
	w.log = append(w.log, decision.Events...)
}

func (w *world) cited(draft protocol.Event) map[string]protocol.Event {
	cited := map[string]protocol.Event{}
	for _, id := range Cites(draft) {
		cited[id] = w.message(id)
	}
	return cited
}

// message is the event of a message, the zero Event for none.
func (w *world) message(id string) protocol.Event {
	for _, e := range w.log {
		if protocol.MessageID(e.ID) == id {
			return e
		}
	}
	return protocol.Event{}
}

func (w *world) must(by Caller, c command) []protocol.Event {
	w.t.Helper()
	events, err := w.do(by, c)
	if err != nil {
		w.t.Fatalf("%s: %v", c.draft.Type, err)
	}
	return events
}

// refused checks that a command is refused with a code, and that nothing came of it. It answers why.
func (w *world) refused(code protocol.Code, by Caller, c command) (why protocol.Error) {
	w.t.Helper()
	seq := w.s.Seq
	_, err := w.do(by, c)
	if err == nil || err.Code != code {
		w.t.Errorf("%s: got %v, want %s", c.draft.Type, err, code)
	}
	if w.s.Seq != seq {
		w.t.Errorf("%s was refused and yet changed the log", c.draft.Type)
	}
	if err != nil {
		why = *err
	}
	return why
}

func ptr[T any](v T) *T { return &v }

func (w *world) person(name string, role protocol.Role) Caller {
	w.t.Helper()
	events := w.must(w.arjun, op(&PersonDraft{Name: &name, Role: &role}))
	return person(events[0].Data.(*protocol.PersonAdded).PersonID)
}

// harness makes a harness and answers it, its given agent and its direct room.
func (w *world) harness(owner Caller, name string, capabilities ...string) (h Caller, agent, direct string) {
	w.t.Helper()
	for _, e := range w.must(owner, op(&HarnessDraft{DisplayName: &name, Capabilities: &capabilities})) {
		switch d := e.Data.(type) {
		case *protocol.HarnessAdded:
			h = harness(d.HarnessID)
		case *protocol.AgentRegistered:
			agent = d.AgentID
		case *protocol.SpaceOpened:
			direct = e.SpaceID
		}
	}
	return h, agent, direct
}

func (w *world) room(by Caller, title string, members ...string) string {
	w.t.Helper()
	events := w.must(by, opIn("", &protocol.SpaceOpened{Title: title, ParticipantIDs: members}))
	for _, e := range events {
		if e.Type == "space.opened" {
			return e.SpaceID
		}
	}
	w.t.Fatal("no space.opened")
	return ""
}

func (w *world) register(h Caller, key, name string) string {
	w.t.Helper()
	w.must(h, op(&AgentDraft{HarnessID: h.ID, Key: key, Name: &name}))
	for _, a := range w.s.Agents {
		if a.HarnessID == h.ID && a.Key == key {
			return a.ID
		}
	}
	w.t.Fatal("no agent")
	return ""
}

// add puts an agent that is free, or in another room, in a room.
func (w *world) add(by Caller, room, participant string) {
	w.t.Helper()
	if a := w.s.Agents[participant]; a != nil && a.Room != "" {
		w.must(by, opIn("", &protocol.AgentMoved{AgentID: participant, ToSpaceID: room}))
		return
	}
	w.must(by, opIn(room, &protocol.MemberAdded{ParticipantID: participant}))
}

// say posts and answers whom the words are for, and the message's id.
func (w *world) say(by Caller, c command) (addressed []string, message string) {
	w.t.Helper()
	events := w.must(by, c)
	return events[0].Data.(*protocol.MessagePost).AddressedTo, protocol.MessageID(events[0].ID)
}

func types(events []protocol.Event) []string {
	var names []string
	for _, e := range events {
		names = append(names, e.Type)
	}
	return names
}
