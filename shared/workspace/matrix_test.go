package workspace

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

var update = flag.Bool("update", false, "write the matrix of places anew")

const matrixFile = "testdata/places.txt"

const matrixHead = `Every way into a room and out of it, by whoever asks, in every state of the room and of the agent.

The agent is one of the harness Scout, which Olive owns; Other is another of its agents, and Mate one of the harness Ledger, which has none
registered by key. People: in the room are an owner, an admin, the member who opened it, another member and a guest; Olive, a member, is not,
and neither are another owner and another member. Beside the room there is one, called other here, which holds the owner and the member who
opened the first; "as the agent" is Scout naming it as actor.

Rooms: open holds Other and Mate. asked holds Scout itself, which a person asked for it. own was opened by Scout, with an agent of a key of its
own. main is the Main room of Scout's Main agent. archived was open when it was put away, deleted likewise; nobody knows of unknown.

Agents: new was never in a room, free was and was taken out of other. here and elsewhere (in other) are where they say. archived is so by its
harness, and was free; away was the only agent of a room, which went with it. parked waits for an archived room: for this one where that is
archived. main is the Main agent in its room, which is this one where that is main; main new is one that was in no room yet; unknown is no
agent's id.

in and out: it joins the room, or leaves the one it is in; moves is both; back is its return with the room that went with it. said and held are
what it says, free is an answer to an ask by an agent that may not join, ok any other effect, same none. Else it is refused: no forbidden, ? not_found,
bad invalid_event or invalid_request, else agent_elsewhere, shut room_closed, main lead_room, which which_agent. - cannot be.
`

// The states of rooms and agents in the matrix, and who asks.
var (
	roomStates  = []string{"open", "asked", "own", "main", "archived", "deleted", "unknown"}
	agentStates = []string{"new", "free", "here", "elsewhere", "archived", "away", "parked", "main", "main new", "unknown"}
	askers      = []string{
		"owner", "admin", "opener", "member", "guest", "agent's owner", "owner outside", "member outside", "Scout", "as the agent", "Ledger", "Lone outside",
	}
)

// scene is a world in one state of room and agent.
type scene struct {
	*world
	by                               map[string]Caller
	room, agent, key, name, ask, pat string
	other, mate                      string
	scout                            Caller
}

// newScene is nil for a state that cannot be.
func newScene(t *testing.T, roomState, agentState string) *scene {
	t.Helper()
	switch {
	case agentState == "here" && roomState != "open" && roomState != "asked" && roomState != "own":
		return nil // an agent leaves a room that is put away; with the Main agent there is no other
	case agentState == "here" && roomState == "asked":
		return nil // it would be claimed with that
	}
	w := newWorld(t)
	s := &scene{world: w, by: map[string]Caller{"owner": w.arjun}}
	for name, role := range map[string]protocol.Role{
		"admin": protocol.Admin, "opener": protocol.Member, "member": protocol.Member, "guest": protocol.Guest,
		"agent's owner": protocol.Member, "owner outside": protocol.Owner, "member outside": protocol.Member,
	} {
		s.by[name] = w.person(name, role)
	}
	s.pat = w.person("Pat", protocol.Member).ID
	s.scout, _, _ = w.harness(s.by["agent's owner"], "Scout", "agents", "new_spaces", "new_agents")
	ledger, mate, _ := w.harness(w.arjun, "Ledger", "agents")
	lone, _, _ := w.harness(w.arjun, "Lone", "agents")
	s.by["Scout"], s.by["as the agent"], s.by["Ledger"], s.by["Lone outside"] = s.scout, s.scout, ledger, lone
	s.mate = mate
	s.other = w.register(s.scout, "other", "Other")
	opener := s.by["opener"]
	beside := w.room(opener, "Beside", w.arjun.ID)
	main := func(key string) string {
		lead := true
		w.must(s.scout, op(&AgentDraft{HarnessID: s.scout.ID, Key: key, Name: ptr("Main"), Lead: &lead}))
		return w.byKey(s.scout, key)
	}
	s.name = "Agent"
	put := func(state string) {
		w.must(s.scout, op(&AgentDraft{HarnessID: s.scout.ID, Key: s.key, Name: &s.name, State: &state}))
	}
	others := []string{w.arjun.ID, s.by["admin"].ID, s.by["member"].ID, s.by["guest"].ID}
	s.key, s.agent = "agent", protocol.NewID(protocol.PrefixAgent, w.now, [10]byte{9})
	switch agentState {
	case "main", "main new":
		s.agent, s.name = main(s.key), "Main"
	case "unknown":
	default:
		s.agent = w.register(s.scout, s.key, "Agent")
	}
	switch roomState {
	case "asked":
		events := w.must(opener, op(&AskDraft{HarnessID: s.scout.ID, Text: "a room, please"}))
		s.room = events[0].SpaceID
		for _, id := range others {
			w.add(opener, s.room, id)
		}
		w.add(w.arjun, s.room, s.mate)
	case "own":
		events := w.must(s.scout, event("", &protocol.SpaceOpened{Title: "Own", Key: "own"}))
		s.room = events[0].SpaceID + events[1].SpaceID // the first registers the key's agent
		owner := s.by["agent's owner"]
		for _, id := range append(others, opener.ID) {
			w.add(owner, s.room, id)
		}
		w.add(w.arjun, s.room, s.mate)
		w.must(owner, event(s.room, &protocol.MemberRemoved{ParticipantID: owner.ID}))
	case "main":
		holds := s.agent
		if agentState != "main" {
			if agentState == "main new" {
				return nil // a harness has one Main agent
			}
			holds = main("main")
		}
		s.room = w.room(opener, "Main", others...)
		w.add(opener, s.room, holds)
	case "unknown":
		s.room = protocol.NewID(protocol.PrefixSpace, w.now, [10]byte{9})
	default:
		s.room = w.room(opener, "Room", others...)
		w.add(opener, s.room, s.other)
		w.must(w.arjun, opIn(s.room, &protocol.MemberAdded{ParticipantID: ledger.ID}))
		for _, a := range w.s.AgentsIn(w.s.Rooms[s.room], ledger.ID) {
			s.mate = a.ID
		}
	}
	switch agentState {
	case "free", "archived":
		w.add(opener, beside, s.agent)
		w.must(opener, event(beside, &protocol.MemberRemoved{ParticipantID: s.agent}))
		if agentState == "archived" {
			put(StateArchived)
		}
	case "here":
		w.add(opener, s.room, s.agent)
	case "elsewhere":
		w.add(opener, beside, s.agent)
	case "away":
		w.add(opener, beside, s.agent)
		put(StateArchived)
	case "parked":
		where := beside
		if roomState == "archived" {
			where = s.room
		}
		w.add(opener, where, s.agent)
		if where == beside {
			w.must(opener, event(where, &protocol.SpaceArchived{}))
		}
	case "main":
		if roomState != "main" {
			w.add(opener, beside, s.agent)
		}
	}
	// Scout was asked for a new agent in the room, where there is one to be in.
	if s.ask = protocol.EventID(w.now, 1, [5]byte{9}); roomState == "open" || roomState == "archived" || roomState == "deleted" {
		s.ask = w.must(w.arjun, opIn(s.room, &protocol.AgentAsked{HarnessID: s.scout.ID}))[0].ID
	}
	switch roomState {
	case "archived":
		w.must(opener, event(s.room, &protocol.SpaceArchived{}))
	case "deleted":
		w.must(opener, event(s.room, &protocol.SpaceDeleted{}))
	}
	return s
}

func (w *world) byKey(h Caller, key string) string {
	for _, a := range w.s.AgentsOf(h.ID) {
		if a.Key == key {
			return a.ID
		}
	}
	return ""
}

// way is one way into a room, out of it or past it.
type way struct {
	name string
	do   func(s *scene) command
}

var ways = []way{
	{"add the agent", func(s *scene) command { return event(s.room, &protocol.MemberAdded{ParticipantID: s.agent}) }},
	{"add Scout by its own id", func(s *scene) command { return event(s.room, &protocol.MemberAdded{ParticipantID: s.scout.ID}) }},
	{"add Lone by its own id, which has one agent that it was given", func(s *scene) command {
		return event(s.room, &protocol.MemberAdded{ParticipantID: s.by["Lone outside"].ID})
	}},
	{"take the agent out", func(s *scene) command { return event(s.room, &protocol.MemberRemoved{ParticipantID: s.agent}) }},
	{"move the agent here", func(s *scene) command { return event("", &protocol.AgentMoved{AgentID: s.agent, ToSpaceID: s.room}) }},
	{"attach it in Other's place, or Scout's own", func(s *scene) command {
		replacing := s.other
		if room := s.s.Rooms[s.room]; room != nil && room.Has(s.scout.ID) {
			replacing = s.scout.ID
		}
		return opIn(s.room, &protocol.MembershipReplaced{AgentID: s.agent, Replaced: replacing})
	}},
	{"claim the room by its key", func(s *scene) command { return opIn(s.room, &ClaimDraft{Key: s.key}) }},
	{"open a room with it", func(s *scene) command { return event("", &protocol.SpaceOpened{ParticipantIDs: []string{s.agent}}) }},
	{"open a room by its key", func(s *scene) command { return event("", &protocol.SpaceOpened{Key: s.key}) }},
	{"hand work off to it, as Other", func(s *scene) command {
		return event("", &protocol.SpaceOpened{AgentIDs: []string{s.agent}, Brief: &protocol.Brief{Text: "do"}}).as(s.other)
	}},
	{"register it for an ask of this room", func(s *scene) command {
		return op(&AgentDraft{HarnessID: s.scout.ID, Key: s.key, Name: &s.name, MadeFor: s.ask, SpaceID: s.room})
	}},
	{"register it as archived", func(s *scene) command {
		return op(&AgentDraft{HarnessID: s.scout.ID, Key: s.key, Name: &s.name, State: ptr(StateArchived)})
	}},
	{"register it as active", func(s *scene) command {
		return op(&AgentDraft{HarnessID: s.scout.ID, Key: s.key, Name: &s.name, State: ptr(StateActive)})
	}},
	{"say something in no room", func(s *scene) command { return event("", &protocol.MessagePost{Text: "words"}) }},
	{"say something in this room", func(s *scene) command { return event(s.room, &protocol.MessagePost{Text: "words"}) }},
	{"archive the room", func(s *scene) command { return event(s.room, &protocol.SpaceArchived{}) }},
	{"close the room", func(s *scene) command { return event(s.room, &protocol.SpaceClosed{}) }},
	{"unarchive the room", func(s *scene) command { return event(s.room, &protocol.SpaceUnarchived{}) }},
	{"delete the room", func(s *scene) command { return event(s.room, &protocol.SpaceDeleted{}) }},
	{"delete Scout", func(s *scene) command { return op(&protocol.HarnessRemoved{HarnessID: s.scout.ID}) }},
	{"add a person", func(s *scene) command { return event(s.room, &protocol.MemberAdded{ParticipantID: s.pat}) }},
	{"take the member out", func(s *scene) command {
		return event(s.room, &protocol.MemberRemoved{ParticipantID: s.by["member"].ID})
	}},
}

// outcome is what becomes of a way, in the matrix's words. What was decided must hold what holds of every state.
func (s *scene) outcome(t *testing.T, asker string, w way) string {
	t.Helper()
	by, c := s.by[asker], w.do(s)
	if asker == "as the agent" {
		c = c.as(s.agent)
	}
	decision, err := Decide(s.s, Command{By: by, Draft: c.draft, Operation: c.operation, Now: s.now, Waits: DefaultWaits(), Cited: map[string]protocol.Event{}})
	if err != nil {
		words := map[protocol.Code]string{
			protocol.Forbidden: "no", protocol.NotFound: "?", protocol.InvalidEvent: "bad", protocol.InvalidRequest: "bad", protocol.AgentElsewhere: "else",
			protocol.RoomClosed: "shut", protocol.LeadRoom: "main", protocol.WhichAgent: "which",
		}
		if words[err.Code] == "" || err.Message == "" || (err.SpaceID != "") != (err.Code == protocol.AgentElsewhere) {
			t.Errorf("%s by %s is refused with %+v", w.name, asker, err)
		}
		return words[err.Code]
	}
	if len(decision.Events) == 0 {
		return "same"
	}
	did := "ok"
	after := &world{t: t, s: New(testWorkspace), now: s.now}
	for _, e := range s.log {
		Evolve(after.s, e)
	}
	after.fold(decision)
	checkInvariants(t, after.s)
	for _, e := range decision.Events {
		switch d := e.Data.(type) {
		case *protocol.AgentAttached:
			if d.AgentID == s.agent || s.s.Agents[d.AgentID] == nil || s.s.Agents[d.AgentID].Room == "" && w.name != "unarchive the room" {
				did = map[bool]string{true: "moves", false: "in"}[did == "out"]
			}
			if w.name == "register it as active" {
				did = "back"
			}
		case *protocol.AgentReleased:
			if d.AgentID == s.agent {
				did = "out"
			}
		case *protocol.MessageHeld:
			did = "held"
		case *protocol.MessagePost:
			if did == "ok" {
				did = "said"
			}
		case *protocol.AgentUpdated:
			if d.WhyFree != "" {
				did = "free"
			}
		case *protocol.AgentRegistered:
			if d.WhyFree != "" {
				did = "free"
			}
		}
	}
	return did
}

// The matrix is a file to be read: each cell is decided by the documents, and none by chance.
//
// covers: ONE-1, ONE-3, ADD-1, ADD-3, ADD-4, ADD-5, ADD-6, ADD-7, ADD-8, ATT-4, ATT-5
func TestMatrixOfPlaces(t *testing.T) {
	scenes := map[string]*scene{}
	for _, r := range roomStates {
		for _, a := range agentStates {
			scenes[r+"/"+a] = newScene(t, r, a)
		}
	}
	var out strings.Builder
	out.WriteString(matrixHead)
	line := func(name string, cells []string) string {
		var b strings.Builder
		for _, cell := range cells {
			fmt.Fprintf(&b, "%-10s", cell)
		}
		return strings.TrimRight(b.String()+name, " ")
	}
	for _, w := range ways {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n", w.name, line("", agentStates))
		var blocks, rooms []string
		for _, r := range roomStates {
			var rows []string
			who := map[string][]string{}
			for _, asker := range askers {
				var cells []string
				for _, a := range agentStates {
					if s := scenes[r+"/"+a]; s == nil {
						cells = append(cells, "-")
					} else {
						cells = append(cells, s.outcome(t, asker, w))
					}
				}
				row := line("", cells)
				row += strings.Repeat(" ", 10*len(agentStates)-len(row))
				if who[row] == nil {
					rows = append(rows, row)
				}
				who[row] = append(who[row], asker)
			}
			var b strings.Builder
			for _, row := range rows {
				fmt.Fprintf(&b, "%s%s\n", row, strings.Join(who[row], ", "))
			}
			if i := slices.Index(blocks, b.String()); i >= 0 {
				rooms[i] += ", " + r
			} else {
				blocks, rooms = append(blocks, b.String()), append(rooms, r)
			}
		}
		for i, b := range blocks {
			fmt.Fprintf(&out, "%s:\n%s", rooms[i], b)
		}
	}
	if *update {
		if err := os.WriteFile(matrixFile, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(matrixFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("the matrix differs (-want +got):\n%s", diff)
	}
}
