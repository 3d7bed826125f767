// Package relay hands work on to a later invocation: a replay to the function that runs it, a workspace to the queue of those that are rung
// again. It is apart from apigw for what it brings: the clients of Lambda and SQS, which most functions do without.
package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/session"
)

// inlineLag is up to how many events a catch-up runs within the frame that asked for it: what it takes to invoke another function is
// then more than it takes to send them.
const inlineLag = 100

// inlineTime is what has to be left of an invocation for that.
const inlineTime = 20 * time.Second

// Replays starts replays in a function of their own, and short ones at once.
type Replays struct {
	// Inline runs a short replay, usually Sessions.Replay; nil where none is to be.
	Inline func(ctx context.Context, job session.Job) error

	api      *lambda.Client
	function string
}

// NewReplays makes Replays that invoke a function by name.
func NewReplays(cfg aws.Config, function string) *Replays {
	return &Replays{api: lambda.NewFromConfig(cfg), function: function}
}

// Start runs a short job, or has the function invoked with it asynchronously. Lambda may invoke it twice, which does no harm: a job is
// taken by the first who runs it.
func (r *Replays) Start(ctx context.Context, job session.Job) error {
	if deadline, ok := ctx.Deadline(); r.Inline != nil && job.Lag <= inlineLag && (!ok || time.Until(deadline) > inlineTime) {
		return r.Inline(ctx, job)
	}
	payload, err := json.Marshal(job)
	if err != nil {
		return err
	}
	_, err = r.api.Invoke(ctx, &lambda.InvokeInput{FunctionName: &r.function, InvocationType: types.InvocationTypeEvent, Payload: payload})
	if err != nil {
		return fmt.Errorf("invoking %s: %w", r.function, err)
	}
	return nil
}
