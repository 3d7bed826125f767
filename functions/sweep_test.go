package functions_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/engine"
)

const pingPush = "POST " + eventsConnection + ` {"frame":"ping"}`

// sweepsSockets has the sweep ping sockets, close one that does not answer and one whose replay died, and forget one that is gone.
//
// covers: KEEP-1, KEEP-2, KEEP-7
func (w *world) sweepsSockets(tp template) {
	socket := w.start(w.t, tp, "socket")
	sweep := w.start(w.t, tp, "sweep", "CHIPS_PING_MS=1", "CHIPS_SILENT_MS=1")
	run := func() []string {
		if a := sweep.invoke(payload(w.t, "sweep.json")); a.failed {
			w.t.Fatalf("sweep: %s", a.body)
		}
		return w.take()
	}
	open := func() {
		w.leaves(socket)
		socket.invoke(payload(w.t, "socket-connect.json", w.ids...))
		w.frame(socket, map[string]any{
			"frame": "hello", "protocol": map[string]any{"min": 1, "max": 1}, "client": map[string]any{"name": "t", "version": "1"}, "accepts": []string{"ping"},
		})
		w.take()
	}

	open()
	w.stands(time.Now(), false)
	for range 2 { // pinged, and answered
		if got := run(); !slices.Equal(got, []string{pingPush}) {
			w.t.Errorf("a sweep pushed %q", got)
		}
	}
	if answer := w.frame(socket, map[string]any{"frame": "pong"}); answer != "" {
		w.t.Errorf("a pong was answered %s", answer)
	}
	w.stands(time.Now().Add(-time.Minute), false)
	if got := run(); !slices.Equal(got, []string{"DELETE " + eventsConnection + " "}) || w.onTheBooks(w.t) {
		w.t.Errorf("a sweep after a ping that was not answered pushed %q", got)
	}

	open()
	w.stands(time.Now(), true)
	if got := run(); !slices.Equal(got, []string{pingPush}) || w.onTheBooks(w.t) {
		w.t.Errorf("a sweep pushed %q to a connection that is gone", got)
	}
	w.stands(time.Now(), false)
	if got := run(); len(got) != 0 {
		w.t.Errorf("a sweep pushed %q to nobody", got)
	}

	open()
	started := len(w.invoked)
	w.frame(socket, map[string]any{"frame": "subscribe", "workspace_id": w.ids[1], "since": 0})
	if len(w.invoked) != started+1 { // and it is never run
		w.t.Fatalf("a long replay: invoked %q", w.invoked)
	}
	if got := run(); slices.Contains(got, "DELETE "+eventsConnection+" ") {
		w.t.Error("a replay that may yet go on is cut")
	}
	row := w.connection(w.t)
	row.Due = row.Due.Add(-time.Minute)
	if _, err := w.table().Put(context.Background(), row, engine.IfRev(row.Rev)); err != nil {
		w.t.Fatal(err)
	}
	if got := run(); !slices.Contains(got, "DELETE "+eventsConnection+" ") || w.onTheBooks(w.t) {
		w.t.Errorf("a sweep after a minute without progress pushed %q", got)
	}
	if !slices.Contains(w.used["sweep"], "execute-api:ManageConnections "+http.MethodGet) {
		w.t.Error("nobody asked when a socket was last heard")
	}
}

// stands says how the management API finds connections from here on.
func (w *world) stands(heard time.Time, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard, w.gone = heard, gone
}

func (w *world) table() *dynamo.Table {
	return dynamo.New(dynamo.NewClient(configOf(w.url)), tableName)
}

// connection is the row of the connection in events/, the zero Row where there is none.
func (w *world) connection(t *testing.T) engine.Row {
	t.Helper()
	row, _, err := w.table().Get(context.Background(), "X#"+w.ids[1], eventsConnection)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func (w *world) onTheBooks(t *testing.T) bool { return w.connection(t).PK != "" }
