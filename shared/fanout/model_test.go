package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/fanout"
	"github.com/chipschat/chips-aws/shared/porttest"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// The model is models/fanout.py on the real code: writers append, rings come at least once, in any order, with more or less of the log;
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

// Post delivers to a socket, or does something else.
func (m *model) Post(ctx context.Context, id string, frame []byte) error {
	if m.wait(20 * time.Millisecond); m.restless {
		m.wait(100 * time.Millisecond)
	}
	if m.fault("throttled", .05) {
		return session.ErrThrottled
	}
	if m.fault("push lost", .02) {
		return errors.New("push: lost")
	}
	unknown := m.fault("push answer lost", .02)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sockets[id]
	if s == nil || !s.open {
		return session.ErrGone
	}
	for _, seq := range seqs(m, frame) {
		s.client.see(m, seq)
	}
	if unknown {
		return errors.New("push: answer lost")
	}
	return ctx.Err()
}

// seqs are those of the events in a frame.
func seqs(m *model, frame []byte) []int64 {
	var f struct {
		Frame  string           `json:"frame"`
		Event  jsontext.Value   `json:"event"`
		Events []jsontext.Value `json:"events"`
	}
	if err := json.Unmarshal(frame, &f); err != nil {
		m.violation("frame %s: %v", frame, err)
	}
	if f.Frame == "event" {
		f.Events = append(f.Events, f.Event)
	}
	var list []int64
	for _, raw := range f.Events {
		var e struct {
			Seq int64 `json:"seq"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			m.violation("event %s: %v", raw, err)
		}
		list = append(list, e.Seq)
	}
	return list
}

// Close closes a socket, or says it could not be told.
func (m *model) Close(_ context.Context, id string, _ int, _ string, _ []byte) error {
	m.wait(10 * time.Millisecond)
	if m.fault("close lost", .1) {
		return errors.New("close: lost")
	}
	m.hangUp(id)
	if m.fault("close answer lost", .1) {
		return errors.New("close: answer lost")
	}
	return nil
}

func (m *model) hangUp(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sockets[id]; s != nil && s.open {
		s.open = false
		close(s.closed)
	}
}

// process is one function's environment: when it dies, nothing it does has an effect any more, and it learns of nothing.
type process struct {
	m *model
	p float64

	mu   sync.Mutex
	dead bool
}

var errDead = errors.New("the process is dead")

// step is one call to the outside: do is done, unless the process is dead by then.
func (p *process) step(do func() error) error {
	if p.dying("died before a call") {
		return errDead
	}
	err := do()
	if p.dying("died after a call") {
		return errDead
	}
	return err
}

func (p *process) dying(what string) bool {
	die := p.m.fault(what, p.p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = p.dead || die
	return p.dead
}

// mortalTable and mortalPush are a table and a push as a process sees them.
type mortalTable struct {
	engine.Table
	p *process
	// ofFanout says that cursors are written for fan-out.
	ofFanout bool
}

func (t mortalTable) Commits(ctx context.Context, ws string, from int64, limit int) (out []engine.Commit, err error) {
	err = t.p.step(func() error {
		out, err = t.Table.Commits(ctx, ws, from, min(limit, 1+t.p.m.below(8))) // short pages
		return err
	})
	return out, err
}

func (t mortalTable) Get(ctx context.Context, pk, sk string) (out engine.Row, ok bool, err error) {
	err = t.p.step(func() error { out, ok, err = t.Table.Get(ctx, pk, sk); return err })
	return out, ok, err
}

func (t mortalTable) Put(ctx context.Context, row engine.Row, cond engine.Cond) (rev int64, err error) {
	if t.p.m.mutant.noCAS {
		cond = engine.Always
	}
	if t.p.m.mutant.noTouch && !t.ofFanout && strings.HasPrefix(row.PK, "F#") {
		return cond.Rev(), nil
	}
	if t.p.m.mutant.noSettle {
		row.Body = prior.ReplaceAll(row.Body, nil)
	}
	err = t.p.step(func() error { rev, err = t.Table.Put(ctx, row, cond); return err })
	return rev, err
}

var prior = regexp.MustCompile(`,"prior":"[a-z]+"`)

func (t mortalTable) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (out engine.Row, err error) {
	err = t.p.step(func() error { out, err = t.Table.Delete(ctx, pk, sk, cond); return err })
	return out, err
}

func (t mortalTable) Query(ctx context.Context, pk, after string, limit int) (out []engine.Row, err error) {
	err = t.p.step(func() error { out, err = t.Table.Query(ctx, pk, after, limit); return err })
	return out, err
}

type mortalPush struct{ p *process }

func (t mortalPush) Post(ctx context.Context, id string, frame []byte) error {
	return t.p.step(func() error { return t.p.m.Post(ctx, id, frame) })
}

func (t mortalPush) Close(ctx context.Context, id string, code int, reason string, last []byte) error {
	return t.p.step(func() error { return t.p.m.Close(ctx, id, code, reason, last) })
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

type mutantConnections struct {
	*session.Sessions
	m *model
}

func (c mutantConnections) MarkBehind(ctx context.Context, conn *session.Connection, n int64) error {
	if c.m.mutant.noMark {
		return nil
	}
	return c.Sessions.MarkBehind(ctx, conn, n)
}

func (c mutantConnections) Cut(ctx context.Context, ws, id string, code int, reason string, last []byte) error {
	if c.m.mutant.noCut {
		return nil
	}
	return c.Sessions.Cut(ctx, ws, id, code, reason, last)
}

type mutantRows struct {
	engine.Rows
	m *model
}

func (r mutantRows) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	var c session.Cursor
	if r.m.mutant.noClaim && json.Unmarshal(row.Body, &c) == nil && c.Claimed > c.Done {
		return cond.Rev(), nil
	}
	return r.Rows.Put(ctx, row, cond)
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

// run is a client's life: it connects, subscribes from what it saw last, and now and then subscribes again or hangs up.
func (c *client) run(m *model, name string, done <-chan struct{}) {
	for n := 0; ; n++ {
		s := &socket{id: fmt.Sprintf("%s-%d", name, n), client: c, closed: make(chan struct{}), open: true}
		m.mu.Lock()
		m.sockets[s.id] = s
		m.mu.Unlock()
		if !c.live(m, s, done) {
			return
		}
		m.hangUp(s.id)
		if m.chance(.5) { // $disconnect is best effort
			_ = m.sessions(0).Disconnect(context.Background(), s.id, c.caller)
		}
		m.wait(100 * time.Millisecond)
	}
}

// live is one connection's life; false when the test is over.
func (c *client) live(m *model, s *socket, done <-chan struct{}) bool {
	ctx := context.Background()
	p := m.sessions(.005)
	if err := p.Connect(ctx, s.id, c.caller); err != nil {
		return true
	}
	hello := `{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"model","version":"1"}}`
	if c.batch {
		hello = strings.TrimSuffix(hello, "}") + `,"accepts":["events"]}`
	}
	if reply, err := p.Frame(ctx, s.id, c.caller, []byte(hello)); err != nil || reply.Close != 0 {
		return true
	}
	for first := true; ; first = false {
		m.mu.Lock()
		since := c.last
		if first {
			c.again = nil
		} else {
			since = max(m.start, since-m.random.Int64N(6))
			c.again = append(c.again, since)
		}
		m.mu.Unlock()
		if !first {
			m.seenNote("subscribed again")
		}
		frame := fmt.Sprintf(`{"frame":"subscribe","workspace_id":%q,"since":%d}`, m.world.ws, since)
		if reply, err := m.sessions(.005).Frame(ctx, s.id, c.caller, []byte(frame)); err != nil || reply.Close != 0 {
			return true
		}
		select {
		case <-done:
			return false
		case <-s.closed:
			return true
		case <-time.After(time.Duration(m.below(int(m.pace * 10)))):
		}
		for first := true; ; first = false {
			if m.fault("hung up", .2) {
				return true
			}
			if m.restless && !m.isCalm() || m.fault("again", .5) && first {
				break
			}
			select {
			case <-done:
				return false
			case <-s.closed:
				return true
			case <-time.After(m.pace * 4):
			}
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
					_ = m.sessions(0).Sweep(context.Background())
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
			return !slices.ContainsFunc(clients, func(c *client) bool { return c.last != head })
		}
		for range 300 {
			if brought() && len(m.rings) == 0 {
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
