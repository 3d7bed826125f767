package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// The server is killed with SIGKILL at random moments while people and harnesses talk in one room. What was acked is in the log once, the
// log has no hole, and every reader was handed it once and in order.
//
// CHIPS_KILLS says how often, CHIPS_SEED what to draw from, CHIPS_GATEWAY how the gateway behaves.
//
// covers: WRT-6, WRT-12, SUB-4, SUB-5
func TestKill(t *testing.T) {
	t.Parallel()
	kills, seed := setting(t, "CHIPS_KILLS", 5), setting(t, "CHIPS_SEED", rand.Uint64()>>1)
	t.Logf("CHIPS_KILLS=%d CHIPS_SEED=%d", kills, seed)
	k := newKilled(t, rand.New(rand.NewPCG(seed, 0)))

	var writers sync.WaitGroup
	stop, stopped := context.WithCancel(t.Context())
	for i, w := range k.writers {
		writers.Go(func() { k.write(stop, i, w) })
	}
	var readers sync.WaitGroup
	reading, stopReading := context.WithCancel(t.Context())
	defer stopReading()
	for _, r := range k.readers {
		readers.Go(func() { r.read(reading) })
	}
	for range kills {
		// Mostly after some messages more, now and then while it starts.
		k.awaitAcks(k.rand.IntN(200), time.Duration(k.rand.IntN(3000))*time.Millisecond)
		k.server.kill()
		k.server = launch(t, k.data, k.env, "--addr", k.addr)
		if k.rand.IntN(4) > 0 {
			k.server.await()
			for _, r := range k.readers {
				if k.rand.IntN(4) == 0 {
					r.restart()
				}
			}
		}
	}
	stopped()
	writers.Wait() // which takes a server that answers
	log := k.checkLog()
	for i, r := range k.readers {
		eventually(t, fmt.Sprintf("reader %d at the head", i), func() bool { return r.last() >= log[len(log)-1].Seq })
	}
	stopReading()
	readers.Wait()
	k.checkReaders(log)
}

func setting(t *testing.T, name string, otherwise uint64) uint64 {
	v := os.Getenv(name)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// killed is a server that is killed, and what is done with it meanwhile.
type killed struct {
	t       *testing.T
	rand    *rand.Rand
	server  *server
	data    string
	addr    string
	env     []string
	url     string
	owner   client.API
	room    string
	head    int64 // of the log before the first message
	writers []*client.Client
	readers []*reader

	mu    sync.Mutex
	acked map[string]int64 // key -> seq
}

// newKilled makes a room of four people and four harnesses, who write, and of whom two each read on a socket of their own.
func newKilled(t *testing.T, r *rand.Rand) *killed {
	k := &killed{t: t, rand: r, data: filepath.Join(t.TempDir(), "data"), acked: map[string]int64{},
		env: []string{"CHIPS_ADMIN_TOKEN=" + adminToken, "CHIPS_LOG_LEVEL=warn", "CHIPS_GATEWAY=" + cmp.Or(os.Getenv("CHIPS_GATEWAY"), "ordered")}}
	k.server = launch(t, k.data, k.env, "--addr", "127.0.0.1:0")
	k.url = k.server.await()
	k.addr = strings.TrimPrefix(k.url, "http://")
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := as(k.url, adminToken).CreateWorkspace(ctx, "Kill", "Owner")
	must(err)
	k.owner = as(k.url, w.Key)
	k.room, err = k.owner.OpenRoom(ctx, "Room")
	must(err)
	tokens := []string{w.Key}
	for i := range 3 {
		p, err := k.owner.AddPerson(ctx, fmt.Sprintf("Person %d", i), protocol.Member)
		must(err)
		must(k.owner.AddMember(ctx, k.room, p.PersonID))
		tokens = append(tokens, p.Key)
	}
	for i := range 4 {
		h, err := k.owner.AddHarness(ctx, fmt.Sprintf("Harness %d", i))
		must(err)
		must(k.owner.AddMember(ctx, k.room, h.HarnessID))
		tokens = append(tokens, h.Token)
	}
	page, err := k.owner.Events(ctx, client.EventsQuery{Since: 1<<53 - 1})
	must(err)
	k.head = page.LastSeq
	for i, token := range tokens {
		cfg := client.Config{URL: k.url, Credential: client.Bearer(token), MaxBackoff: 200 * time.Millisecond}
		writes := cfg
		writes.WriteOnly = true
		k.writers = append(k.writers, client.New(writes))
		if i%2 == 0 {
			k.readers = append(k.readers, &reader{cfg: cfg, since: k.head, again: make(chan struct{}, 1)})
		}
	}
	return k
}

// write posts one message after the other until it is stopped, and then waits for its last answer.
func (k *killed) write(stop context.Context, number int, c *client.Client) {
	life, end := context.WithCancel(context.Background())
	defer end()
	go func() { _ = c.Run(life) }()
	for i := 0; stop.Err() == nil; i++ {
		key := fmt.Sprintf("w%d-%06d", number, i)
		limit, cancel := context.WithTimeout(life, time.Minute)
		ack, err := c.Post(limit, client.Draft{Key: key, SpaceID: k.room, Data: &protocol.MessagePost{Text: key}})
		cancel()
		if err != nil {
			k.t.Errorf("%s: %v", key, err)
			return
		}
		k.mu.Lock()
		k.acked[key] = ack.Seq
		k.mu.Unlock()
	}
}

// awaitAcks waits for so many acks more, but no longer than limit.
func (k *killed) awaitAcks(n int, limit time.Duration) {
	count := func() int {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.acked)
	}
	over := time.After(limit)
	for until := count() + n; count() < until; {
		select {
		case <-over:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// reader is a participant who reads, and at times starts again from what it was handed last.
type reader struct {
	cfg   client.Config
	again chan struct{}

	mu      sync.Mutex
	since   int64
	got     []handed
	repeats int64 // what its clients were sent twice and did not pass on
}

// handed is what a reader was handed.
type handed struct {
	Seq  int64
	Text string
}

func (r *reader) read(ctx context.Context) {
	for ctx.Err() == nil {
		cfg := r.cfg
		r.mu.Lock()
		since := r.since
		r.mu.Unlock()
		cfg.Since = &since
		cfg.OnEvent = func(_ context.Context, e client.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.since = e.Seq
			r.got = append(r.got, handed{e.Seq, textOf(e.Raw)})
		}
		life, end := context.WithCancel(ctx)
		ended := make(chan struct{})
		c := client.New(cfg)
		go func() { defer close(ended); _ = c.Run(life) }()
		select {
		case <-ctx.Done():
		case <-r.again:
		}
		end()
		<-ended
		r.mu.Lock()
		r.repeats += c.Repeats()
		r.mu.Unlock()
	}
}

func (r *reader) restart() {
	select {
	case r.again <- struct{}{}:
	default:
	}
}

func (r *reader) last() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since
}

// textOf is the text of any kind of message.
func textOf(raw []byte) string {
	var m struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &m)
	return m.Text
}

// checkLog reads the log and compares it with what was acked.
func (k *killed) checkLog() []handed {
	t := k.t
	var log []handed
	for since := k.head; ; {
		page, err := k.owner.Events(t.Context(), client.EventsQuery{Since: since, Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range page.Events {
			var e protocol.Envelope
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			log = append(log, handed{e.Seq, textOf(raw)})
		}
		if len(page.Events) == 0 {
			break
		}
		since = page.LastSeq
	}
	t.Logf("%d messages in the log", len(log))
	if len(log) < 50 {
		t.Errorf("%d messages are too few to say anything", len(log))
	}

	at := map[string]int64{}
	latest := map[string]string{} // writer -> its newest key
	for i, e := range log {
		if e.Seq != k.head+int64(i)+1 {
			t.Fatalf("seq %d follows %d", e.Seq, k.head+int64(i))
		}
		if seq, twice := at[e.Text]; twice {
			t.Errorf("%s is in the log at %d and at %d", e.Text, seq, e.Seq)
		}
		at[e.Text] = e.Seq
		writer, _, _ := strings.Cut(e.Text, "-")
		if e.Text < latest[writer] {
			t.Errorf("%s comes after %s", e.Text, latest[writer])
		}
		latest[writer] = e.Text
	}
	for key, seq := range k.acked {
		if at[key] != seq {
			t.Errorf("%s was acked at %d and is at %d", key, seq, at[key])
		}
	}
	if len(k.acked) != len(log) {
		t.Errorf("%d were acked, %d are in the log", len(k.acked), len(log))
	}

	return log
}

// checkReaders compares what every reader was handed with the log.
func (k *killed) checkReaders(log []handed) {
	for i, r := range k.readers {
		if !slices.Equal(r.got, log) {
			k.t.Errorf("reader %d was handed %d events, which are not the log's %d: first difference at %s", i, len(r.got), len(log), difference(r.got, log))
		}
		if r.repeats > 0 {
			k.t.Errorf("reader %d was sent %d events twice", i, r.repeats)
		}
	}
}

func difference(got, want []handed) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("%d: got %v, want %v", i, got[i], want[i])
		}
	}
	return "the end"
}
