package apigw

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
)

// Doorbell is what Fanout is made of.
type Doorbell struct {
	// Ring delivers what a workspace's log holds beyond its cursor. commits may be empty, repeated, out of order or have gaps.
	Ring func(ctx context.Context, workspace string, commits []engine.Commit) error
	// Commit reads a new item; false where it is no commit.
	Commit func(image map[string]events.DynamoDBAttributeValue) (engine.Commit, bool, error)
	// Again has the workspace rung once more in a while.
	Again func(ctx context.Context, workspace string) error
	Log   *slog.Logger
}

// DoorbellEvent is a batch of the table's stream, or of the queue of workspaces to ring again: the records of both in one shape.
type DoorbellEvent struct {
	Records []DoorbellRecord `json:"Records"`
}

// DoorbellRecord is a stream record, or a queue's message with MessageID and Body.
type DoorbellRecord struct {
	events.DynamoDBEventRecord
	MessageID string `json:"messageId"`
	Body      string `json:"body"`
}

// ringAgain is a message of the queue.
type ringAgain struct {
	WorkspaceID string `json:"workspace_id"`
}

// A bell is one workspace to ring: what its records held, and by which identifier it fails the batch.
type bell struct {
	workspace string
	commits   []engine.Commit
	first     string
	queued    bool
}

// ringsAtOnce is how many workspaces of a batch are rung side by side; most of a ring is waiting for pushes.
const ringsAtOnce = 8

// Fanout rings each workspace of a batch once. A workspace whose ringing fails is queued to be rung again; one that cannot be queued
// fails the batch from its first record on, which is harmless to those after it.
func (d Doorbell) Fanout(ctx context.Context, e DoorbellEvent) (events.DynamoDBEventResponse, error) {
	bells := d.bells(ctx, e)
	ok := make([]bool, len(bells))
	var rings sync.WaitGroup
	slots := make(chan struct{}, ringsAtOnce)
	for i, b := range bells {
		slots <- struct{}{}
		rings.Go(func() {
			ok[i] = d.ring(ctx, b)
			<-slots
		})
	}
	rings.Wait()
	answer := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	for i, b := range bells {
		if !ok[i] {
			answer.BatchItemFailures = append(answer.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: b.first})
		}
	}
	return answer, nil
}

// ring says whether the bell is rung, or will be.
func (d Doorbell) ring(ctx context.Context, b *bell) bool {
	ringing, cancel := keepBack(ctx, 5*time.Second) // for the queue
	defer cancel()
	err := d.Ring(ringing, b.workspace, b.commits)
	if err == nil {
		return true
	}
	d.Log.ErrorContext(ctx, "a workspace's fan-out failed and is tried again", "workspace_id", b.workspace, "error", err)
	if b.queued {
		return false // the queue has it come again
	}
	if err = d.Again(ctx, b.workspace); err != nil {
		d.Log.ErrorContext(ctx, "a workspace could not be queued to be rung again", "workspace_id", b.workspace, "error", err)
	}
	return err == nil
}

func (d Doorbell) bells(ctx context.Context, e DoorbellEvent) []*bell {
	var bells []*bell
	byWorkspace := map[string]*bell{}
	for _, r := range e.Records {
		b, err := d.read(r)
		if err != nil {
			d.Log.ErrorContext(ctx, "a record cannot be read", "record", b.first, "workspace_id", b.workspace, "error", err)
		}
		if b.workspace == "" {
			continue // nobody to ring; trying again reads no better
		}
		if have := byWorkspace[b.workspace]; have != nil && have.queued == b.queued {
			have.commits = append(have.commits, b.commits...)
			continue
		}
		byWorkspace[b.workspace] = &b
		bells = append(bells, &b)
	}
	return bells
}

// read makes a bell of one record. An item that cannot be read rings all the same: what it holds is in the table.
func (d Doorbell) read(r DoorbellRecord) (bell, error) {
	if r.EventSource == "aws:sqs" {
		b := bell{first: r.MessageID, queued: true}
		var m ringAgain
		err := json.Unmarshal([]byte(r.Body), &m)
		b.workspace = m.WorkspaceID
		return b, err
	}
	b := bell{first: r.Change.SequenceNumber}
	if pk, ok := r.Change.Keys["pk"]; ok && pk.DataType() == events.DataTypeString {
		b.workspace = pk.String()
	}
	commit, ok, err := d.Commit(r.Change.NewImage)
	switch {
	case err != nil:
		return b, fmt.Errorf("reading the commit: %w", err)
	case !ok:
		return bell{}, nil
	}
	if commit.Workspace != b.workspace {
		return b, errors.New("the commit is another workspace's than its key says")
	}
	b.commits = []engine.Commit{commit}
	return b, nil
}
