package porttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// EngineStorm has clients send commands through several engines over one table that fails in every way, give up on them and send them
// again, several at once under one key; then it checks what the log promises. It answers how often each fault happened.
//
// The rules are few: some events may be repeated, some would be refused or have nothing to do once they are in the state. Whatever happens
// seq is dense, a key is in the log once, an ack names its key's event, no key that is in the log is refused, and only the attempt that
// put it there is told that it is new.
func EngineStorm(t testing.TB, table engine.Table, seed uint64) map[string]int {
	faulty := NewFaulty(table, seed, Storm)
	s := &storm{t: t, seed: seed, table: table, through: faulty, faulty: faulty}
	s.run(func() {
		faulty.Set(Faults{})
		faulty.Release(context.Background())
	})
	return faulty.Seen()
}

// EngineStormThrough is EngineStorm with faults that are not made up here: the engines know the table as through, which fails in its own
// ways until calm is called.
func EngineStormThrough(t testing.TB, table, through engine.Table, seed uint64, calm func()) {
	s := &storm{t: t, seed: seed, table: table, through: through}
	s.run(calm)
}

// run is the whole of it; after calm nothing fails any more and nothing is done late.
func (s *storm) run(calm func()) {
	r := rand.New(rand.NewPCG(s.seed, 1))
	s.ws, s.keys, s.opened = fmt.Sprintf("ws_storm%d", s.seed), 1+r.IntN(4), time.Unix(1_700_000_000, 0)
	for range 1 + r.IntN(3) {
		s.engines = append(s.engines, s.engine(r))
	}
	var clients sync.WaitGroup
	for c := range 2 + r.IntN(4) {
		mine := rand.New(rand.NewPCG(s.seed, uint64(100+c)))
		clients.Go(func() { s.client(mine, c) })
	}
	clients.Wait()
	calm()
	s.check()
}

// storm is one run.
type storm struct {
	t    testing.TB
	seed uint64
	// table is sound, and through is the same table for the engines; faulty is what through is, unless it fails by itself.
	table, through engine.Table
	faulty         *Faulty
	ws             string
	keys           int
	opened         time.Time

	mu      sync.Mutex
	engines []*engine.Engine
	answers []answer
}

// answer is what one attempt was told.
type answer struct {
	connection, key, text string
	out                   engine.Outcome
}

func (s *storm) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("seed %d: "+format, append([]any{s.seed}, args...)...)
}

// engine is one whose clock is off, and which remembers few keys or many.
func (s *storm) engine(r *rand.Rand) *engine.Engine {
	var mu sync.Mutex
	jitter := rand.New(rand.NewPCG(r.Uint64(), 2))
	return engine.New(s.through, engine.Options{
		Decide: stormRules, Keys: []int{1, 2, 5, 1000}[r.IntN(4)], Workspaces: 1 + r.IntN(2), SnapshotEvery: 1,
		Now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return s.opened.Add(time.Duration(jitter.Int64N(int64(time.Minute))))
		},
	})
}

// stormRules are the toy rules.
func stormRules(s *workspace.State, c workspace.Command) (workspace.Decision, *protocol.Error) {
	e := c.Draft
	e.IdempotencyKey, e.Actor = "", protocol.Actor{Kind: protocol.KindPerson, ID: c.By.ID}
	room := s.Rooms[e.SpaceID]
	switch data := e.Data.(type) {
	case *protocol.SpaceOpened: // a repeat is refused
		if room != nil {
			return workspace.Decision{}, protocol.Refuse(protocol.InvalidEvent, "%s is open", e.SpaceID)
		}
	case *protocol.WorkspaceRenamed: // a repeat has nothing to do
		if s.Name == data.Name {
			return workspace.Decision{}, nil
		}
	}
	d := workspace.Decision{Events: []protocol.Event{e}}
	if _, opens := e.Data.(*protocol.SpaceOpened); room == nil && !opens {
		d.Events, d.Primary = []protocol.Event{with(e, &protocol.SpaceOpened{}), e}, 1
	}
	for n := range c.Seed[0] % 3 { // and up to two more, behind it or before it
		said := &protocol.MessagePost{Text: fmt.Sprint(n)}
		if room == nil || c.Seed[1]%2 == 0 {
			d.Events = append(d.Events, with(e, said))
		} else {
			d.Events, d.Primary = slices.Insert(d.Events, 0, with(e, said)), d.Primary+1
		}
	}
	return d, nil
}

// with is an event as e, of other data.
func with(e protocol.Event, data protocol.Data) protocol.Event {
	e.Type, e.Data = data.EventType(), data
	return e
}

// draft is what is sent under a key; a free one comes in two wordings.
func (s *storm) draft(r *rand.Rand, key string, n int) (protocol.Event, string) {
	var data protocol.Data
	text := ""
	switch (uint64(n) + s.seed) % 3 {
	case 0:
		data = &protocol.SpaceOpened{Title: key}
	case 1:
		data = &protocol.WorkspaceRenamed{Name: key}
	default:
		text = []string{"one", "other"}[r.IntN(2)]
		data = &protocol.MessagePost{Text: text}
	}
	// Two keys stand for one room, so some are refused with good reason.
	return protocol.Event{Envelope: protocol.Envelope{Type: data.EventType(), SpaceID: fmt.Sprintf("spc_%d", n/2), IdempotencyKey: key}, Data: data}, text
}

// client sends a few commands, each until it is answered.
func (s *storm) client(r *rand.Rand, c int) {
	for n := range 2 + r.IntN(6) {
		i, key := r.IntN(s.keys), ""
		sender := fmt.Sprintf("usr_%d", r.IntN(2))
		if r.IntN(6) > 0 {
			key = fmt.Sprintf("key %d", i)
		}
		draft, text := s.draft(r, key, i)
		for try := 0; ; try++ {
			if try == 200 {
				s.errorf("no answer after %d tries", try)
				return
			}
			connection := fmt.Sprintf("%d.%d.%d", c, n, try)
			if s.send(r, draft, sender, connection, text) || key == "" { // without a key nothing may be sent twice
				break
			}
		}
	}
}

// send makes one attempt, by any engine, that may be given up at any time; it says whether it was answered.
func (s *storm) send(r *rand.Rand, draft protocol.Event, sender, connection, text string) bool {
	s.mu.Lock()
	i := r.IntN(len(s.engines))
	if r.IntN(20) == 0 {
		s.engines[i] = s.engine(r)
	}
	g := s.engines[i]
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.IntN(3) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Int64N(int64(30*time.Millisecond))))
		defer cancel()
	}
	key := draft.IdempotencyKey
	before := s.log()
	if r.IntN(4) == 0 {
		_ = g.Read(ctx, s.ws, func(*workspace.State) error { return nil })
	}
	if r.IntN(4) == 0 {
		_, _ = g.SnapshotIfDue(ctx, s.ws)
	}
	out, err := g.Do(ctx, s.ws, workspace.Command{
		By: workspace.Caller{Workspace: s.ws, Kind: protocol.KindPerson, ID: sender}, Draft: draft, Connection: connection,
	})
	var refusal *protocol.Error
	held := slices.ContainsFunc(before, func(c engine.Commit) bool { return key != "" && c.Sender == sender && c.Key == key })
	switch {
	case errors.As(err, &refusal):
		if held {
			s.errorf("%s: key %q of %s is in the log, and was refused: %v", connection, key, sender, refusal)
		}
		return true
	case err != nil:
		if s.faulty != nil && !errors.Is(err, engine.ErrBusy) && !errors.Is(err, ErrFault) {
			s.errorf("%s: neither an answer nor nobody's fault: %v", connection, err)
		}
		return false
	case out.NothingToDo():
		if held {
			s.errorf("%s: key %q of %s is in the log, and there was nothing to do", connection, key, sender)
		}
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, answer{connection, sender + " " + key, text, out})
	return true
}

// log reads the whole log from the sound table.
func (s *storm) log() []engine.Commit {
	var log []engine.Commit
	for next := int64(1); ; {
		page, err := s.table.Commits(context.Background(), s.ws, next, 1000)
		if err != nil {
			s.errorf("read log: %v", err)
			return log
		}
		page = slices.DeleteFunc(page, func(c engine.Commit) bool { return c.First < next })
		if len(page) == 0 {
			return log
		}
		log = append(log, page...)
		next = log[len(log)-1].Last() + 1
	}
}

func (s *storm) check() {
	log := s.log()
	next, ts := int64(1), time.Time{}
	byFirst, byKey, byConnection := map[int64]engine.Commit{}, map[string]bool{}, map[string]bool{}
	for _, c := range log {
		if c.First != next {
			s.errorf("a commit at %d, want one at %d", c.First, next)
		}
		if c.TS.Before(ts) {
			s.errorf("the commit at %d is of %v, before the one before it", c.First, c.TS)
		}
		if key := c.Sender + " " + c.Key; c.Key != "" {
			if byKey[key] {
				s.errorf("key %q is in the log twice", key)
			}
			byKey[key] = true
		}
		if byConnection[c.Connection] {
			s.errorf("attempt %s is in the log twice", c.Connection)
		}
		byConnection[c.Connection] = true
		byFirst[c.First] = c
		next, ts = c.Last()+1, c.TS
	}
	for _, a := range s.answers {
		s.checkAnswer(a, byFirst)
	}
	s.checkFold(next - 1)
	s.checkRooms(log)
}

// checkAnswer holds an answer against the log.
func (s *storm) checkAnswer(a answer, byFirst map[int64]engine.Commit) {
	c, ok := byFirst[a.out.Commit.First]
	if !ok || c.Nonce != a.out.Commit.Nonce {
		s.errorf("%s was told of a commit at %d that is not in the log", a.connection, a.out.Commit.First)
		return
	}
	ack := a.out.Ack()
	if c.Key != "" && c.Sender+" "+c.Key != a.key || ack.IdempotencyKey != c.Key || ack.Seq != c.First+int64(c.Primary) {
		s.errorf("%s with key %q got %+v, the log says %q at %d", a.connection, a.key, ack, c.Key, c.First)
	}
	if own := c.Connection == a.connection; own == ack.Duplicate {
		s.errorf("%s got %+v, and the commit is by %s", a.connection, ack, c.Connection)
	}
	if post, ok := a.out.Events[c.Primary].Data.(*protocol.MessagePost); ok && ack.Differs != (post.Text != a.text) {
		s.errorf("%s sent %q and got %+v, the log says %q", a.connection, a.text, ack, post.Text)
	}
}

// checkFold compares what each engine and a fresh one have folded, and what they fold for a seq within.
func (s *storm) checkFold(head int64) {
	ctx := context.Background()
	want, err := engine.New(s.table, engine.Options{Now: func() time.Time { return s.opened }}).StateAt(ctx, s.ws, head)
	if err != nil {
		s.errorf("fold the log: %v", err)
		return
	}
	for i, g := range s.engines {
		err := g.Read(ctx, s.ws, func(got *workspace.State) error {
			if diff := cmp.Diff(want, got); diff != "" {
				s.errorf("engine %d has folded another state (-log +engine):\n%s", i, diff)
			}
			return nil
		})
		if err != nil {
			s.errorf("engine %d: read: %v", i, err)
		}
	}
}

// checkRooms walks each room's lines by the index and compares them with the log's.
func (s *storm) checkRooms(log []engine.Commit) {
	want, last := map[string][]int64{}, map[string]int64{}
	for _, c := range slices.Backward(log) {
		events, err := c.Decode()
		if err != nil {
			s.errorf("commit at %d: %v", c.First, err)
		}
		held := map[string]bool{}
		for _, e := range events {
			for _, room := range workspace.LineRooms(e) {
				held[room] = true
				last[room] = max(last[room], e.Seq)
			}
		}
		for room := range held {
			want[room] = append(want[room], c.First)
		}
	}
	if s.faulty != nil {
		s.faulty.Set(Faults{Late: .5}) // the index is behind every other time
	}
	for room, commits := range want {
		var got []int64
		for line, tries := last[room], 0; line > 0 && tries < 1000; tries++ {
			page, err := s.engines[0].RoomCommits(context.Background(), s.ws, room, line, 3)
			if err != nil {
				continue // half of all reads fail
			}
			for _, c := range page {
				got, line = append(got, c.First), c.Prev[room]
			}
		}
		if diff := cmp.Diff(commits, got); diff != "" {
			s.errorf("room %s is read wrong (-log +read):\n%s", room, diff)
		}
	}
}
