package apigw

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/deadline"
)

func TestTimers(t *testing.T) {
	due := time.Date(2026, 11, 30, 12, 0, 20, 0, time.UTC)
	one := `{"workspace_id":"ws_a","kind":"lead_handoff","id":"msg_1","due":"2026-11-30T12:00:20Z"}`
	want := deadline.Alarm{WorkspaceID: "ws_a", Kind: "lead_handoff", ID: "msg_1", Due: due}
	for name, c := range map[string]struct {
		event  string
		fails  bool
		fired  []deadline.Alarm
		answer string
		err    bool
	}{
		"the queue":                  {`{"Records":[` + queued("m-1", one) + `]}`, false, []deadline.Alarm{want}, `{"batchItemFailures":[]}`, false},
		"the queue, failing":         {`{"Records":[` + queued("m-1", one) + `]}`, true, []deadline.Alarm{want}, `{"batchItemFailures":[{"itemIdentifier":"m-1"}]}`, false},
		"the queue, nothing to read": {`{"Records":[` + queued("m-1", "{") + `,` + queued("m-2", one) + `]}`, false, []deadline.Alarm{want}, `{"batchItemFailures":[]}`, false},
		"a schedule":                 {one, false, []deadline.Alarm{want}, `{"batchItemFailures":[]}`, false},
		"a schedule, failing":        {one, true, []deadline.Alarm{want}, `{"batchItemFailures":[]}`, true},
		"neither":                    {`{}`, false, nil, `{"batchItemFailures":[]}`, true},
	} {
		var e TimerEvent
		if err := json.Unmarshal([]byte(c.event), &e); err != nil {
			t.Fatal(err)
		}
		var fired []deadline.Alarm
		answer, err := Timers(func(_ context.Context, d deadline.Alarm) error {
			fired = append(fired, d)
			if c.fails {
				return errors.New("busy")
			}
			return nil
		}, slog.New(slog.DiscardHandler))(context.Background(), e)
		raw, _ := json.Marshal(answer)
		if diff := cmp.Diff(c.fired, fired); diff != "" || string(raw) != c.answer || (err != nil) != c.err {
			t.Errorf("%s: answered %s, %v; fired %s", name, raw, err, diff)
		}
	}
}
