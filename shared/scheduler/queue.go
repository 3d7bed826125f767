// Package scheduler keeps alarms of deadlines on AWS, in two lanes. Queue is an SQS queue whose messages are delayed: to the second, and
// for a quarter of an hour at most. Schedules is EventBridge Scheduler: for any time, and to the minute; so a schedule rings minutes early,
// and what is then set again goes by the queue. Either lane ends in the timers function, which fires.
package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/deadline"
)

// maxDelay is the longest that SQS holds a message back.
const maxDelay = 15 * time.Minute

// Queue is deadline.Alarms by messages that are delayed. What is due later than a message may be delayed rings early, and is set again.
type Queue struct {
	api *sqs.Client
	url string
	now func() time.Time
}

// NewQueue makes a Queue of a queue's URL.
func NewQueue(cfg aws.Config, url string, now func() time.Time) *Queue {
	return &Queue{api: sqs.NewFromConfig(cfg), url: url, now: now}
}

// Set sends an alarm as a message that comes within the second before it is due; who fires waits for the rest. To round up would
// make each deadline late by half a second.
func (q *Queue) Set(ctx context.Context, a deadline.Alarm) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	delay := min(max(a.Due.Sub(q.now()), 0), maxDelay)
	_, err = q.api.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: &q.url, MessageBody: aws.String(string(body)), DelaySeconds: int32(delay / time.Second),
	})
	if err != nil {
		return fmt.Errorf("send a delayed message: %w", err)
	}
	return nil
}
