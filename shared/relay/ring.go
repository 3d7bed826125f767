package relay

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/go-json-experiment/json"
)

// ringDelay is how many seconds a workspace whose fan-out failed is left alone.
const ringDelay = 5

// RingQueue is the queue of workspaces whose fan-out failed.
type RingQueue struct {
	api *sqs.Client
	url string
}

// message is one of the queue; the event source mapping brings it to fanout.
type message struct {
	WorkspaceID string `json:"workspace_id"`
}

// NewRingQueue makes a RingQueue of a queue's URL.
func NewRingQueue(cfg aws.Config, url string) *RingQueue {
	return &RingQueue{api: sqs.NewFromConfig(cfg), url: url}
}

// Again has a workspace rung once more in a few seconds.
func (q *RingQueue) Again(ctx context.Context, workspace string) error {
	body, err := json.Marshal(message{WorkspaceID: workspace})
	if err != nil {
		return err
	}
	_, err = q.api.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String(string(body)), DelaySeconds: ringDelay})
	if err != nil {
		return fmt.Errorf("queueing %s: %w", workspace, err)
	}
	return nil
}
