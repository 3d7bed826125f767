package apigw

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/engine"
)

// record is a stream record as Lambda hands it over, of a commit whose image holds what this test's decoder reads.
func record(seqNo, workspace, first string) string {
	image := `{"pk":{"S":"` + workspace + `"},"first":{"N":"` + first + `"}}`
	return `{"eventID":"an-event-id","eventName":"INSERT","eventSource":"aws:dynamodb","dynamodb":{"Keys":{"pk":{"S":"` + workspace +
		`"},"sk":{"S":"C#"}},"NewImage":` + image + `,"SequenceNumber":"` + seqNo + `"}}`
}

func queued(id, body string) string {
	raw, _ := json.Marshal(body)
	return `{"messageId":"` + id + `","eventSource":"aws:sqs","body":` + string(raw) + `}`
}

// batch decodes records the way the Lambda runtime does.
func batch(t *testing.T, records ...string) DoorbellEvent {
	t.Helper()
	var e DoorbellEvent
	for _, r := range records {
		var one DoorbellRecord
		if err := json.Unmarshal([]byte(r), &one); err != nil {
			t.Fatal(err)
		}
		e.Records = append(e.Records, one)
	}
	return e
}

func readImage(image map[string]events.DynamoDBAttributeValue) (engine.Commit, bool, error) {
	first, err := image["first"].Integer()
	switch {
	case err != nil || first == 0:
		return engine.Commit{}, false, errors.New("broken")
	case first < 0:
		return engine.Commit{}, false, nil
	}
	return engine.Commit{Workspace: image["pk"].String(), First: first}, true, nil
}

func TestFanoutRingsEachWorkspaceOnce(t *testing.T) {
	type outcome struct {
		Rung   map[string][]int64
		Queued []string
		Failed []string
	}
	none := []string(nil)
	for name, c := range map[string]struct {
		records   []string
		ringFails []string
		queueDown bool
		want      outcome
	}{
		"by workspace, in the order of the batch": {
			records: []string{record("101", "ws_a", "1"), record("102", "ws_b", "7"), record("103", "ws_a", "2")},
			want:    outcome{map[string][]int64{"ws_a": {1, 2}, "ws_b": {7}}, none, none},
		},
		"a failing workspace is queued and fails nobody": {
			records:   []string{record("101", "ws_a", "1"), record("102", "ws_b", "7")},
			ringFails: []string{"ws_a"},
			want:      outcome{map[string][]int64{"ws_a": {1}, "ws_b": {7}}, []string{"ws_a"}, none},
		},
		"it fails the batch by sequence number when the queue is down": {
			records:   []string{record("101", "ws_b", "7"), record("102", "ws_a", "1"), record("103", "ws_a", "2")},
			ringFails: []string{"ws_a"}, queueDown: true,
			want: outcome{map[string][]int64{"ws_a": {1, 2}, "ws_b": {7}}, none, []string{"102"}},
		},
		"an item that cannot be read rings all the same": {
			records: []string{record("101", "ws_a", "0")},
			want:    outcome{map[string][]int64{"ws_a": nil}, none, none},
		},
		"an item that is no commit rings nobody": {
			records: []string{record("101", "ws_a", "-1")},
			want:    outcome{map[string][]int64{}, none, none},
		},
		"a queue's message": {
			records: []string{queued("m-1", `{"workspace_id":"ws_a"}`), queued("m-2", `not json`)},
			want:    outcome{map[string][]int64{"ws_a": nil}, none, none},
		},
		"a queue's message comes again by itself": {
			records:   []string{queued("m-1", `{"workspace_id":"ws_a"}`)},
			ringFails: []string{"ws_a"},
			want:      outcome{map[string][]int64{"ws_a": nil}, none, []string{"m-1"}},
		},
	} {
		var mu sync.Mutex
		got := outcome{Rung: map[string][]int64{}}
		d := Doorbell{
			Ring: func(_ context.Context, workspace string, commits []engine.Commit) error {
				mu.Lock()
				defer mu.Unlock()
				if _, twice := got.Rung[workspace]; twice {
					t.Errorf("%s: %s is rung twice", name, workspace)
				}
				var firsts []int64
				for _, c := range commits {
					firsts = append(firsts, c.First)
				}
				got.Rung[workspace] = firsts
				if slices.Contains(c.ringFails, workspace) {
					return errors.New("no answer")
				}
				return nil
			},
			Commit: readImage,
			Again: func(_ context.Context, workspace string) error {
				if c.queueDown {
					return errors.New("no queue")
				}
				got.Queued = append(got.Queued, workspace)
				return nil
			},
			Log: slog.New(slog.DiscardHandler),
		}
		answer, err := d.Fanout(context.Background(), batch(t, c.records...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, f := range answer.BatchItemFailures {
			got.Failed = append(got.Failed, f.ItemIdentifier)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A ring that takes all the time there is leaves enough to queue its workspace.
func TestFanoutQueuesWhatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var queued []string
		d := Doorbell{
			Ring: func(ctx context.Context, _ string, _ []engine.Commit) error {
				<-ctx.Done()
				return ctx.Err()
			},
			Commit: readImage, Log: slog.New(slog.DiscardHandler),
			Again: func(ctx context.Context, workspace string) error {
				queued = append(queued, workspace)
				return ctx.Err()
			},
		}
		answer, err := d.Fanout(ctx, batch(t, record("1", "ws_a", "1")))
		if err != nil || len(answer.BatchItemFailures) != 0 || len(queued) != 1 || ctx.Err() != nil {
			t.Errorf("%+v, %v; queued %q, with %v", answer, err, queued, ctx.Err())
		}
	})
}

// Lambda takes an answer without the list for a success of the whole batch, and a null in it for a failure.
func TestFanoutAnswersAList(t *testing.T) {
	d := Doorbell{
		Ring:   func(context.Context, string, []engine.Commit) error { return nil },
		Commit: readImage, Log: slog.New(slog.DiscardHandler),
	}
	answer, _ := d.Fanout(context.Background(), batch(t, record("1", "ws_a", "1")))
	raw, err := json.Marshal(answer)
	if err != nil || string(raw) != `{"batchItemFailures":[]}` {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestManyWorkspacesRingSideBySide(t *testing.T) {
	const n = 3 * ringsAtOnce
	var records []string
	for i := range n {
		records = append(records, record("1", "ws_"+string(rune('a'+i)), "1"))
	}
	var mu sync.Mutex
	rung := map[string]bool{}
	inside := make(chan struct{}, n)
	full := make(chan struct{})
	var once sync.Once
	d := Doorbell{
		Ring: func(_ context.Context, workspace string, _ []engine.Commit) error {
			inside <- struct{}{}
			if len(inside) >= ringsAtOnce {
				once.Do(func() { close(full) })
			}
			<-full // nobody leaves before as many as may be are inside together
			mu.Lock()
			rung[workspace] = true
			mu.Unlock()
			return nil
		},
		Commit: readImage, Log: slog.New(slog.DiscardHandler),
	}
	if _, err := d.Fanout(context.Background(), batch(t, records...)); err != nil || len(rung) != n {
		t.Errorf("%v; rung %d of %d", err, len(rung), n)
	}
}
