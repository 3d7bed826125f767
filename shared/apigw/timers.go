package apigw

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-json-experiment/json"
)

// Deadline is something that falls due in a workspace: the body of a queue's message and the payload of a one-off schedule alike.
type Deadline struct {
	WorkspaceID string    `json:"workspace_id"`
	Kind        string    `json:"kind"`
	ID          string    `json:"id"`
	Due         time.Time `json:"due"`
}

// TimerEvent is either: records of the queue, or one deadline by the scheduler.
type TimerEvent struct {
	Records []events.SQSMessage `json:"Records"`
	Deadline
}

// Timers fires deadlines. fire folds and decides: firing twice, early or too late is for it to see and is no error. What fails comes again
// from the queue, or by the scheduler's own retries; a message that cannot be read is logged and dropped.
func Timers(fire func(context.Context, Deadline) error, log *slog.Logger) func(context.Context, TimerEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, e TimerEvent) (events.SQSEventResponse, error) {
		answer := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		if e.Records == nil {
			if e.WorkspaceID == "" {
				return answer, errors.New("neither a queue's records nor a deadline")
			}
			return answer, fire(ctx, e.Deadline)
		}
		for _, m := range e.Records {
			var d Deadline
			if err := json.Unmarshal([]byte(m.Body), &d); err != nil || d.WorkspaceID == "" {
				log.ErrorContext(ctx, "a deadline cannot be read", "message_id", m.MessageId, "error", err)
				continue
			}
			if err := fire(ctx, d); err != nil {
				log.ErrorContext(ctx, "a deadline did not fire and comes again", "workspace_id", d.WorkspaceID, "kind", d.Kind, "id", d.ID, "error", err)
				answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
		}
		return answer, nil
	}
}
