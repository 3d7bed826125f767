package fanout_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// The property below takes random life in a workspace through the real engine, sessions and fan-out, and holds what each subscriber is sent
// to what the log says, byte for byte: live, on a replay from wherever, and by a process that has just started from whatever snapshot.
// A life is a list of steps, each with a seed of its own, so that steps can be left out: what fails is made short before it is shown.

// step is one thing that happens: an act by its type, or one of the words below.
type step struct {
	what string
	seed uint64
}

const (
	rings    = "rings"    // fan-out is told of all so far
	restarts = "restarts" // another process goes on, cold
	comes    = "comes"    // somebody subscribes, from some seq on
	waits    = "waits"    // some minutes pass, and what fell due fires
)

func (s step) String() string { return fmt.Sprintf("{%q, %#x}", s.what, s.seed) }

// newLife draws the steps of a life.
func newLife(seed uint64, n int) []step {
	r := rand.New(rand.NewPCG(seed, 3))
	var bag []string
	for _, typ := range slices.Sorted(maps.Keys(acts)) {
		bag = append(bag, slices.Repeat([]string{typ}, acts[typ].weight)...)
	}
	weight := len(bag)
	bag = append(bag, slices.Repeat([]string{rings}, weight/3)...)
	bag = append(bag, slices.Repeat([]string{restarts}, weight/15)...)
	bag = append(bag, slices.Repeat([]string{comes}, weight/15)...)
	bag = append(bag, slices.Repeat([]string{waits}, weight/30)...)
	steps := make([]step, n)
	for i := range steps {
		steps[i] = step{bag[r.IntN(len(bag))], r.Uint64()}
	}
	return steps
}

// told is a subscriber: who, and how much context it asks for.
type told struct {
	who    workspace.Caller
	budget protocol.ContextBudget
}

// visit is a subscriber's socket: since which seq it asked, and the head when it did.
type visit struct {
	told
	conn        string
	since, head int64
}

// living is a life as it goes on.
type living struct {
	*house
	life
	now    time.Time
	log    []protocol.Event
	visits []visit
}

func (h *living) clock() time.Time { return h.now }

// restart puts another process over the same table, that has folded nothing.
func (h *living) restart() {
	h.engine = engine.New(h.table, engine.Options{Now: h.clock, SnapshotEvery: 5})
	h.sessions = session.New(session.Config{
		Engine: h.engine, Rows: h.rows, Push: h, Replays: h, Now: h.clock, Log: quiet, Limits: session.Limits{EventsPerFrame: 7},
	})
	h.fanout = h.newFanout()
}

// read takes what was appended into the log as the test knows it.
func (h *living) read() error {
	for {
		commits, err := h.engine.Commits(context.Background(), h.ws, int64(len(h.log))+1, 1000)
		if err != nil {
			return err
		}
		before := len(h.log)
		for _, c := range commits {
			events, err := c.Decode()
			if err != nil {
				return err
			}
			for _, e := range events {
				if e.Seq == int64(len(h.log))+1 {
					h.log = append(h.log, e)
					h.saw(e)
				}
			}
		}
		if len(h.log) == before {
			return nil
		}
	}
}

// do has a step happen.
func (h *living) do(s step) error {
	d := dice{rand.New(rand.NewPCG(s.seed, 5))}
	h.now = h.now.Add(time.Second)
	switch s.what {
	case rings:
		h.ring()
		return nil
	case restarts:
		h.restart()
		return nil
	case comes:
		return h.come(d)
	case waits:
		return h.wait(d)
	}
	cmd := acts[s.what].make(&h.life, d)
	if cmd.Draft.Type == "" {
		return nil
	}
	return h.try(cmd, s.seed)
}

// try has a command decided; that it is refused is no matter.
func (h *living) try(cmd workspace.Command, seed uint64) error {
	cmd.Now = h.now
	binary.BigEndian.PutUint64(cmd.Seed[:], seed)
	_, err := h.engine.Do(context.Background(), h.ws, cmd)
	if _, refused := errors.AsType[*protocol.Error](err); err != nil && !refused {
		return fmt.Errorf("%s: %w", cmd.Draft.Type, err)
	}
	return h.read()
}

// wait lets some minutes pass, and fires what fell due.
func (h *living) wait(d dice) error {
	h.now = h.now.Add(time.Duration(d.IntN(300)) * time.Second)
	var pending []workspace.Deadline
	err := h.engine.Read(context.Background(), h.ws, func(s *workspace.State) error {
		pending = s.Deadlines(h.engine.Waits())
		return nil
	})
	if err != nil {
		return err
	}
	system := workspace.Caller{Workspace: h.ws, Kind: protocol.KindSystem, ID: protocol.SystemID}
	for _, due := range pending {
		if err := h.try(command(system, workspace.Draft(&workspace.FireDraft{Kind: due.Kind, ID: due.ID})), d.Uint64()); err != nil {
			return err
		}
	}
	return nil
}

// come has somebody subscribe, from now on or from some seq.
func (h *living) come(d dice) error {
	num := func(n int) *int { return &n }
	who := h.person(d.early(h.people))
	if d.IntN(4) > 0 {
		who = h.harness(d.early(h.harnesses))
	}
	if !member(newOracle(h.ws, h.log).stateAt(int64(len(h.log))), who) {
		return nil
	}
	c := told{who, []protocol.ContextBudget{
		{}, {Lines: num(d.IntN(8)), Chars: num(d.IntN(400))}, {Lines: num(1 + d.IntN(300))}, {Chars: num(d.IntN(40_000))},
	}[d.IntN(4)]}
	head := int64(len(h.log))
	since := head
	if d.IntN(4) > 0 {
		since = d.Int64N(head)
	}
	return h.open(c, since, d.one("", `,"accepts":["events"]`))
}

// open subscribes somebody with a budget.
func (h *living) open(c told, since int64, accepts string) error {
	h.house.n++
	id := fmt.Sprint("conn-", h.house.n)
	if err := h.sessions.Connect(context.Background(), id, c.who); err != nil {
		return err
	}
	budget, err := json.Marshal(c.budget)
	if err != nil {
		return err
	}
	head := int64(0)
	for _, frame := range []string{
		fmt.Sprintf(`{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"t","version":"1"},"context":%s%s}`, budget, accepts),
		fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":%d}`, h.ws, since),
	} {
		head = int64(len(h.log))
		if reply, err := h.sessions.Frame(context.Background(), id, c.who, []byte(frame)); err != nil || reply.Close != 0 {
			return fmt.Errorf("%s: %+v, %w", frame, reply, err)
		}
		if err := h.read(); err != nil { // a hello may be the word that a harness is back
			return err
		}
	}
	h.visits = append(h.visits, visit{c, id, since, head})
	return nil
}

// was is what a socket was sent, event by event.
func (h *living) was(id string) (list []jsontext.Value, err error) {
	for _, raw := range h.sent(id) {
		var f struct {
			Event  jsontext.Value   `json:"event"`
			Events []jsontext.Value `json:"events"`
		}
		if err := json.Unmarshal(raw, &f); err != nil {
			return nil, err
		}
		if f.Event != nil {
			f.Events = append(f.Events, f.Event)
		}
		list = append(list, f.Events...)
	}
	return list, nil
}

// live plays a life, then has everybody come back after a restart, and answers what was wrong first, nil for nothing; seen counts the
// types of events that were logged and sent.
func live(t *testing.T, steps []step, seen map[string]int) (wrong error) {
	t.Run("", func(t *testing.T) {
		h := &living{house: newHouse(t), now: time.Now()}
		h.life = life{ws: h.house.ws, harnessOf: map[string]string{}, roomOf: map[string]string{}, authors: map[string]workspace.Caller{}}
		h.restart()
		if wrong = h.read(); wrong != nil {
			return
		}
		start := int64(len(h.log))
		for _, who := range []workspace.Caller{h.arjun, h.priya, h.scout, h.ledger} {
			if wrong = h.open(told{who: who}, start, ""); wrong != nil {
				return
			}
		}
		for _, s := range steps {
			if wrong = h.do(s); wrong != nil {
				return
			}
		}
		h.ring()
		d := dice{rand.New(rand.NewPCG(1, 9))}
		for range 6 {
			h.now = h.now.Add(time.Minute)
			h.restart()
			if wrong = h.come(d); wrong != nil {
				return
			}
		}
		h.ring()
		wrong = h.check(seen)
	})
	return wrong
}

// check holds what each visit was sent to what the log says.
func (h *living) check(seen map[string]int) error {
	o := newOracle(h.ws, h.log)
	for _, e := range h.log {
		seen[e.Type]++
	}
	for _, v := range h.visits {
		if code := h.closed[v.conn]; code != 0 {
			return fmt.Errorf("%s was closed with %d", v.conn, code)
		}
		got, err := h.was(v.conn)
		if err != nil {
			return err
		}
		want, err := o.toldFrom(v.told, v.since, v.head)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%s, a %s that came at %d of %d for all above %d with a budget of %s", v.who.ID, v.who.Kind, v.head, len(h.log), v.since, show(v.budget))
		for i, raw := range got {
			e, err := protocol.Decode(raw)
			if err != nil {
				return err
			}
			if i >= len(want) || want[i].seq != e.Seq {
				return fmt.Errorf("%s was sent %d, a %s, after %d others; want %v", name, e.Seq, e.Type, i, want[min(i, len(want)):min(i+1, len(want))])
			}
			if lasting(raw) != want[i].raw {
				return fmt.Errorf("%s was sent\n%s\nwant\n%s", name, lasting(raw), want[i].raw)
			}
			if why := o.misread(e, v.told); why != "" {
				return fmt.Errorf("%s was sent %d with context, of which %s", name, e.Seq, why)
			}
			seen["sent "+e.Type]++
		}
		if len(got) < len(want) {
			return fmt.Errorf("%s was not sent %s", name, want[len(got)].raw)
		}
	}
	return nil
}

func show(b protocol.ContextBudget) string {
	raw, _ := json.Marshal(b)
	return string(raw)
}

// shorter is a life that fails as well, without what can be left out of it.
func shorter(t *testing.T, steps []step, until time.Time) []step {
	for size := len(steps) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(steps) && time.Now().Before(until); {
			without := slices.Delete(slices.Clone(steps), at, at+size)
			if live(t, without, map[string]int{}) != nil {
				steps = without
			} else {
				at += size
			}
		}
	}
	return steps
}

// lives is how many are played, and from which seed on: CHIPS_TOLD_RUNS and CHIPS_TOLD_SEED for a soak.
func lives() (n int, seed uint64) {
	n, seed = 12, rand.Uint64()
	if v, err := strconv.Atoi(os.Getenv("CHIPS_TOLD_RUNS")); err == nil {
		n = v
	}
	if v, err := strconv.ParseUint(os.Getenv("CHIPS_TOLD_SEED"), 10, 64); err == nil {
		seed = v
	}
	return n, seed
}

// What somebody is sent is a function of the log: the same live, on a replay from wherever, and after a restart from any snapshot, byte
// for byte but for what contract U-86 lists; which events come is by contract U-82, and the words of contexts are those of the log.
// covers: CTX-7, CTX-8, CTX-13, CTX-14, SUB-11, SUB-12
func TestToldTheSame(t *testing.T) {
	seen := map[string]int{}
	all := func() bool { // some types come rarely
		for _, typ := range protocol.Types {
			if made[typ] != "" || acts[typ].make != nil {
				if seen[typ] == 0 {
					return false
				}
			}
		}
		return seen["sent message.new"] > 20 && seen["sent message.overheard"] > 20
	}
	n, seed := lives()
	i := 0
	for ; i < n || !all() && i < n+200; i++ {
		steps := newLife(seed+uint64(i), 300)
		if live(t, steps, seen) == nil {
			continue
		}
		steps = shorter(t, steps, time.Now().Add(2*time.Minute))
		t.Fatalf("seed %d, made short to %d steps:\n%v\n%v", seed+uint64(i), len(steps), steps, live(t, steps, seen))
	}
	t.Log(i, "lives from seed", seed, seen)
	if !all() {
		t.Error("some types never came to be")
	}
}

// Every type of event is part of the life above.
func TestLifeHasEveryType(t *testing.T) {
	for _, typ := range protocol.Types {
		_, act := acts[typ]
		if _, made := made[typ]; act == made {
			t.Errorf("%s: give it an act in acts, or say in made where it comes from", typ)
		}
	}
	for typ := range acts {
		if !slices.Contains(protocol.Types, typ) {
			t.Errorf("no event type is called %s", typ)
		}
	}
}
