package fanout

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Waiting is how many commits the rings of a workspace carry that wait for the one that is being sent.
func (f *Fanout) Waiting(ws string) int {
	w := f.worker(ws)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rings == nil {
		return 0
	}
	return len(w.rings.commits)
}

// unwritable is an event that panics, or fails, when it is written.
type unwritable struct{ panics bool }

func (unwritable) EventType() string { return "workspace.renamed" }

func (u unwritable) MarshalText() ([]byte, error) {
	if u.panics {
		panic("cannot be written")
	}
	return []byte("\xff"), nil
}

// An event that cannot be written raises an alarm, and the others come.
func TestAnEventThatCannotBeWritten(t *testing.T) {
	var log strings.Builder
	f := New(Config{Now: time.Now, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	w := f.worker("ws")
	w.kept.state = workspace.New("ws")
	workspace.Evolve(w.kept.state, protocol.Event{Envelope: protocol.Envelope{Seq: 1}, Data: &protocol.PersonAdded{PersonID: "usr_a", Role: protocol.Owner}})
	event := func(seq int64, data protocol.Data) protocol.Event {
		return protocol.Event{Envelope: protocol.Envelope{V: 1, Type: "workspace.renamed", Seq: seq, SpaceID: "spc_a"}, Data: data}
	}
	workspace.Evolve(w.kept.state, protocol.Event{Envelope: protocol.Envelope{Seq: 1, SpaceID: "spc_a"}, Data: &protocol.SpaceOpened{ParticipantIDs: []string{"usr_a"}}})
	to := delivery.Recipient{Kind: protocol.KindPerson, ID: "usr_a"}
	live := []*target{{conn: &session.Connection{ID: "c"}, to: to, from: 1}}
	_, err := w.render(context.Background(), []protocol.Event{
		event(2, &protocol.WorkspaceRenamed{Name: "A"}), event(3, unwritable{panics: true}), event(4, unwritable{}), event(5, &protocol.WorkspaceRenamed{Name: "B"}),
	}, live)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(live[0].frames); got != 2 || w.kept.state.Seq != 5 {
		t.Errorf("%d frames, state at %d", got, w.kept.state.Seq)
	}
	if got := strings.Count(log.String(), `"alarm":true`); got != 2 {
		t.Errorf("%d alarms: %s", got, log.String())
	}
}
