package workspace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

func TestRolesOfPeople(t *testing.T) {
	w := newWorld(t)
	ada, mel, gus := w.person("Ada", protocol.Admin), w.person("Mel", protocol.Member), w.person("Gus", protocol.Guest)
	otto := w.person("Otto", protocol.Owner)
	add := func(role protocol.Role) command { return op(&PersonDraft{Name: ptr("New"), Role: &role}) }
	role := func(who Caller, role protocol.Role) command { return op(&PersonDraft{PersonID: who.ID, Role: &role}) }

	w.refused(protocol.Forbidden, mel, add(protocol.Member))
	w.refused(protocol.Forbidden, gus, add(protocol.Guest))
	w.refused(protocol.Forbidden, ada, add(protocol.Owner))
	w.refused(protocol.InvalidRequest, ada, add("king"))
	w.must(ada, add(protocol.Admin))
	w.refused(protocol.Forbidden, ada, role(mel, protocol.Owner))
	w.refused(protocol.Forbidden, ada, role(otto, protocol.Member))
	w.refused(protocol.Forbidden, mel, role(mel, protocol.Admin))
	w.must(w.arjun, role(otto, protocol.Member))
	w.refused(protocol.InvalidRequest, w.arjun, role(w.arjun, protocol.Admin)) // the last owner
	w.must(gus, op(&PersonDraft{PersonID: gus.ID, Name: ptr("Augustus")}))
	w.refused(protocol.Forbidden, gus, op(&PersonDraft{PersonID: mel.ID, Name: ptr("Melanie")}))
	w.refused(protocol.NotFound, ada, op(&PersonDraft{PersonID: "usr_01K4ZQPX000000000000000009", Name: ptr("Nobody")}))
	w.must(ada, op(&PersonDraft{PersonID: mel.ID, Labels: &[]string{"finance", "finance"}}))
	if got := w.s.People[mel.ID].Labels; !cmp.Equal(got, []string{"finance"}) {
		t.Errorf("labels %v", got)
	}
	seq := w.s.Seq
	w.must(ada, op(&PersonDraft{PersonID: mel.ID, Labels: &[]string{"finance"}}))
	if w.s.Seq != seq {
		t.Error("what is so already writes nothing")
	}
}

func TestRemovingAPerson(t *testing.T) {
	w := newWorld(t)
	mel := w.person("Mel", protocol.Member)
	h, _, direct := w.harness(mel, "Mel's")
	r := w.room(mel, "R", w.arjun.ID)
	w.refused(protocol.Forbidden, mel, op(&protocol.PersonRemoved{PersonID: w.arjun.ID}))
	w.refused(protocol.InvalidRequest, w.arjun, op(&protocol.PersonRemoved{PersonID: w.arjun.ID}))
	got := w.must(w.arjun, op(&protocol.PersonRemoved{PersonID: mel.ID}))
	if diff := cmp.Diff([]string{"harness.updated", "person.removed"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	if w.s.Harnesses[h.ID].OwnerID != w.arjun.ID || w.s.InRoom(w.s.Rooms[r], mel.ID) || w.s.InRoom(w.s.Rooms[direct], mel.ID) {
		t.Error("their harnesses go to the remover, and they leave all rooms")
	}
	w.refused(protocol.Forbidden, mel, post(r, "still here?"))
}

// covers: HEV-21, HEV-22, HEV-34
func TestHarnessSettings(t *testing.T) {
	w := newWorld(t)
	mel := w.person("Mel", protocol.Member)
	h, agent, _ := w.harness(mel, "Mel's")
	other, _, _ := w.harness(w.arjun, "Other")
	caps := func(words ...string) command { return op(&HarnessDraft{HarnessID: h.ID, Capabilities: &words}) }
	w.must(h, caps("agents", "drive.read"))
	w.refused(protocol.Forbidden, h, caps("agents", "models"))
	w.refused(protocol.Forbidden, other, caps("agents"))
	w.refused(protocol.Forbidden, w.person("Gus", protocol.Guest), caps("agents"))
	w.must(mel, caps("agents", "models"))
	w.must(h, caps("agents", "models", "restarts"))
	policy := func(autonomy int, rules ...protocol.Rule) command {
		return op(&protocol.HarnessPolicySet{HarnessID: h.ID, Policy: protocol.Policy{Autonomy: autonomy, Rules: rules}})
	}
	w.refused(protocol.Forbidden, mel, policy(3))
	w.refused(protocol.InvalidRequest, w.arjun, policy(4))
	for i, bad := range []protocol.Rule{{Match: "", Decision: "ask"}, {Match: "x", Decision: "maybe"}, {Match: "x", Decision: "ask", Approvers: []string{"me"}},
		{Match: "x", Decision: "ask", When: &protocol.When{Risk: []string{"boring"}}}, {Match: "x", Decision: "ask", When: &protocol.When{MoneyUSDOver: ptr(-1.0)}}} {
		err := w.refused(protocol.InvalidRequest, w.arjun, policy(2, bad))
		if !strings.Contains(err.Message, "rules[0].") {
			t.Errorf("%d: the field is not named: %s", i, err.Message)
		}
	}
	long := slices.Repeat([]protocol.Rule{{Match: "x", Decision: "ask", Reason: strings.Repeat("r", 1000)}}, 100)
	if err := w.refused(protocol.InvalidRequest, w.arjun, policy(2, long...)); !strings.HasPrefix(err.Message, "rules have ") {
		t.Errorf("the field is not named: %s", err.Message)
	}
	w.must(w.arjun, policy(2, long[:40]...))
	w.must(w.arjun, policy(3, protocol.Rule{Match: "email.*", Decision: "ask", MadeBy: "usr_01K4ZQPX000000000000000009"}))
	if got := w.s.Harnesses[h.ID].Policy.Rules[0].MadeBy; got != "" {
		t.Errorf("who made a rule is Chips' to say, not %q", got)
	}
	if got := w.s.Autonomy(h.ID); got != 3 {
		t.Errorf("autonomy %d", got)
	}
	w.must(w.arjun, op(&CapDraft{MaxAutonomy: ptr(1)}))
	if got := w.s.Autonomy(h.ID); got != 1 {
		t.Errorf("autonomy %d under a cap of 1", got)
	}
	if got := w.s.Autonomy(other.ID); got != 1 {
		t.Errorf("autonomy %d by default under a cap of 1", got)
	}
	w.must(w.arjun, op(&protocol.HarnessBudgetSet{HarnessID: h.ID, LimitUSD: ptr(25.0)}))
	w.refused(protocol.InvalidRequest, w.arjun, op(&protocol.HarnessBudgetSet{HarnessID: h.ID, LimitUSD: ptr(1e6 + 1)}))
	w.must(h, op(&protocol.HarnessStatusSet{HarnessID: h.ID, Status: "trouble", Message: "no disk"}))
	w.refused(protocol.InvalidRequest, h, op(&protocol.HarnessStatusSet{HarnessID: h.ID, Status: "away"}))
	w.refused(protocol.Forbidden, mel, op(&protocol.HarnessStatusSet{HarnessID: h.ID, Status: "ok"}))
	w.must(w.arjun, op(&ExchangeDraft{Stop: &Limit{}, Hold: &Limit{ptr(9)}}))
	if w.s.Exchange.Stop != nil || *w.s.Exchange.Hold != 9 || !w.s.Exchange.Circles {
		t.Errorf("%+v", w.s.Exchange)
	}
	w.refused(protocol.InvalidRequest, w.arjun, op(&ExchangeDraft{Stop: &Limit{ptr(1)}}))
	w.refused(protocol.Forbidden, mel, op(&ExchangeDraft{Stop: &Limit{ptr(5)}}))

	f := &fixture{world: w}
	room := w.s.Agents[agent].Room
	run := f.start(h, 1, room, "")
	w.must(mel, opIn(room, &protocol.SpaceLeadSet{AgentID: &agent}))
	got := w.must(mel, op(&protocol.HarnessRemoved{HarnessID: h.ID}))
	if diff := cmp.Diff([]string{"run.cancel", "agent.released", "space.lead_set", "harness.removed"}, types(got)); diff != "" {
		t.Fatal(diff)
	}
	if d, ok := got[2].Data.(*protocol.SpaceLeadSet); !ok || d.AgentID != nil || got[2].SpaceID != room || w.s.Rooms[room].Lead != "" {
		t.Errorf("what it led is led by %+v", got[2])
	}
	if !w.s.Agents[agent].Archived || !w.s.Runs[run].EndedRun() {
		t.Error("its agents are archived and its runs ended")
	}
}

// TestNothingPanicsAndASnapshotIsTheState throws commands with arbitrary ids at the rules and checks what must hold after each.
func TestNothingPanicsAndASnapshotIsTheState(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 20 {
		f := newFixture(t)
		callers := []Caller{f.arjun, f.priya, f.scout, f.ledger, f.person("Gus", protocol.Guest), f.person("Ada", protocol.Admin)}
		for i := range 150 {
			_, _ = f.do(callers[r.IntN(len(callers))], randomCommand(f, r, i))
			checkInvariants(t, f.s)
		}
		raw, err := json.Marshal(f.s, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		again := New("")
		if err := json.Unmarshal(raw, again); err != nil {
			t.Fatal(err)
		}
		folded := New(testWorkspace)
		for _, e := range f.log {
			raw, err := e.Append(nil)
			if err != nil {
				t.Fatal(err)
			}
			read, err := protocol.Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			Evolve(folded, read)
		}
		for name, s := range map[string]*State{"read from JSON": again, "folded from its log": folded} {
			got, _ := json.Marshal(s, json.Deterministic(true))
			if diff := cmp.Diff(string(raw), string(got)); diff != "" {
				t.Fatalf("the state %s differs (seed %d): %s", name, seed, diff)
			}
		}
	}
}

func randomCommand(f *fixture, r *rand.Rand, i int) command {
	pick := func(ids []string) string { return ids[r.IntN(len(ids))] }
	rooms, people, runs := []string{"", f.r, f.lone}, []string{f.arjun.ID, f.priya.ID}, []string{"", runID(1)}
	for id := range f.s.Rooms {
		rooms = append(rooms, id)
	}
	agents := []string{f.scout.ID, f.ledger.ID, "agt_x"}
	for id := range f.s.Agents {
		agents = append(agents, id)
	}
	for id := range f.s.People {
		people = append(people, id)
	}
	for id := range f.s.Runs {
		runs = append(runs, id)
	}
	data := []protocol.Data{
		&protocol.SpaceOpened{ParticipantIDs: []string{pick(people), pick(agents)}, Key: pick([]string{"", "k1", "k2"})},
		&protocol.SpaceArchived{}, &protocol.SpaceUnarchived{}, &protocol.SpaceDeleted{DeleteAgents: r.IntN(2) == 0}, &protocol.SpaceClosed{},
		&protocol.MemberAdded{ParticipantID: pick(append(agents, people...))}, &protocol.MemberRemoved{ParticipantID: pick(append(agents, people...))},
		&protocol.AgentMoved{AgentID: pick(agents), ToSpaceID: pick(rooms)}, &protocol.RunStarted{ParentRunID: pick(runs)}, &protocol.RunCancel{},
		&protocol.RunCompleted{}, &protocol.StepLog{StepID: "s", Status: "done"}, &protocol.MessagePost{Text: "@Scout hi", To: protocol.To{All: r.IntN(2) == 0}},
		&AgentDraft{HarnessID: f.scout.ID, Key: fmt.Sprint("k", r.IntN(4)), Name: ptr(pick([]string{"A", "Scout", "B"})), State: ptr(pick([]string{"active", "archived"})), Lead: ptr(r.IntN(6) == 0)},
		&HarnessDraft{DisplayName: ptr("H")}, &protocol.HarnessRemoved{HarnessID: f.ledger.ID}, &protocol.SpaceRenamed{Title: "T"},
	}
	c := event(pick(rooms), data[r.IntN(len(data))])
	c.draft.RunID = pick(runs)
	if r.IntN(3) == 0 {
		c.draft.RunID = runID(100 + i)
	}
	if r.IntN(3) == 0 {
		c = c.as(pick(agents))
	}
	c.operation = r.IntN(2) == 0
	return c
}

// checkInvariants is what holds of every state, whatever happened.
func checkInvariants(t *testing.T, s *State) {
	t.Helper()
	for _, a := range s.Agents {
		in := 0
		for _, r := range s.Rooms {
			if !r.Deleted && r.Has(a.ID) {
				in++
				if a.Room != r.ID {
					t.Fatalf("%s is a member of %s and says it is in %q", a.Name, r.ID, a.Room)
				}
				if r.Archived {
					t.Fatalf("%s is in an archived room", a.Name)
				}
			}
		}
		if in > 1 || in == 0 && a.Room != "" {
			t.Fatalf("%s is in %d rooms and says %q", a.Name, in, a.Room)
		}
		if a.Archived && a.Room != "" {
			t.Fatalf("%s is archived and in a room", a.Name)
		}
		for _, b := range s.Agents {
			if a.ID != b.ID && (sameName(a.Name, b.Name) || a.Handle != "" && sameName(a.Handle, b.Handle)) {
				t.Fatalf("two agents are called %q (%s), %q (%s)", a.Name, a.Handle, b.Name, b.Handle)
			}
		}
	}
	for _, run := range s.Runs {
		if a := s.Agents[run.AgentID]; a != nil && !run.EndedRun() && run.Room != "" && a.Room != run.Room {
			t.Fatalf("a run of %s goes in a room it is not in", a.Name)
		}
	}
}

// An agent's face is an emoji, or an image that whoever gives it uploaded.
// covers: WHO-1
func TestFaces(t *testing.T) {
	f := newFixture(t)
	face := func(by Caller, face protocol.Face, uploads map[string]Upload) ([]protocol.Event, *protocol.Error) {
		d, err := Decide(f.s, Command{By: by, Draft: Draft(&AgentDraft{AgentID: f.s1, SetFace: true, Face: face}), Operation: true, Now: f.now, Uploads: uploads})
		if err == nil {
			f.fold(d)
		}
		return d.Events, err
	}
	const image, text = "att_01K4ZQPX0000000000000000F1", "att_01K4ZQPX0000000000000000F2"
	uploads := map[string]Upload{
		image: {By: f.arjun.ID, File: protocol.Attachment{MimeType: "image/png"}},
		text:  {By: f.arjun.ID, File: protocol.Attachment{MimeType: "text/plain"}},
	}
	for _, c := range []struct {
		name string
		by   Caller
		face protocol.Face
		code protocol.Code
	}{
		{"an emoji", f.arjun, protocol.Face{Emoji: "🦊"}, ""},
		{"an image", f.arjun, protocol.Face{AttachmentID: image}, ""},
		{"none", f.arjun, protocol.Face{}, ""},
		{"both", f.arjun, protocol.Face{Emoji: "🦊", AttachmentID: image}, protocol.InvalidRequest},
		{"words", f.arjun, protocol.Face{Emoji: "fox"}, protocol.InvalidRequest},
		{"no image", f.arjun, protocol.Face{AttachmentID: text}, protocol.InvalidRequest},
		{"no upload", f.arjun, protocol.Face{AttachmentID: "att_01K4ZQPX0000000000000000F3"}, protocol.InvalidRequest},
		{"not its owner", f.priya, protocol.Face{Emoji: "🦊"}, protocol.Forbidden},
		{"the harness", f.scout, protocol.Face{Emoji: "🦊"}, protocol.Forbidden},
	} {
		got, err := face(c.by, c.face, uploads)
		if (err == nil) != (c.code == "") || err != nil && err.Code != c.code {
			t.Errorf("%s: %v, want %q", c.name, err, c.code)
			continue
		}
		if err != nil {
			continue
		}
		if d, ok := got[0].Data.(*protocol.AgentUpdated); !ok || d.Face != c.face || f.s.Agents[f.s1].Face != c.face || d.NameBy != "" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if got, err := face(f.arjun, protocol.Face{}, nil); err != nil || len(got) != 0 {
		t.Errorf("the same again is %v, %v", got, err)
	}
}
