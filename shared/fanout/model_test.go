package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/fanout"
	"github.com/chipschat/chips-aws/shared/porttest"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/sweep"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// The model runs the real code: writers append, rings come at least once, in any order, with more or less of the log;
// fan-out and replays die half-way; pushes are throttled, lost, or delivered with their answer lost; rows fail in every way; clients
// subscribe, subscribe again on the same socket, drop and come back with since. Every event of the log is for every client, so whatever
// happens each must see the log in order, from where it said, without a hole and nothing twice.

// mutant leaves a step of the protocol out, to show that the model sees it.
type mutant struct {
	noMark   bool // fan-out does not write behind
	noCut    bool // a range that was cut short is passed over, and so is a push of unknown outcome
	noClaim  bool // the cursor is not written before sending
	noSettle bool // a second subscribe does not wait for the first to come to rest
	noTouch  bool // it waits, but lets a range be claimed by what was read before it
	noCAS    bool // rows are written whatever their revision is
}

type model struct {
	t      *testing.T
	world  *world
	faulty *porttest.Faulty
	mutant mutant
	// start is the seq that all clients have seen at first, and pace how long the writers wait at most.
	start int64
	pace  time.Duration
	// restless clients subscribe again all the time, and pushes to them are slow.
	restless bool

	mu      sync.Mutex
	random  *rand.Rand
	calm    bool
	sockets map[string]*socket
	rings   []ring
	bad     []string
	seen    map[string]int
}

// ring is a doorbell's call that has to be made, with what it carries.
type ring struct {
	n       int64
	commits []engine.Commit
}

// socket is an open connection as the transport has it.
type socket struct {
	id     string
	client *client
	closed chan struct{}
	open   bool
}

// client is a person's or a harness's program: what it saw last, and what the stream may show next.
type client struct {
	caller workspace.Caller
	batch  bool
	last   int64
	// again are the sinces of later subscribes on this socket, oldest first, whose replays have not begun to arrive.
	again []int64
}

func (m *model) chance(p float64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.random.Float64() < p
}

// fault is chance, but never once the model has calmed down.
func (m *model) fault(what string, p float64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calm || m.random.Float64() >= p {
		return false
	}
	m.seen[what]++
	return true
}

func (m *model) isCalm() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calm
}

func (m *model) below(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.random.IntN(n)
}

func (m *model) wait(most time.Duration) {
	time.Sleep(time.Duration(m.below(int(most))) + 1)
}

func (m *model) violation(format string, args ...any) {
	m.bad = append(m.bad, fmt.Sprintf(format, args...))
}

// see is a client being shown an event. The lock is held.
func (c *client) see(m *model, seq int64) {
	i := slices.Index(c.again, seq-1)
	switch {
	case seq == c.last+1:
	case i >= 0: // a replay that it asked for once more begins, and nothing of those before comes any more
		c.again = c.again[i+1:]
	default:
		m.violation("%s at %d is sent %d (asked again from %v)", c.caller.Kind, c.last, seq, c.again)
	}
	c.last = seq
}

// sessions are a process's; it dies now and then.
func (m *model) sessions(p float64) *session.Sessions {
	proc := &process{m: m, p: p}
	table := mortalTable{m.faulty, proc, false}
	return session.New(session.Config{
		Engine: engine.New(table, engine.Options{Now: time.Now}), Rows: table, Push: mortalPush{proc}, Replays: m,
		Limits: session.Limits{EventsPerFrame: 3, Stall: 20 * time.Second, HandOver: 200 * time.Millisecond},
		Now:    time.Now, Log: quiet,
	})
}

// Start runs a replay in a process of its own, now and then twice, and with little time.
func (m *model) Start(_ context.Context, job session.Job) error {
	for range 1 + m.below(8)/7 {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond+time.Duration(m.below(int(2*time.Second))))
			defer cancel()
			_ = m.sessions(.01).Replay(ctx, job)
		}()
	}
	return nil
}

// fanout is a process that is rung until it dies.
func (m *model) fanout() *fanout.Fanout {
	proc := &process{m: m, p: .01}
	table := mortalTable{m.faulty, proc, true}
	e := engine.New(table, engine.Options{Now: time.Now, SnapshotEvery: 10})
	conns := session.New(session.Config{Engine: e, Rows: table, Push: mortalPush{proc}, Replays: m, Now: time.Now, Log: quiet})
	return fanout.New(fanout.Config{
		Log: e, Connections: mutantConnections{conns, m}, Rows: mutantRows{table, m}, Push: mortalPush{proc}, Now: time.Now, Logger: quiet,
	})
}

// write appends an event and lets it ring.
func (m *model) write(i int) {
	by := []workspace.Caller{m.world.arjun, m.world.priya, m.world.scout}[m.below(3)]
	out := m.world.say(by, fmt.Sprint("message ", i))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rings = append(m.rings, ring{out.Commit.Last(), []engine.Commit{out.Commit}})
}

// ringOnce makes a call that waits, mostly the oldest, and says whether there was one. It stays to be made again when it fails, and
// now and then though it went well.
func (m *model) ringOnce(f *fanout.Fanout) (some bool, err error) {
	m.mu.Lock()
	if len(m.rings) == 0 {
		m.mu.Unlock()
		return false, nil
	}
	i := 0
	if m.random.Float64() < .1 {
		i = m.random.IntN(len(m.rings))
	}
	r := m.rings[i]
	m.rings = slices.Delete(m.rings, i, i+1)
	commits := slices.Clone(r.commits)
	for len(m.rings) > i && m.random.Float64() < .4 { // a batch
		commits = append(commits, m.rings[i].commits...)
		r.n = max(r.n, m.rings[i].n)
		m.rings = slices.Delete(m.rings, i, i+1)
	}
	keep := commits
	if m.random.Float64() < .3 {
		m.random.Shuffle(len(commits), func(i, j int) { commits[i], commits[j] = commits[j], commits[i] })
	}
	if m.random.Float64() < .2 { // only the last is carried, or one twice
		commits = []engine.Commit{slices.MaxFunc(commits, func(a, b engine.Commit) int { return int(a.First - b.First) })}
		commits = append(commits, commits[0])
	}
	m.mu.Unlock()
	err = f.Ring(context.Background(), m.world.ws, commits)
	if err != nil || m.fault("rung twice", .05) {
		m.mu.Lock()
		m.rings = append([]ring{{r.n, keep}}, m.rings...)
		m.mu.Unlock()
	}
	return true, err
}

// bell rings until the test is over; what dies is replaced.
func (m *model) bell(done <-chan struct{}) {
	f := m.fanout()
	for {
		some, err := m.ringOnce(f)
		if err != nil && errors.Is(err, errDead) {
			f = m.fanout()
		}
		if !some || err != nil {
			m.wait(30 * time.Millisecond)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

func (m *model) seenNote(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[what]++
}

// runModel plays one seed and answers what was wrong, and what happened.
func runModel(t *testing.T, seed uint64, mu mutant) (bad []string, seen map[string]int) {
	synctest.Test(t, func(t *testing.T) {
		table := open(t)
		m := &model{
			t: t, random: rand.New(rand.NewPCG(seed, 7)), mutant: mu, sockets: map[string]*socket{}, seen: map[string]int{},
			faulty: porttest.NewFaulty(table, seed, porttest.Faults{
				LostReply: .01, Late: .01, Lost: .01, Throttled: .01, Slow: .3, Delay: 15 * time.Millisecond,
			}),
		}
		m.world = newWorld(t, engine.New(table, engine.Options{Now: time.Now}))
		m.start = m.world.head()
		m.pace = []time.Duration{20, 60, 250}[m.below(3)] * time.Millisecond
		m.restless = m.chance(.3)
		done := make(chan struct{})
		var all sync.WaitGroup
		clients := []*client{
			{caller: m.world.arjun, last: m.start},
			{caller: m.world.priya, last: m.start, batch: true},
			{caller: m.world.scout, last: m.start, batch: true},
		}
		for i, c := range clients {
			all.Go(func() { c.run(m, fmt.Sprint("c", i), done) })
		}
		bells := 1 + m.below(2) // the shard's one reader; a queue may ring beside it
		if m.restless {
			bells = 2
		}
		for range bells {
			all.Go(func() { m.bell(done) })
		}
		all.Go(func() { // the sweep
			for {
				select {
				case <-done:
					return
				case <-time.After(5 * time.Second):
					_ = sweep.New(sweep.Config{
						Rows: m.faulty, Due: map[string]sweep.Handler{"X#": m.sessions(0).Overdue}, Now: time.Now, Log: quiet,
					}).Run(context.Background())
				}
			}
		})
		for i := range 15 + m.below(40) {
			m.write(i)
			m.wait(m.pace)
		}
		m.mu.Lock()
		m.calm = true
		m.mu.Unlock()
		m.faulty.Set(porttest.Faults{})
		m.faulty.Release(context.Background())
		head := m.world.head()
		brought := func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return len(m.rings) == 0 && !slices.ContainsFunc(clients, func(c *client) bool { return c.last != head })
		}
		for range 300 {
			if brought() {
				break
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Minute) // what is still under way arrives
		close(done)
		all.Wait()
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, c := range clients {
			if c.last != head {
				m.violation("%s ends at %d of %d", c.caller.Kind, c.last, head)
			}
		}
		bad, seen = m.bad, m.seen
		for fault, n := range m.faulty.Seen() {
			seen[fault] += n
		}
	})
	return bad, seen
}

// modelRuns is how many seeds are played: CHIPS_MODEL_RUNS of them for a soak.
func modelRuns() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("CHIPS_MODEL_RUNS"), 10, 64); err == nil {
		return n
	}
	return 60
}

// covers: SUB-2, SUB-4, SUB-5, SUB-6, SUB-8, KEEP-5
func TestFanoutModel(t *testing.T) {
	seen := map[string]int{}
	for seed := range modelRuns() {
		bad, saw := runModel(t, seed, mutant{})
		for what, n := range saw {
			seen[what] += n
		}
		if len(bad) > 0 {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(bad, "\n"))
		}
	}
	t.Log(seen)
}

// Each step left out is seen, so the model tells right from wrong.
func TestFanoutModelSeesWhatIsLeftOut(t *testing.T) {
	mutants := map[string]mutant{
		"behind": {noMark: true}, "the cut": {noCut: true}, "the claim": {noClaim: true}, "settling": {noSettle: true},
		"revisions": {noCAS: true},
	}
	if modelRuns() > 1000 { // a race so narrow that some hundred runs miss it
		mutants["the touch"] = mutant{noTouch: true}
	}
	for name, mu := range mutants {
		t.Run(name, func(t *testing.T) {
			const most = 2000
			for seed := range uint64(most) {
				if bad, _ := runModel(t, seed, mu); len(bad) > 0 {
					t.Logf("seed %d: %s", seed, bad[0])
					return
				}
			}
			t.Errorf("%s can be left out and %d runs see nothing", name, most)
		})
	}
}
