package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/fanout"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// told is one subscriber of the property below: who, and how much context it asks for.
type told struct {
	who    workspace.Caller
	budget protocol.ContextBudget
}

// open subscribes somebody with a budget; since below 0 is from now on.
func (h *house) open(c told, since int64, accepts string) string {
	h.t.Helper()
	h.n++
	id := fmt.Sprint("conn-", h.n)
	if err := h.sessions.Connect(context.Background(), id, c.who); err != nil {
		h.t.Fatal(err)
	}
	budget, err := json.Marshal(c.budget)
	if err != nil {
		h.t.Fatal(err)
	}
	from := ""
	if since >= 0 {
		from = fmt.Sprintf(`,"since":%d`, since)
	}
	for _, frame := range []string{
		fmt.Sprintf(`{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"t","version":"1"},"context":%s%s}`, budget, accepts),
		fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q%s}`, h.ws, from),
	} {
		if reply, err := h.sessions.Frame(context.Background(), id, c.who, []byte(frame)); err != nil || reply.Close != 0 {
			h.t.Fatalf("%s: %+v, %v", frame, reply, err)
		}
	}
	return id
}

// withContext are the events with context that a socket was sent, by seq, as they were written.
func (h *house) withContext(id string) map[int64]string {
	h.t.Helper()
	found := map[int64]string{}
	for _, raw := range h.sent(id) {
		var f struct {
			Event  jsontext.Value   `json:"event"`
			Events []jsontext.Value `json:"events"`
		}
		if err := json.Unmarshal(raw, &f); err != nil {
			h.t.Fatal(err)
		}
		if f.Event != nil {
			f.Events = append(f.Events, f.Event)
		}
		for _, v := range f.Events {
			e, err := protocol.Decode(v)
			if err != nil {
				h.t.Fatal(err)
			}
			if strings.Contains(string(v), `"since_seq":`) {
				if _, twice := found[e.Seq]; twice {
					h.t.Errorf("%d came twice", e.Seq)
				}
				found[e.Seq] = string(v)
			}
		}
	}
	return found
}

// restart puts another process over the same table, that has folded nothing.
func (h *house) restart() {
	e := engine.New(h.table, engine.Options{Now: time.Now, SnapshotEvery: 5})
	h.engine = e
	h.sessions = session.New(session.Config{
		Engine: e, Rows: h.rows, Push: h, Replays: h, Now: time.Now, Log: quiet, Limits: session.Limits{EventsPerFrame: 7},
	})
	h.fanout = h.newFanout()
}

// live is random life in the workspace; what is refused is no matter.
func (h *house) life(r *rand.Rand, steps int, also func()) {
	run := 0
	going := map[string]workspace.Caller{}
	other := h.do(h.arjun, workspace.Draft(&protocol.SpaceOpened{Title: "Other"})).Ack().SpaceID
	s2name := "Scout Two"
	h.do(h.scout, workspace.Draft(&workspace.AgentDraft{HarnessID: h.scout.ID, Key: "s2", Name: &s2name}))
	var s2 string
	_ = h.engine.Read(context.Background(), h.ws, func(s *workspace.State) error {
		for _, a := range s.AgentsOf(h.scout.ID) {
			if a.Key == "s2" {
				s2 = a.ID
			}
		}
		return nil
	})
	h.do(h.arjun, workspace.DraftIn(h.room, &protocol.MemberAdded{ParticipantID: s2}))
	agents := map[string]workspace.Caller{h.s1: h.scout, s2: h.scout, h.ledgerA: h.ledger}
	pick := func(ids ...string) string { return ids[r.IntN(len(ids))] }
	names := 0
	for range steps {
		var by workspace.Caller
		var draft protocol.Event
		switch x := r.IntN(100); {
		case x < 45:
			by = []workspace.Caller{h.arjun, h.priya}[r.IntN(2)]
			text := pick("", "@Scout ", "@ScoutTwo ", "@Scout @ScoutTwo @Ledger ", "@Ledger ") + strings.Repeat(pick("a", "é", "\"", "😀 "), r.IntN(60)+1)
			draft = workspace.DraftIn(pick(h.room, h.room, h.room, other), &protocol.MessagePost{Text: text})
		case x < 70:
			agent := pick(h.s1, s2, h.ledgerA)
			by = agents[agent]
			draft = workspace.DraftIn(pick(h.room, h.room, other), &protocol.MessagePost{Text: pick("I think ", "@Scout ", "@ScoutTwo ", "@Ledger ") + pick("yes", "no")})
			draft.Actor = protocol.Actor{Kind: protocol.KindAgent, ID: agent}
			for id, c := range going {
				if c == by && r.IntN(2) == 0 {
					draft.RunID, draft.SpaceID = id, ""
				}
			}
		case x < 78:
			agent := pick(h.s1, s2, h.ledgerA)
			run++
			by, draft = agents[agent], workspace.DraftIn(h.room, &protocol.RunStarted{})
			draft.Actor = protocol.Actor{Kind: protocol.KindAgent, ID: agent}
			draft.RunID = protocol.NewID(protocol.PrefixRun, time.Unix(1_700_000_000, 0), [10]byte{byte(run >> 8), byte(run)})
			going[draft.RunID] = by
		case x < 84:
			for id, c := range going {
				by, draft = c, workspace.Draft(&protocol.RunCompleted{})
				draft.RunID = id
				delete(going, id)
				break
			}
		case x < 88:
			names++
			name := fmt.Sprint("Priya ", names)
			by, draft = h.priya, workspace.Draft(&workspace.PersonDraft{PersonID: h.priya.ID, Name: &name})
		case x < 90:
			by, draft = h.arjun, workspace.DraftIn(h.room, &protocol.SpaceRenamed{Title: fmt.Sprint("R ", r.IntN(100))})
		case x < 94:
			agent := pick(h.s1, s2, h.ledgerA)
			by, draft = h.arjun, workspace.Draft(&protocol.AgentMoved{AgentID: agent, ToSpaceID: pick(h.room, other)})
		case x < 97:
			by, draft = h.arjun, workspace.DraftIn(h.room, &protocol.MemberRemoved{ParticipantID: h.priya.ID})
			if r.IntN(2) == 0 {
				draft = workspace.DraftIn(h.room, &protocol.MemberAdded{ParticipantID: h.priya.ID})
			}
		default:
			by, draft = h.arjun, workspace.DraftIn(h.room, &protocol.SpaceArchived{})
			if r.IntN(3) > 0 {
				draft = workspace.DraftIn(h.room, &protocol.SpaceUnarchived{})
			}
		}
		if draft.Type == "" {
			continue
		}
		_, operation := draft.Data.(*workspace.PersonDraft)
		_, err := h.engine.Do(context.Background(), h.ws, workspace.Command{By: by, Draft: draft, Operation: operation})
		var refused *protocol.Error
		if err != nil && !errors.As(err, &refused) {
			h.t.Fatal(err)
		}
		also()
	}
	// In the end everybody is in all rooms, so that a replay brings everything.
	_, _ = h.engine.Do(context.Background(), h.ws, workspace.Command{By: h.arjun, Draft: workspace.DraftIn(h.room, &protocol.SpaceUnarchived{})})
	for agent, room := range map[string]string{h.s1: h.room, s2: other, h.ledgerA: h.room} {
		for _, d := range []protocol.Event{
			workspace.Draft(&protocol.AgentMoved{AgentID: agent, ToSpaceID: room}), workspace.DraftIn(room, &protocol.MemberAdded{ParticipantID: agent}),
		} {
			_, _ = h.engine.Do(context.Background(), h.ws, workspace.Command{By: h.arjun, Draft: d})
		}
	}
	_, _ = h.engine.Do(context.Background(), h.ws, workspace.Command{By: h.arjun, Draft: workspace.DraftIn(other, &protocol.MemberAdded{ParticipantID: h.ledger.ID})})
}

// reference is what a subscriber is to be told with each event, worked out from the whole log at once.
func (h *house) reference(c told) map[int64]string {
	h.t.Helper()
	r := delivery.Recipient{Kind: c.who.Kind, ID: c.who.ID, Budget: c.budget}
	if err := h.engine.Read(context.Background(), h.ws, func(s *workspace.State) error {
		r = r.At(s)
		return nil
	}); err != nil {
		h.t.Fatal(err)
	}
	s, want := workspace.New(h.ws), map[int64]string{}
	lines := map[string][]protocol.Event{}
	for _, commit := range h.since(0) {
		events, err := commit.Decode()
		if err != nil {
			h.t.Fatal(err)
		}
		for _, e := range events {
			workspace.Evolve(s, e)
			all := lines[e.SpaceID]
			b, err := delivery.Render(s, e, r, slices.Clone(all)).Append(nil)
			if err != nil {
				h.t.Fatal(err)
			}
			if strings.Contains(string(b), `"since_seq":`) {
				want[e.Seq] = string(b)
			}
			if workspace.LineRooms(e) != nil {
				lines[e.SpaceID] = append(all, e)
			}
		}
	}
	return want
}

// What a harness is told with a message is the same live, on a replay from wherever, and after a restart, byte for byte.
// covers: CTX-7, CTX-8
func TestToldTheSame(t *testing.T) {
	checked := 0
	for range 6 {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 1))
		h := newHouse(t)
		start := h.head()
		num := func(n int) *int { return &n }
		subscribers := []told{
			{h.scout, protocol.ContextBudget{}}, {h.ledger, protocol.ContextBudget{}},
			{h.scout, protocol.ContextBudget{Lines: num(r.IntN(8)), Chars: num(r.IntN(400))}},
			{h.ledger, protocol.ContextBudget{Lines: num(1 + r.IntN(300))}},
			{h.scout, protocol.ContextBudget{Chars: num(r.IntN(40_000))}},
		}
		var live []string
		for _, c := range subscribers {
			live = append(live, h.open(c, -1, ""))
		}
		h.life(r, 250, func() {
			switch r.IntN(20) {
			case 0, 1, 2, 3, 4, 5:
				h.ring()
			case 6: // another process goes on
				h.fanout = h.newFanout()
			case 7:
				h.restart()
			}
		})
		h.ring()
		head := h.head()
		for i, c := range subscribers {
			want := h.reference(c)
			maps.DeleteFunc(want, func(seq int64, _ string) bool { return seq <= start })
			checked += len(want)
			check := func(what string, since int64, got map[int64]string) {
				t.Helper()
				for seq, b := range want {
					if seq > since && got[seq] != b {
						t.Fatalf("seed %d: %s, subscriber %d, seq %d of %d:\n%s\nwant\n%s", seed, what, i, seq, head, got[seq], b)
					}
				}
			}
			check("live", start, h.withContext(live[i]))
			for range 4 {
				h.restart()
				since := start + r.Int64N(head-start)
				accepts := []string{"", `,"accepts":["events"]`}[r.IntN(2)]
				check(fmt.Sprint("replay from ", since, accepts), since, h.withContext(h.open(c, since, accepts)))
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d events with context", checked)
	}
}

// Context is read for whom it is for, once for a room, and for nobody else.
func TestContextIsReadOnceForARoom(t *testing.T) {
	h := newHouse(t)
	reads := &readsOf{Log: h.engine}
	h.fanout = fanout.New(fanout.Config{Log: reads, Connections: h.sessions, Rows: h.rows, Push: h, Now: time.Now, Logger: quiet})
	h.listen(h.scout)
	h.listen(h.scout)
	h.listen(h.arjun)
	for range 5 {
		h.say(h.arjun, "for Priya")
		h.ring()
	}
	if reads.n != 0 {
		t.Errorf("%d reads of a room where nobody was asked", reads.n)
	}
	for range 5 {
		h.say(h.arjun, "@Scout?")
		h.say(h.priya, "for Arjun")
		h.ring()
	}
	if reads.n != 1 {
		t.Errorf("%d reads of a room for ten messages, want 1", reads.n)
	}
	reads.err = errors.New("the table is away")
	h.fanout = fanout.New(fanout.Config{Log: reads, Connections: h.sessions, Rows: h.rows, Push: h, Now: time.Now, Logger: quiet})
	id := h.listen(h.scout)
	h.say(h.arjun, "@Scout, once more?")
	if err := h.fanout.Ring(t.Context(), h.ws, nil); !errors.Is(err, reads.err) {
		t.Errorf("ring: %v", err)
	}
	reads.err = nil
	h.ring()
	if got := h.heard(id); got != "message.new @Scout, once more?" {
		t.Errorf("sent %q once it can be read", got)
	}
}

// readsOf counts the reads of rooms, and fails them with err.
type readsOf struct {
	fanout.Log
	n   int
	err error
}

func (r *readsOf) RoomCommits(ctx context.Context, ws, space string, line int64, limit int) ([]engine.Commit, error) {
	r.n++
	if r.err != nil {
		return nil, r.err
	}
	return r.Log.RoomCommits(ctx, ws, space, line, limit)
}
