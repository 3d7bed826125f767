package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Engine is what a session asks of the log; *engine.Engine is one, and says what these do.
type Engine interface {
	Do(ctx context.Context, workspace string, cmd workspace.Command) (engine.Outcome, error)
	Read(ctx context.Context, workspace string, fn func(*workspace.State) error) error
	ReadWarm(ctx context.Context, workspace string, fn func(*workspace.State) error) error
	StateAt(ctx context.Context, workspace string, seq int64) (*workspace.State, error)
	Waits() workspace.Waits
	Commits(ctx context.Context, workspace string, from int64, limit int) ([]engine.Commit, error)
	RoomLog
}

// Replays runs long catch-ups beside the frame that asked for one: a goroutine, or another function. Start answers once the job is
// sure to be run by Sessions.Replay; run twice it does no harm.
type Replays interface {
	Start(ctx context.Context, job Job) error
}

// Credentials says whose a credential is, false when it was taken back.
type Credentials interface {
	Stands(ctx context.Context, id string) (workspace.Caller, bool, error)
}

// Config is what Sessions are made of; Unordered, Limits and Files may be left zero, and Credentials too, where none is ever taken back.
type Config struct {
	Engine      Engine
	Rows        engine.Rows
	Push        Push
	Replays     Replays
	Credentials Credentials
	Files       Files
	Limits      Limits
	// Server is what hello calls us.
	Server protocol.Server
	// Unordered says that the frames of one connection may be handled side by side and out of order: what a frame still under way
	// could cure is then decided again, three times within a second, before it is refused.
	Unordered bool
	// PingFrames says that the transport sends no pings of its own: a Keepalive is to, and finds the workspaces that have sockets.
	PingFrames bool
	// Left, where there is one, is told of a harness before a connection of it is forgotten: it may have been the last.
	Left func(ctx context.Context, workspace, harness string) error
	Now  func() time.Time
	Log  *slog.Logger
}

// Limits are the numbers of sockets; a zero one is its default.
type Limits struct {
	// EventsPerFrame is how many events an events frame holds at most, and FrameBytes how large it grows; one event may be larger.
	EventsPerFrame, FrameBytes int
	// PostTimeout is how long one push may take before its outcome is unknown.
	PostTimeout time.Duration
	// Lifetime is how long a connection lasts at most; its row goes some time after.
	Lifetime time.Duration
	// Stall is how long a consumer may take no frame of a replay, and how long a replay may go without progress.
	Stall time.Duration
	// HandOver is how long before its deadline a replay hands on.
	HandOver time.Duration
}

func (l *Limits) defaults() {
	set := func(field *time.Duration, d time.Duration) {
		if *field == 0 {
			*field = d
		}
	}
	number := func(field *int, n int) {
		if *field == 0 {
			*field = n
		}
	}
	number(&l.EventsPerFrame, 500)
	number(&l.FrameBytes, 32<<10) // one metered message
	set(&l.PostTimeout, 2*time.Second)
	set(&l.Lifetime, 2*time.Hour)
	set(&l.Stall, time.Minute)
	set(&l.HandOver, 10*time.Second)
}

// Sessions are the connections of all workspaces, as far as they are frames and rows. It is for any number of goroutines, and any
// number of them may share the table.
type Sessions struct {
	c Config

	mu sync.Mutex
	// said is until when a connection is known, without reading its row, to have said hello.
	said map[string]time.Time
	// newest is the generation of the newest subscription this process wrote of a connection that it replays.
	newest map[string]string
}

// New makes Sessions of its parts.
func New(c Config) *Sessions {
	c.Limits.defaults()
	return &Sessions{c: c, said: map[string]time.Time{}, newest: map[string]string{}}
}

// Connect writes the row of a connection that is being opened, before its first frame. A *protocol.Error refuses the upgrade: the
// credential was taken back meanwhile.
func (s *Sessions) Connect(ctx context.Context, connID string, c workspace.Caller) error {
	now := s.c.Now()
	conn := Connection{
		Workspace: c.Workspace, ID: connID, Kind: c.Kind, Holder: c.ID, Credential: c.Credential, At: protocol.At(now),
		expires: now.Add(s.c.Limits.Lifetime + 5*time.Minute),
	}
	if err := s.put(ctx, &conn, engine.Absent); err != nil {
		return fmt.Errorf("write connection %s: %w", connID, err)
	}
	if s.c.PingFrames {
		if err := s.list(ctx, c.Workspace); err != nil {
			return errors.Join(err, s.Disconnect(ctx, connID, c))
		}
	}
	if s.c.Credentials == nil {
		return nil
	}
	// Asked after the row stands: who takes a credential back from here on finds the row.
	_, stands, err := s.c.Credentials.Stands(ctx, c.Credential)
	if err != nil {
		return fmt.Errorf("look at credential %s again: %w", c.Credential, err)
	}
	if !stands {
		return errors.Join(protocol.Refuse(protocol.Unauthorized, "the credential was taken back"), s.Disconnect(ctx, connID, c))
	}
	return nil
}

// Disconnect takes the row of a closed connection away. It may be called twice or never: a row that is left over goes when a push
// finds its socket gone, and at the end of its time.
func (s *Sessions) Disconnect(ctx context.Context, connID string, c workspace.Caller) error {
	return s.forget(ctx, c.Workspace, connID, c.Kind, c.ID)
}

// Forget deletes the row of a connection whose socket is gone.
func (s *Sessions) Forget(ctx context.Context, ws, connID string) error {
	var c Connection
	if s.c.Left != nil { // whose it is has to be known first
		row, ok, err := s.c.Rows.Get(ctx, connectionsPK(ws), connID)
		if err != nil {
			return fmt.Errorf("read connection %s: %w", connID, err)
		}
		if ok {
			c, _ = decodeConnection(ws, row) // one that cannot be read has to go too
		}
	}
	return s.forget(ctx, ws, connID, c.Kind, c.Holder)
}

// forget deletes the row of somebody's connection. What comes of a harness's leaving is seen to first, so that nobody who dies in between
// leaves one that nobody looks at.
func (s *Sessions) forget(ctx context.Context, ws, connID string, kind protocol.ActorKind, holder string) error {
	s.mu.Lock()
	delete(s.said, connID)
	s.mu.Unlock()
	if s.c.Left != nil && kind == protocol.KindHarness {
		if err := s.c.Left(ctx, ws, holder); err != nil {
			return err
		}
	}
	if _, err := s.c.Rows.Delete(ctx, connectionsPK(ws), connID, engine.Always); err != nil && !errors.Is(err, engine.ErrCondition) {
		return fmt.Errorf("delete connection %s: %w", connID, err)
	}
	return nil
}

// saidFor is how long it is taken for granted that a connection said hello and was not taken back: this process reads its row for a
// write no oftener. A socket that is closed takes no more writes anyway, so this is how long one may go on writing that could not be closed
// when its credential was taken back. To read the row for each write would be a read unit more for the three of a message; this way it is
// four a minute at most.
const saidFor = 15 * time.Second

// saidHello says whether a connection is known to have said hello.
func (s *Sessions) saidHello(connID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c.Now().Before(s.said[connID])
}

func (s *Sessions) knowHello(connID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.c.Now()
	if len(s.said) > 10_000 {
		for id, until := range s.said {
			if now.After(until) {
				delete(s.said, id)
			}
		}
	}
	s.said[connID] = now.Add(saidFor)
}

// entropy is ten random bytes for an id.
func entropy() (b [10]byte) {
	_, _ = rand.Read(b[:]) // never fails
	return b
}
