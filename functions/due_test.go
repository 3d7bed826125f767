package functions_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

func (w *world) doesWhatIsDue(tp template) {
	timers := w.start(w.t, tp, "timers")
	for _, name := range []string{"timers-queue.json", "timers-schedule.json"} {
		if a := timers.invoke(payload(w.t, name, w.ids...)); a.failed || string(a.body) != `{"batchItemFailures":[]}` {
			w.t.Errorf("%s: %s", name, a.body)
		}
	}
	counts(w.t, timers, 0, nil)
	sweep := w.start(w.t, tp, "sweep")
	if a := sweep.invoke(payload(w.t, "sweep.json")); a.failed {
		w.t.Errorf("sweep: %s", a.body)
	}
	counts(w.t, sweep, 0, nil)
	w.missesAsks(tp)
}

// missesAsks takes deadlines from the stream to the log: one through the queue, one that is left to the sweep, and one an hour away that
// is a schedule.
func (w *world) missesAsks(tp template) {
	waits := []string{"FORK_WAIT_MS=1", "NEW_AGENT_WAIT_MS=3600000"}
	fanout, timers, sweep := w.start(w.t, tp, "fanout", waits...), w.start(w.t, tp, "timers", waits...), w.start(w.t, tp, "sweep", waits...)
	harness := "/v1/harnesses/" + w.ids[3]
	var agents struct {
		Agents []struct {
			ID string `json:"agent_id"`
		}
	}
	w.request("PUT", harness+"/capabilities", w.key, map[string]any{"capabilities": []string{"agents", "forks", "new_agents"}}, &struct{}{})
	if w.request("GET", harness+"/agents", w.ids[9], nil, &agents); len(agents.Agents) != 1 {
		w.t.Fatalf("agents %v", agents)
	}
	ask := func(what string, in any) string {
		w.t.Helper()
		var asked struct {
			ID string `json:"ask_id"`
		}
		if status := w.request("POST", "/v1/spaces/"+w.ids[7]+what, w.key, in, &asked); status != http.StatusOK {
			w.t.Fatalf("ask for %s: %d", what, status)
		}
		return asked.ID
	}
	fork := map[string]any{"agent_id": agents.Agents[0].ID}
	missed, far := ask("/forks", fork), ask("/agents", map[string]any{"harness_id": w.ids[3]})
	stream := streamOf(w.t, w.url, w.ids[1])
	for range 2 { // the schedule is there the second time
		if a := fanout.invoke(stream); a.failed || string(a.body) != `{"batchItemFailures":[]}` {
			w.t.Fatalf("fanout: %s", a.body)
		}
	}
	if len(w.queued) == 0 || w.queued[0].DelaySeconds != 0 || !strings.Contains(w.queued[0].MessageBody, missed) || len(w.schedules) != 1 {
		w.t.Fatalf("queued %v, scheduled %v", w.queued, w.schedules)
	}
	var event events.SQSEvent
	if err := json.Unmarshal(payload(w.t, "timers-queue.json"), &event); err != nil {
		w.t.Fatal(err)
	}
	event.Records[0].Body = w.queued[0].MessageBody
	raw, _ := json.Marshal(event)
	for range 2 {
		if a := timers.invoke(raw); a.failed || string(a.body) != `{"batchItemFailures":[]}` {
			w.t.Errorf("timers: %s", a.body)
		}
	}
	counts(w.t, timers, 1, map[string]float64{"Appends": 1, "DeadlineLag": -1}) // the second time nothing is due
	for _, request := range w.schedules {                                       // it rings early, and is left to the queue
		var made struct {
			GroupName, ActionAfterCompletion string
			Target                           struct{ Arn, RoleArn, Input string }
		}
		if err := json.Unmarshal([]byte(request), &made); err != nil || made.ActionAfterCompletion != "DELETE" ||
			!strings.HasSuffix(made.GroupName, "ScheduleGroup") || !strings.HasSuffix(made.Target.Arn, ":TimersFunction.Arn") || !strings.HasSuffix(made.Target.RoleArn, ":ScheduleRole.Arn") {
			w.t.Errorf("scheduled %s, %v", request, err)
		}
		w.queued = nil
		if a := timers.invoke([]byte(made.Target.Input)); a.failed || len(w.queued) != 1 || w.queued[0].DelaySeconds != 900 || !strings.Contains(w.queued[0].MessageBody, far) {
			w.t.Errorf("timers, early: %s, queued %v", a.body, w.queued)
		}
	}
	left := ask("/forks", fork)
	if a := fanout.invoke(streamOf(w.t, w.url, w.ids[1])); a.failed {
		w.t.Errorf("fanout: %s", a.body)
	}
	for range 2 {
		if a := sweep.invoke(payload(w.t, "sweep.json")); a.failed {
			w.t.Errorf("sweep: %s", a.body)
		}
	}
	counts(w.t, sweep, 1, map[string]float64{"Swept": 1, "DeadlineLag": -1})
	var log struct {
		Events []struct{ Type, About string }
	}
	w.request("GET", "/v1/events?space_id="+w.ids[7]+"&limit=500", w.key, nil, &log)
	var about []string
	for _, e := range log.Events {
		if e.Type == "room.line" {
			about = append(about, e.About)
		}
	}
	if !slices.Equal(about, []string{missed, left}) {
		w.t.Errorf("the room says that %q were missed, want %q", about, []string{missed, left})
	}
}
