package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/deadline"
)

// ahead is how long before it is due a schedule is to ring. Scheduler rings within the minute that a schedule names, and the queue is
// to have the rest.
const ahead = 2 * time.Minute

// Target is where schedules lead.
type Target struct {
	// Group is the name of the schedules' group.
	Group string
	// Function is the ARN of what is invoked, Role that of who invokes it, and DeadLetters that of the queue for what could not be.
	Function, Role, DeadLetters string
}

// Schedules is deadline.Alarms by one-off schedules for what is due too late for the queue, and by the queue for the rest.
type Schedules struct {
	queue  *Queue
	api    *scheduler.Client
	target Target
}

// NewSchedules makes Schedules beside a Queue.
func NewSchedules(cfg aws.Config, queue *Queue, target Target) *Schedules {
	return &Schedules{queue: queue, api: scheduler.NewFromConfig(cfg), target: target}
}

// Set makes a schedule of an alarm, named after it, so that the same one again is there already.
func (s *Schedules) Set(ctx context.Context, a deadline.Alarm) error {
	if a.Due.Sub(s.queue.now()) <= maxDelay {
		return s.queue.Set(ctx, a)
	}
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	at := a.Due.Add(-ahead).UTC().Truncate(time.Minute)
	_, err = s.api.CreateSchedule(ctx, &scheduler.CreateScheduleInput{
		GroupName:                  &s.target.Group,
		Name:                       aws.String(nameOf(a)),
		ScheduleExpression:         aws.String(at.Format("at(2006-01-02T15:04:05)")),
		ScheduleExpressionTimezone: aws.String("UTC"),
		FlexibleTimeWindow:         &types.FlexibleTimeWindow{Mode: types.FlexibleTimeWindowModeOff},
		ActionAfterCompletion:      types.ActionAfterCompletionDelete,
		Target: &types.Target{
			Arn: &s.target.Function, RoleArn: &s.target.Role, Input: aws.String(string(body)),
			RetryPolicy:      &types.RetryPolicy{MaximumRetryAttempts: aws.Int32(10), MaximumEventAgeInSeconds: aws.Int32(3600)},
			DeadLetterConfig: &types.DeadLetterConfig{Arn: &s.target.DeadLetters},
		},
	})
	if taken := (*types.ConflictException)(nil); err != nil && !errors.As(err, &taken) {
		return fmt.Errorf("create a schedule: %w", err)
	}
	return nil
}

// nameOf is a schedule's name: 64 characters at most, one for each alarm.
func nameOf(a deadline.Alarm) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", a.WorkspaceID, a.Kind, a.ID, a.Due.UnixMilli()))
	return hex.EncodeToString(sum[:])
}
