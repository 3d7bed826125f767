package workspace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// asking is a world with Scout, which makes copies and agents, and a room that none of its agents is in.
type asking struct {
	*world
	scout           Caller
	original, quiet string
}

func newAsking(t *testing.T) *asking {
	t.Helper()
	w := &asking{world: newWorld(t)}
	w.scout, w.original, _ = w.harness(w.arjun, "Scout", "agents", "forks", "new_agents")
	w.quiet = w.room(w.arjun, "Quiet")
	return w
}

func (w *asking) fork() string {
	w.t.Helper()
	return w.must(w.arjun, opIn(w.quiet, &protocol.AgentFork{AgentID: w.original}))[0].ID
}

func (w *asking) newAgent(name string) string {
	w.t.Helper()
	return w.must(w.arjun, opIn(w.quiet, &protocol.AgentAsked{HarnessID: w.scout.ID, Name: name}))[0].ID
}

// copied is a registration that answers a fork, made one that answers an ask for a new agent.
func (w *asking) copied(key, room string) command {
	return op(&AgentDraft{HarnessID: w.scout.ID, Key: key, Name: ptr("Copy " + key), ForkedFrom: w.original, SpaceID: room})
}

func (w *asking) made(key, ask, room string) command {
	return op(&AgentDraft{HarnessID: w.scout.ID, Key: key, Name: ptr("New " + key), MadeFor: ask, SpaceID: room})
}

func fired(kind, id string) command { return op(&FireDraft{Kind: kind, ID: id}) }

var chips = Caller{Kind: protocol.KindSystem, ID: protocol.SystemID}

// at sets the clock so that the next command is decided at a time.
func (w *asking) at(t time.Time) { w.now = t.Add(-time.Second) }

// attached is the agent.attached among events.
func attached(events []protocol.Event) *protocol.AgentAttached {
	for _, e := range events {
		if d, ok := e.Data.(*protocol.AgentAttached); ok {
			return d
		}
	}
	return nil
}

// Who may ask for what, and where.
// covers: FORK-1, FORK-2, NEWA-1, NEWA-2, NEWA-10, NEWA-11
func TestWhoMayAsk(t *testing.T) {
	w := newAsking(t)
	ada, priya, gus := w.person("Ada", protocol.Admin), w.person("Priya", protocol.Member), w.person("Gus", protocol.Guest)
	_, plain, _ := w.harness(w.arjun, "Plain", "agents")
	plainID := w.s.Agents[plain].HarnessID
	priyas, priyasAgent, _ := w.harness(priya, "Priyas", "agents", "forks", "new_agents")
	w.room(priya, "Elsewhere")
	for _, p := range []Caller{ada, priya, gus} {
		w.add(w.arjun, w.quiet, p.ID)
	}
	fork := func(agent string) command { return opIn(w.quiet, &protocol.AgentFork{AgentID: agent}) }
	ask := func(h string) command { return opIn(w.quiet, &protocol.AgentAsked{HarnessID: h}) }
	for _, c := range []struct {
		name string
		by   Caller
		ask  command
		code protocol.Code // "" is taken
	}{
		{"an owner forks", w.arjun, fork(w.original), ""},
		{"an admin forks", ada, fork(w.original), ""},
		{"a member who is not where the agent is", priya, fork(w.original), protocol.Forbidden},
		{"a member whose own it is", priya, fork(priyasAgent), ""},
		{"a guest", gus, fork(w.original), protocol.Forbidden},
		{"a harness", w.scout, fork(w.original), protocol.Forbidden},
		{"a harness that makes no copies", w.arjun, fork(plain), protocol.InvalidRequest},
		{"an agent nobody knows", w.arjun, fork("agt_01JABCDEFGHJKMNPQRSTVWXYZ0"), protocol.NotFound},
		{"no agent", w.arjun, fork(""), protocol.InvalidRequest},
		{"a copy in a room one is not in", w.person("Mel", protocol.Admin), fork(w.original), protocol.Forbidden},
		{"an owner asks", w.arjun, ask(w.scout.ID), ""},
		{"an admin asks", ada, ask(w.scout.ID), ""},
		{"a member asks", priya, ask(w.scout.ID), protocol.Forbidden},
		{"the harness's owner asks", priya, ask(priyas.ID), ""},
		{"a guest asks", gus, ask(w.scout.ID), protocol.Forbidden},
		{"the harness itself asks", w.scout, ask(w.scout.ID), protocol.Forbidden},
		{"a harness that makes no agents", w.arjun, ask(plainID), protocol.InvalidRequest},
		{"a harness nobody knows", w.arjun, ask("hrn_01JABCDEFGHJKMNPQRSTVWXYZ0"), protocol.NotFound},
		{"no harness", w.arjun, ask(""), protocol.InvalidRequest},
		{"as an event", w.arjun, event(w.quiet, &protocol.AgentFork{AgentID: w.original}), protocol.Forbidden},
		{"a name that hides", w.arjun, opIn(w.quiet, &protocol.AgentAsked{HarnessID: w.scout.ID, Name: "a\u202eb"}), protocol.InvalidRequest},
	} {
		if c.code != "" {
			w.refused(c.code, c.by, c.ask)
			continue
		}
		e := w.must(c.by, c.ask)[0]
		if e.SpaceID != w.quiet || e.Actor.Kind != protocol.KindPerson || e.Actor.ID != c.by.ID {
			t.Errorf("%s: %+v", c.name, e.Envelope)
		}
		switch d := e.Data.(type) {
		case *protocol.AgentFork:
			if d.By != c.by.ID || d.HarnessID != w.s.Agents[d.AgentID].HarnessID {
				t.Errorf("%s: %+v", c.name, d)
			}
		case *protocol.AgentAsked:
			if d.By != c.by.ID || d.HarnessID == "" || d.Name == "" {
				t.Errorf("%s: %+v", c.name, d)
			}
		}
	}
	// Rooms that take no agent are refused at once.
	main := w.register(w.scout, "main", "Main")
	w.must(w.scout, op(&AgentDraft{HarnessID: w.scout.ID, Key: "main", Name: ptr("Main"), Lead: ptr(true)}))
	mains := w.room(w.arjun, "Mains", main)
	put := w.room(w.arjun, "Put away")
	w.must(w.arjun, event(put, &protocol.SpaceArchived{}))
	for room, code := range map[string]protocol.Code{mains: protocol.LeadRoom, put: protocol.RoomClosed} {
		w.refused(code, w.arjun, opIn(room, &protocol.AgentFork{AgentID: w.original}))
		w.refused(code, w.arjun, opIn(room, &protocol.AgentAsked{HarnessID: w.scout.ID}))
	}
	w.must(w.arjun, op(&AgentDraft{AgentID: w.original, Name: ptr("Old")}))
	w.must(w.scout, op(&AgentDraft{HarnessID: w.scout.ID, Key: w.s.Agents[w.original].Key, Name: ptr("Scout"), State: ptr(StateArchived)}))
	w.refused(protocol.InvalidRequest, w.arjun, fork(w.original))
	// As many as the room holds, those that are asked for among them.
	full := w.room(w.arjun, "Full")
	for range MaxRoomAgents {
		w.must(w.arjun, opIn(full, &protocol.AgentAsked{HarnessID: w.scout.ID}))
	}
	w.refused(protocol.InvalidRequest, w.arjun, opIn(full, &protocol.AgentAsked{HarnessID: w.scout.ID}))
}

// A new agent is called what the person says, or else after the harness, numbered to a name that no agent has or is to have.
// covers: NEWA-4, NEWA-5
func TestNewAgentsName(t *testing.T) {
	w := newAsking(t)
	for _, c := range []struct{ asked, name string }{{"", "Scout 2"}, {"", "Scout 3"}, {" Ann ", "Ann"}, {"Scout", "Scout"}, {"", "Scout 4"}} {
		events := w.must(w.arjun, opIn(w.quiet, &protocol.AgentAsked{HarnessID: w.scout.ID, Name: c.asked}))
		if d := events[0].Data.(*protocol.AgentAsked); d.Name != c.name {
			t.Errorf("asked for %q it is to be called %q, want %q", c.asked, d.Name, c.name)
		}
	}
	ask := w.s.Asks[0]
	w.must(w.scout, op(&AgentDraft{HarnessID: w.scout.ID, Key: "n", Name: &ask.Name, MadeFor: ask.ID, SpaceID: w.quiet}))
	if a := w.s.Agents[w.s.Rooms[w.quiet].Members[1]]; a.Name != "Scout 2" || a.Key != "n" {
		t.Errorf("it is there as %+v", a)
	}
}

// What a harness makes joins the room of the ask, by Chips, in the name of who asked; each ask once.
// covers: FORK-4, FORK-5, NEWA-5, NEWA-6
func TestAnswers(t *testing.T) {
	w := newAsking(t)
	first, second := w.fork(), w.fork()
	asked := w.newAgent("")
	for _, c := range []struct {
		name  string
		by    command
		join  *protocol.AgentAttached // nil stays free
		words string
	}{
		{"a copy answers the oldest", w.copied("c1", w.quiet), &protocol.AgentAttached{ForkOf: first}, ""},
		{"the next the next", w.copied("c2", w.quiet), &protocol.AgentAttached{ForkOf: second}, ""},
		{"none is left", w.copied("c3", w.quiet), nil, ForkExpired},
		{"a fork is no new agent", w.made("n0", first, w.quiet), nil, AskExpired},
		{"another room", w.made("n1", asked, w.room(w.arjun, "Other")), nil, AskExpired},
		{"a new agent", w.made("n2", asked, w.quiet), &protocol.AgentAttached{MadeFor: asked}, ""},
		{"which is made", w.made("n3", asked, w.quiet), nil, AskExpired},
	} {
		events := w.must(w.scout, c.by)
		draft := c.by.draft.Data.(*AgentDraft)
		var agent *Agent
		for _, a := range w.s.Agents {
			if a.Key == draft.Key {
				agent = a
			}
		}
		if agent.ForkedFrom != draft.ForkedFrom || agent.WhyFree != c.words {
			t.Errorf("%s: %+v", c.name, agent)
		}
		if c.join == nil {
			if attached(events) != nil || agent.Room != "" {
				t.Errorf("%s: it joins", c.name)
			}
			continue
		}
		c.join.AgentID, c.join.By = agent.ID, w.arjun.ID
		if diff := cmp.Diff(c.join, attached(events)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		added, ok := events[1].Data.(*protocol.MemberAdded)
		if !ok || added.By != w.arjun.ID || events[1].Actor != protocol.System || events[2].Actor != protocol.System || agent.Room != w.quiet {
			t.Errorf("%s: %v, in %s", c.name, types(events), agent.Room)
		}
		if again := w.must(w.scout, c.by); len(again) != 0 {
			t.Errorf("%s, told again: %v", c.name, types(again))
		}
	}
	if len(w.s.Asks) != 0 || len(w.s.Deadlines(DefaultWaits())) != 0 {
		t.Errorf("still open: %+v", w.s.Asks)
	}
}

// A registration says all of what it answers, and only a room that can take the agent does; the ask stays open for another.
func TestAnswersThatDoNotFit(t *testing.T) {
	w := newAsking(t)
	other, _, _ := w.harness(w.arjun, "Other", "agents", "forks")
	ask := w.newAgent("")
	draft := func(by Caller, d AgentDraft) command {
		d.HarnessID, d.Key, d.Name = by.ID, "k", ptr("K")
		return op(&d)
	}
	w.refused(protocol.InvalidRequest, w.scout, draft(w.scout, AgentDraft{ForkedFrom: w.original, MadeFor: ask, SpaceID: w.quiet}))
	w.refused(protocol.InvalidRequest, w.scout, draft(w.scout, AgentDraft{MadeFor: ask}))
	w.refused(protocol.InvalidRequest, w.scout, draft(w.scout, AgentDraft{SpaceID: w.quiet}))
	w.refused(protocol.InvalidRequest, w.scout, draft(w.scout, AgentDraft{MadeFor: ask, SpaceID: w.quiet, State: ptr(StateArchived)}))
	w.refused(protocol.NotFound, other, draft(other, AgentDraft{ForkedFrom: w.original, SpaceID: w.quiet}))
	w.must(other, draft(other, AgentDraft{MadeFor: ask, SpaceID: w.quiet}))
	if len(w.s.Asks) != 1 {
		t.Fatal("another harness answered the ask")
	}
	// An agent that is elsewhere stays there, and one that would be a Main agent among others stays free.
	w.must(w.scout, op(&AgentDraft{HarnessID: w.scout.ID, Key: w.s.Agents[w.original].Key, Name: ptr("Scout"), MadeFor: ask, SpaceID: w.quiet}))
	if w.s.Agents[w.original].Room == w.quiet || len(w.s.Asks) != 1 {
		t.Error("an agent of another room answered")
	}
	w.add(w.arjun, w.quiet, w.original)
	lead := w.made("lead", ask, w.quiet)
	lead.draft.Data.(*AgentDraft).Lead = ptr(true)
	w.must(w.scout, lead)
	w.must(w.arjun, event(w.quiet, &protocol.SpaceArchived{}))
	w.must(w.scout, w.made("late", ask, w.quiet))
	why := map[string]string{}
	for _, a := range w.s.Agents {
		why[a.Key] = a.WhyFree
	}
	if why["lead"] != LeadRoom || why["late"] != RoomClosed || len(w.s.Asks) != 1 {
		t.Errorf("free since %v; %d asks are open", why, len(w.s.Asks))
	}
	// A key that is known answers too. One that is brought back for the ask goes to the ask's room, and not to where it was.
	w.must(w.arjun, event(w.quiet, &protocol.SpaceUnarchived{}))
	away := w.register(w.scout, "away", "Away")
	alone := w.room(w.arjun, "Alone", away)
	w.must(w.scout, op(&AgentDraft{HarnessID: w.scout.ID, Key: "away", Name: ptr("Away"), State: ptr(StateArchived)}))
	w.refused(protocol.InvalidRequest, w.scout, w.made("away", ask, w.quiet))
	back := w.made("away", ask, w.quiet)
	back.draft.Data.(*AgentDraft).State = ptr(StateActive)
	w.must(w.scout, back)
	if a := w.s.Agents[away]; a.Room != w.quiet || w.s.Rooms[alone].Has(away) || !w.s.Rooms[w.quiet].Has(away) || len(w.s.Asks) != 0 {
		t.Errorf("it is in %s; %d asks are open", a.Room, len(w.s.Asks))
	}
}

// A room waits for as long as it is set to, and not a millisecond longer: then it says so once, and what comes is late.
// covers: FORK-6, FORK-7, NEWA-8, NEWA-9
func TestAsksFallDue(t *testing.T) {
	for kind, c := range map[string]struct {
		ask    func(w *asking) string
		answer func(w *asking, key, ask string) command
		line   string
		why    string
	}{
		dueFork: {(*asking).fork, func(w *asking, key, _ string) command { return w.copied(key, w.quiet) }, "fork_missed", ForkExpired},
		dueNewAgent: {func(w *asking) string { return w.newAgent("") },
			func(w *asking, key, ask string) command { return w.made(key, ask, w.quiet) }, "new_agent_missed", AskExpired},
	} {
		w := newAsking(t)
		ask := c.ask(w)
		asked := w.now
		due := asked.Add(time.Minute)
		want := []Deadline{{Kind: kind, ID: ask, Due: due, Set: w.s.Seq}}
		if diff := cmp.Diff(want, w.s.Deadlines(DefaultWaits())); diff != "" {
			t.Fatal(diff)
		}
		if !MaySetDeadline(w.log[len(w.log)-1]) {
			t.Errorf("%s may set none", kind)
		}
		// Early, by another's name, or by anybody else it does nothing.
		w.at(due.Add(-time.Millisecond))
		for _, nothing := range []command{fired(kind, ask), fired(kind, "evt_1"), fired("nothing", ask)} {
			if events := w.must(chips, nothing); len(events) != 0 {
				t.Errorf("%s: %v", kind, types(events))
			}
		}
		w.refused(protocol.Forbidden, w.arjun, fired(kind, ask))
		w.refused(protocol.Forbidden, w.scout, fired(kind, ask))

		// Late by the clock, though it has not fired.
		w.at(due)
		if events := w.must(w.scout, c.answer(w, "late", ask)); attached(events) != nil || len(w.s.Asks) != 1 {
			t.Errorf("%s: what comes when it is due joins: %v", kind, types(events))
		}
		w.at(due)
		events := w.must(chips, fired(kind, ask))
		if len(events) != 1 {
			t.Fatalf("%s: fired %v", kind, types(events))
		}
		line, ok := events[0].Data.(*protocol.RoomSays)
		if !ok || line.Kind != c.line || line.About != ask || line.Text == "" || events[0].SpaceID != w.quiet || events[0].Actor != protocol.System {
			t.Errorf("%s: the room says %+v", kind, events[0])
		}
		if again := w.must(chips, fired(kind, ask)); len(again) != 0 {
			t.Errorf("%s: it says so twice", kind)
		}
		w.must(w.scout, c.answer(w, "later", ask))
		for _, a := range w.s.Agents {
			if (a.Key == "late" || a.Key == "later") && (a.WhyFree != c.why || a.Room != "") {
				t.Errorf("%s: %+v", kind, a)
			}
		}
		// In time, to the millisecond; then there is nothing to fire.
		ask = c.ask(w)
		w.at(w.now.Add(time.Minute - time.Millisecond))
		if attached(w.must(w.scout, c.answer(w, "in time", ask))) == nil {
			t.Errorf("%s: in time it does not join", kind)
		}
		w.at(w.now.Add(time.Hour))
		if events := w.must(chips, fired(kind, ask)); len(events) != 0 {
			t.Errorf("%s: what was made is missed: %v", kind, types(events))
		}
		// A room that is gone waits for nobody.
		c.ask(w)
		w.must(w.arjun, event(w.quiet, &protocol.SpaceDeleted{}))
		if left := w.s.Deadlines(DefaultWaits()); len(left) != 0 {
			t.Errorf("%s: %v", kind, left)
		}
	}
}

// Deadlines are told apart and sorted by when they are due, which other waits change and the fold does not.
func TestDeadlinesAreSorted(t *testing.T) {
	w := newAsking(t)
	a, b := w.fork(), w.newAgent("")
	first := func(waits Waits) []string {
		var ids []string
		for _, d := range w.s.Deadlines(waits) {
			ids = append(ids, d.ID)
		}
		return ids
	}
	if diff := cmp.Diff([]string{a, b}, first(DefaultWaits())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{b, a}, first(Waits{Fork: time.Hour, NewAgent: time.Minute})); diff != "" {
		t.Error(diff)
	}
	if _, ok := w.s.Deadline(DefaultWaits(), dueNewAgent, a); ok {
		t.Error("a fork is found as a new agent")
	}
}
