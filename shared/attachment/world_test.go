package attachment

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// memory is a table's rows and a store of bytes in memory. Before each call step is asked, which may hold it up.
type memory struct {
	step func()

	mu    sync.Mutex
	rows  map[[2]string]engine.Row
	blobs map[string][]byte
	// deleted are the keys that were ever deleted while there were bytes.
	deleted map[string]bool
}

func newMemory() *memory {
	return &memory{step: func() {}, rows: map[[2]string]engine.Row{}, blobs: map[string][]byte{}, deleted: map[string]bool{}}
}

func (m *memory) lock() func() {
	m.step()
	m.mu.Lock()
	return m.mu.Unlock
}

func (m *memory) Get(_ context.Context, pk, sk string) (engine.Row, bool, error) {
	defer m.lock()()
	row, ok := m.rows[[2]string{pk, sk}]
	return row, ok, nil
}

func (m *memory) Put(_ context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	defer m.lock()()
	old := m.rows[[2]string{row.PK, row.SK}]
	if cond != engine.Always && cond.Rev() != old.Rev {
		return 0, engine.ErrCondition
	}
	row.Rev = old.Rev + 1
	m.rows[[2]string{row.PK, row.SK}] = row
	return row.Rev, nil
}

func (m *memory) Delete(_ context.Context, pk, sk string, cond engine.Cond) (engine.Row, error) {
	defer m.lock()()
	old := m.rows[[2]string{pk, sk}]
	if cond != engine.Always && cond.Rev() != old.Rev {
		return engine.Row{}, engine.ErrCondition
	}
	delete(m.rows, [2]string{pk, sk})
	return old, nil
}

func (m *memory) Query(_ context.Context, pk, after string, limit int) ([]engine.Row, error) {
	defer m.lock()()
	var rows []engine.Row
	for key, row := range m.rows {
		if key[0] == pk && key[1] > after && len(rows) < limit { // in no order: only whether there is one is asked
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (m *memory) Glance(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	return m.Query(ctx, pk, after, limit)
}

func (m *memory) Due(_ context.Context, shard int, before time.Time, _ int) ([]engine.Row, error) {
	defer m.lock()()
	var rows []engine.Row
	for key, row := range m.rows {
		if !row.Due.IsZero() && !row.Due.After(before) && engine.DueShard(key[0], key[1]) == shard {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// store is the bytes of a memory.
type store struct{ *memory }

func (s store) Put(_ context.Context, key string, body []byte) error {
	defer s.lock()()
	s.blobs[key] = body
	return nil
}

func (s store) Get(_ context.Context, key string, _ int64) ([]byte, error) {
	defer s.lock()()
	body, ok := s.blobs[key]
	if !ok {
		return nil, ErrNoBlob
	}
	return body, nil
}

func (s store) Delete(_ context.Context, key string) error {
	defer s.lock()()
	if _, ok := s.blobs[key]; ok {
		s.deleted[key] = true
	}
	delete(s.blobs, key)
	return nil
}

// ledger is a log that answers what tests put into it.
type ledger struct {
	mu      sync.Mutex
	state   *workspace.State
	commits map[string]engine.Commit
}

func (l *ledger) Find(_ context.Context, _, sender, key string) (engine.Commit, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.commits[sender+" "+key]
	return c, ok, nil
}

func (l *ledger) Event(context.Context, string, string) (protocol.Event, bool, error) {
	return protocol.Event{}, false, nil
}

func (l *ledger) RoomCommits(context.Context, string, string, int64, int) ([]engine.Commit, error) {
	return nil, nil
}

func (l *ledger) Read(_ context.Context, _ string, fn func(*workspace.State) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fn(l.state)
}

// everybody stands for their credential, whatever it is.
type everybody struct{ caller workspace.Caller }

func (e everybody) Stands(context.Context, string) (workspace.Caller, bool, error) {
	return e.caller, true, nil
}

const (
	ws    = "ws_01K4ZQPX000000000000000001"
	arjun = "usr_01K4ZQPX000000000000000001"
	priya = "usr_01K4ZQPX000000000000000002"
	room  = "spc_01K4ZQPX000000000000000001"
)

// world is a Service over a memory, at a time of its own. Arjun and Priya are in the room.
type world struct {
	*Service
	memory *memory
	log    *ledger
	now    time.Time
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{memory: newMemory(), now: time.Date(2026, 9, 2, 14, 0, 0, 0, time.UTC)}
	st := workspace.New(ws)
	for i, d := range []protocol.Data{
		&protocol.PersonAdded{PersonID: arjun, Name: "Arjun", Role: protocol.Owner}, &protocol.PersonAdded{PersonID: priya, Name: "Priya", Role: protocol.Member},
		&protocol.SpaceOpened{ParticipantIDs: []string{arjun, priya}},
	} {
		e := protocol.Event{Envelope: protocol.Envelope{Seq: int64(i + 1), Type: d.EventType()}, Data: d}
		if d.EventType() == "space.opened" {
			e.SpaceID = room
		}
		workspace.Evolve(st, e)
	}
	w.log = &ledger{state: st, commits: map[string]engine.Commit{}}
	w.Service = New(Config{
		Rows: w.memory, Log: w.log, Blobs: store{w.memory}, Credentials: everybody{by(arjun)},
		URL: func(context.Context) (string, error) { return "https://chips.example", nil },
		Now: func() time.Time { return w.now }, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	return w
}

func by(id string) workspace.Caller {
	return workspace.Caller{Workspace: ws, Kind: protocol.KindPerson, ID: id, Credential: "key_01K4ZQPX000000000000000001"}
}

// sweep does what is due.
func (w *world) sweep(t testing.TB) {
	t.Helper()
	for shard := range engine.DueShards {
		rows, _ := w.memory.Due(t.Context(), shard, w.now, 100)
		for _, row := range rows {
			handle := w.SweepUpload
			if row.PK[:2] == BytesRows {
				handle = w.SweepBytes
			}
			if err := handle(t.Context(), row); err != nil {
				t.Errorf("sweep %s: %v", row.PK, err)
			}
		}
	}
}

func (w *world) upload(t testing.TB, name, content string) protocol.Attachment {
	t.Helper()
	file, err := w.Upload(t.Context(), by(arjun), name, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// draft is a post of uploads under a key.
func draft(key string, ids ...string) workspace.Command {
	e := workspace.DraftIn(room, &protocol.MessagePost{Text: "here", UploadIDs: ids})
	e.IdempotencyKey = key
	return workspace.Command{By: by(arjun), Draft: e}
}

// commits puts a post of a file into the log, under a key, and says what it is.
func (w *world) commits(t testing.TB, key string, file protocol.Attachment) protocol.Event {
	t.Helper()
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	post := protocol.Event{
		Envelope: protocol.Envelope{Type: "message.post", SpaceID: room, Actor: protocol.Actor{Kind: protocol.KindPerson, ID: arjun}},
		Data:     &protocol.MessagePost{Text: "here", UploadIDs: []string{file.AttachmentID}, Attachments: []protocol.Attachment{file}, AddressedTo: []string{}},
	}
	raw, err := post.AppendStored(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := engine.Commit{Workspace: ws, First: w.log.state.Seq + 1, TS: w.now, Events: [][]byte{raw}, Sender: arjun, Key: key}
	_, _ = rand.Read(c.Nonce[:])
	events, err := c.Decode()
	if err != nil {
		t.Fatal(err)
	}
	w.log.commits[arjun+" "+key] = c
	// The room forgets its files, so that only what was noted tells where they were posted.
	workspace.Evolve(w.log.state, events[0])
	w.log.state.Rooms[room].Files = nil
	return events[0]
}

// deletes has the log say that a message was deleted.
func (w *world) deletes(e protocol.Event) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	d := &protocol.MessageDeleted{MessageID: protocol.MessageID(e.ID)}
	workspace.Evolve(w.log.state, protocol.Event{Envelope: protocol.Envelope{Type: d.EventType(), SpaceID: room, Seq: w.log.state.Seq + 1}, Data: d})
}

// read says whether somebody gets the file's URL, and what it answers them.
func (w *world) read(t testing.TB, who, id string) string {
	t.Helper()
	w.c.Credentials = everybody{by(who)}
	link, _, err := w.URL(t.Context(), by(who), id)
	if err != nil {
		return fmt.Sprint(err)
	}
	c, err := w.openLink(t, link)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(c.Body)
}
