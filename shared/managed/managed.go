package managed

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Log is the log of workspaces; *engine.Engine is one, and says what these do.
type Log interface {
	Do(ctx context.Context, ws string, cmd workspace.Command) (engine.Outcome, error)
	Read(ctx context.Context, ws string, fn func(*workspace.State) error) error
	ReadRecent(ctx context.Context, ws string, fn func(*workspace.State) error) error
	Waits() workspace.Waits
}

// Sockets are the sockets of harnesses; *session.Sessions is one, and says what these do.
type Sockets interface {
	Listens(ctx context.Context, ws, holder, word string) (bool, error)
	Away(ctx context.Context, ws, holder, word string) (bool, error)
	Tell(ctx context.Context, ws, holder, word string, frame []byte) (int, error)
}

// Config is what a Service is made of. Sockets may be nil where nobody asks or reads, and Alarms where nobody asks.
type Config struct {
	Rows    engine.Rows
	Log     Log
	Sockets Sockets
	// Alarms ring when a change's time is over.
	Alarms deadline.Alarms
	Now    func() time.Time
	Logger *slog.Logger
}

// Service keeps copies and takes changes. It is for any number of goroutines, and any number of services may share a table.
type Service struct{ c Config }

// New makes a Service of its parts.
func New(c Config) *Service { return &Service{c} }

const (
	// Rows is what the pk of a copy's row starts with.
	Rows = "M#"
	// RunRows is what the pk of a run's row starts with.
	RunRows = "R#"
	// AlarmKind is the kind of the alarms of changes.
	AlarmKind = "managed"
	// tries is how often a row that others write too is read and written again.
	tries = 10
)

// place is one copy: of a kind, of an agent or a harness.
type place struct {
	ws, subject string
	kind        *Kind
}

func (p place) pk() string { return Rows + p.ws + "#" + p.subject }

// kindOf is the kind of a path below an agent or a harness, nil for none.
func kindOf(subject, path string) *Kind {
	for i := range Kinds {
		if k := &Kinds[i]; k.Path == path && k.OfHarness == (protocol.PrefixOf(subject) == protocol.PrefixHarness) {
			return k
		}
	}
	return nil
}

// grant answers whose a copy is, and whether its harness has been granted the kind.
func (s *Service) grant(ctx context.Context, p place, may func(*workspace.State) *protocol.Error) (harness string, granted bool, err error) {
	err = s.c.Log.Read(ctx, p.ws, func(st *workspace.State) error {
		if err := may(st); err != nil {
			return err
		}
		harness = st.HarnessOf(p.subject)
		granted = st.Declares(harness, p.kind.Capability)
		return nil
	})
	return harness, granted, err
}

// own refuses all but the harness itself, and one that was not granted the kind.
func (s *Service) own(ctx context.Context, by workspace.Caller, p place) error {
	_, granted, err := s.grant(ctx, p, func(st *workspace.State) *protocol.Error {
		if st.HarnessOf(p.subject) != by.ID || st.Harness(by.ID) == nil {
			return protocol.Refuse(protocol.NotFound, "no such agent or harness of yours")
		}
		return nil
	})
	if err == nil && !granted {
		return protocol.Refuse(protocol.Forbidden, "this harness was not granted %s", p.kind.Capability)
	}
	return err
}

// newID is a new id of a prefix.
func (s *Service) newID(prefix string) string {
	var entropy [10]byte
	_, _ = rand.Read(entropy[:]) // never fails
	return protocol.NewID(prefix, s.c.Now(), entropy)
}

// system runs a command of Chips itself, once under its key.
func (s *Service) system(ctx context.Context, ws, key string, data protocol.Data) error {
	cmd := workspace.OfChips(ws, data)
	cmd.Draft.IdempotencyKey = key
	if _, err := s.c.Log.Do(ctx, ws, cmd); err != nil {
		return fmt.Errorf("write %s: %w", cmd.Draft.Type, err)
	}
	return nil
}
