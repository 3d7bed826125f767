package attachment_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/sweep"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// dying are rows that are asked so many times more before whoever asks is dead.
type dying struct {
	engine.Rows
	mu   sync.Mutex
	left int
}

var errDead = errors.New("dead")

func (d *dying) call() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return errDead
	}
	d.left--
	return nil
}

func (d *dying) lives(calls int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left = calls
}

func (d *dying) Get(ctx context.Context, pk, sk string) (engine.Row, bool, error) {
	if err := d.call(); err != nil {
		return engine.Row{}, false, err
	}
	return d.Rows.Get(ctx, pk, sk)
}

func (d *dying) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	if err := d.call(); err != nil {
		return 0, err
	}
	return d.Rows.Put(ctx, row, cond)
}

func (d *dying) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (engine.Row, error) {
	if err := d.call(); err != nil {
		return engine.Row{}, err
	}
	return d.Rows.Delete(ctx, pk, sk, cond)
}

// house is a workspace on the real engine and a folder of bytes, with its sweep. Arjun owns it.
type house struct {
	t       *testing.T
	dir     string
	rows    *dying
	files   *attachment.Service
	engine  attachment.Engine
	sweeper *sweep.Sweep
	now     time.Time
	ws      string
	arjun   workspace.Caller
	keys    int
}

func (h *house) Stands(context.Context, string) (workspace.Caller, bool, error) {
	return h.arjun, true, nil
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "chips")
	if err != nil {
		dir = t.TempDir()
	}
	table, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = table.Close()
		_ = os.RemoveAll(dir)
	})
	h := &house{t: t, dir: filepath.Join(dir, "bytes"), rows: &dying{Rows: table, left: -1}, now: time.Date(2026, 9, 2, 14, 0, 0, 0, time.UTC)}
	blobs, err := embedded.OpenBlobs(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return h.now }
	log := slog.New(slog.DiscardHandler)
	core := engine.New(table, engine.Options{Now: clock})
	h.files = attachment.New(attachment.Config{
		Rows: h.rows, Log: core, Blobs: blobs, Credentials: h, URL: func(context.Context) (string, error) { return "https://chips.example", nil },
		Now: clock, Logger: log,
	})
	h.engine = h.files.Engine(core)
	h.sweeper = sweep.New(sweep.Config{
		Rows: table, Now: clock, Log: log,
		Due: map[string]sweep.Handler{attachment.UploadRows: h.files.SweepUpload, attachment.BytesRows: h.files.SweepBytes},
	})
	h.ws = protocol.NewID(protocol.PrefixWorkspace, h.now, [10]byte{1})
	h.arjun = workspace.Caller{Workspace: h.ws, Kind: protocol.KindSystem, ID: protocol.SystemID}
	for _, e := range h.do(workspace.Draft(&workspace.NameDraft{Name: "Northwind", OwnerName: "Arjun"})) {
		if d, ok := e.Data.(*protocol.PersonAdded); ok {
			h.arjun = workspace.Caller{Workspace: h.ws, Kind: protocol.KindPerson, ID: d.PersonID, Credential: "key_01K4ZQPX000000000000000001"}
		}
	}
	return h
}

func (h *house) do(draft protocol.Event) []protocol.Event {
	h.t.Helper()
	return h.by(h.arjun, draft)
}

func (h *house) by(who workspace.Caller, draft protocol.Event) []protocol.Event {
	h.t.Helper()
	h.keys++
	draft.IdempotencyKey = fmt.Sprint("k", h.keys)
	out, err := h.engine.Do(h.t.Context(), h.ws, workspace.Command{By: who, Draft: draft, Operation: true})
	if err != nil {
		h.t.Fatal(err)
	}
	return out.Events
}

// harness makes one, with its agent and direct room.
func (h *house) harness() (who workspace.Caller, agent, room string) {
	h.t.Helper()
	name := "Scout"
	for _, e := range h.do(workspace.Draft(&workspace.HarnessDraft{DisplayName: &name})) {
		switch d := e.Data.(type) {
		case *protocol.HarnessAdded:
			who = workspace.Caller{Workspace: h.ws, Kind: protocol.KindHarness, ID: d.HarnessID}
		case *protocol.AgentRegistered:
			agent = d.AgentID
		case *protocol.AgentAttached:
			room = e.SpaceID
		}
	}
	return who, agent, room
}

func (h *house) room() string {
	h.t.Helper()
	return h.do(workspace.Draft(&protocol.SpaceOpened{Title: "Plans"}))[0].SpaceID
}

func (h *house) upload(name, content string) string {
	h.t.Helper()
	file, err := h.files.Upload(h.t.Context(), h.arjun, name, []byte(content))
	if err != nil {
		h.t.Fatal(err)
	}
	return file.AttachmentID
}

func (h *house) post(room string, ids ...string) {
	h.t.Helper()
	h.do(workspace.DraftIn(room, &protocol.MessagePost{Text: "here", UploadIDs: ids}))
}

// later lets time pass and does what is due by then, as often as the sweep would.
func (h *house) later(d time.Duration) {
	h.t.Helper()
	h.now = h.now.Add(d)
	for range 4 {
		if err := h.sweeper.Run(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
	}
}

// stored is how many bytes there are, by their contents.
func (h *house) stored() map[string]int {
	h.t.Helper()
	all := map[string]int{}
	err := filepath.WalkDir(h.dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		all[string(content)]++
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// read is a file as Arjun fetches it.
func (h *house) read(id string) string {
	h.t.Helper()
	link, _, err := h.files.URL(h.t.Context(), h.arjun, id)
	if err != nil {
		return err.Error()
	}
	u, err := url.Parse(link)
	if err != nil {
		h.t.Fatal(err)
	}
	q := u.Query()
	c, err := h.files.Open(h.t.Context(), path.Base(u.Path), q.Get("exp"), q.Get("tok"), q.Get("sig"))
	if err != nil {
		return err.Error()
	}
	return string(c.Body)
}

// nothingDue holds that nothing is left to be done, ever.
func (h *house) nothingDue() {
	h.t.Helper()
	for shard := range engine.DueShards {
		rows, err := h.rows.Due(h.t.Context(), shard, h.now.Add(10*365*24*time.Hour), 10)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, row := range rows {
			h.t.Errorf("%s is due at %v: %s", row.PK, row.Due, row.Body)
		}
	}
}
