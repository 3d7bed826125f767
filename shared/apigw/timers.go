package apigw

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/deadline"
)

// TimerEvent is either: records of the queue, each with an alarm as its body, or one alarm by the scheduler.
type TimerEvent struct {
	Records []events.SQSMessage `json:"Records"`
	deadline.Alarm
}

// Timers fires deadlines, those of a batch side by side, as firing may wait for one to be due. fire folds and decides: firing twice, early or too
// late is for it to see and is no error. What fails comes again from the queue, or by Lambda's own retries; a message that cannot be read is
// logged and dropped.
func Timers(fire func(context.Context, deadline.Alarm) error, log *slog.Logger) func(context.Context, TimerEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, e TimerEvent) (events.SQSEventResponse, error) {
		answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		if e.Records == nil {
			if e.WorkspaceID == "" {
				return answer, errors.New("neither a queue's records nor a deadline")
			}
			return answer, fire(ctx, e.Alarm)
		}
		failed := make([]bool, len(e.Records))
		var firing sync.WaitGroup
		for i, m := range e.Records {
			var a deadline.Alarm
			if err := json.Unmarshal([]byte(m.Body), &a); err != nil || a.WorkspaceID == "" {
				log.ErrorContext(ctx, "a deadline cannot be read", "message_id", m.MessageId, "error", err)
				continue
			}
			firing.Go(func() {
				if err := fire(ctx, a); err != nil {
					log.ErrorContext(ctx, "a deadline did not fire and comes again", "workspace_id", a.WorkspaceID, "kind", a.Kind, "id", a.ID, "error", err)
					failed[i] = true
				}
			})
		}
		firing.Wait()
		for i, m := range e.Records {
			if failed[i] {
				answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
		}
		return answer, nil
	}
}
