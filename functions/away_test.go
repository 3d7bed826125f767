package functions_test

import (
	"encoding/json"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// saysWhoIsAway has a harness leave: the socket function notes it, the sweep says that it is away, and its next hello that it is back. One
// that was asked to restart and left is away as soon as nobody waits for it, which timers says.
//
// covers: RST-9
func (w *world) saysWhoIsAway(tp template) {
	socket, sweep := w.start(w.t, tp, "socket", "CHIPS_SILENT_MS=1"), w.start(w.t, tp, "sweep", "CHIPS_SILENT_MS=1")
	timers := w.start(w.t, tp, "timers", "CHIPS_SILENT_MS=1", "CHIPS_RESTART_WAIT_MS=1")
	path := "/v1/harnesses/" + w.ids[3]
	status := func() string {
		var h struct{ Status string }
		w.request("GET", path, w.key, nil, &h)
		return h.Status
	}
	reads := func(want string, do func()) {
		w.t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for do(); status() != want; do() {
			if time.Now().After(deadline) {
				w.t.Fatalf("it reads %s, want %s", status(), want)
			}
		}
	}
	run := func() {
		if a := sweep.invoke(payload(w.t, "sweep.json")); a.failed {
			w.t.Fatalf("sweep: %s", a.body)
		}
	}
	open := func() {
		socket.invoke(payload(w.t, "socket-connect.json", w.ids...))
		w.frame(socket, map[string]any{
			"frame": "hello", "protocol": map[string]any{"min": 1, "max": 1}, "client": map[string]any{"name": "t", "version": "1"}, "accepts": []string{"restart"},
		})
	}
	w.stands(time.Now(), false)
	open()
	run() // what was noted before finds it there
	if got := status(); got != "ok" {
		w.t.Errorf("with a socket it reads %s", got)
	}
	w.leaves(socket)
	reads("away", run)
	open()
	if got := status(); got != "ok" {
		w.t.Errorf("it is back, and reads %s", got)
	}

	w.request("PUT", path+"/capabilities", w.key, map[string]any{"capabilities": []string{"agents", "restarts"}}, &struct{}{})
	if got := w.request("POST", path+"/restart", w.key, nil, &struct{}{}); got != 202 {
		w.t.Fatalf("asked to restart: %d", got)
	}
	w.leaves(socket)
	body, _ := json.Marshal(map[string]any{"workspace_id": w.ids[1], "kind": "restart", "id": w.ids[3], "due": time.Now()})
	var event events.SQSEvent
	if err := json.Unmarshal(payload(w.t, "timers-queue.json"), &event); err != nil {
		w.t.Fatal(err)
	}
	event.Records[0].Body = string(body)
	raw, _ := json.Marshal(event)
	reads("away", func() {
		if a := timers.invoke(raw); a.failed || string(a.body) != `{"batchItemFailures":[]}` {
			w.t.Fatalf("timers: %s", a.body)
		}
	})
	w.take()
}
