package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
)

// dead puts a connection on the books that API Gateway does not know, and answers how to see whether it still stands there.
func (t *town) dead(ctx context.Context, id string, sub session.Subscription, due time.Time) (stands func() (bool, error), err error) {
	table := dynamo.New(dynamo.NewClient(t.stack.cfg), t.stack.ids["Table"])
	body, err := json.Marshal(session.Connection{Kind: protocol.KindPerson, Holder: t.workspace.PersonID, Hello: true, Sub: &sub})
	if err != nil {
		return nil, err
	}
	row := engine.Row{PK: "X#" + t.workspace.WorkspaceID, SK: id, Body: body, Due: due, Expires: time.Now().Add(time.Hour)}
	_, err = table.Put(ctx, row, engine.Absent)
	return func() (bool, error) {
		_, ok, err := table.Get(ctx, row.PK, row.SK)
		return ok, err
	}, err
}

// gone has fan-out meet a connection that is gone among those that are not.
func (t *town) gone(ctx context.Context) error {
	stands, err := t.dead(ctx, "gone=", session.Subscription{State: session.Live, Generation: "g"}, time.Time{})
	if err != nil {
		return err
	}
	ack, err := t.say(ctx, "Priya", "who is there", "Who is there?", t.scout.AgentID)
	if err != nil {
		return err
	}
	if err := t.all(ctx, ack.Seq, map[string]string{"Scout": "message.new", "Ledger": "message.overheard"}, "message.post"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return eventually(ctx, "the connection is forgotten", func() (bool, error) {
		ok, err := stands()
		return !ok, err
	})
}

// sweep leaves a socket whose replay died with it, and runs the function as the schedule would.
func (t *town) sweep(ctx context.Context) error {
	stands, err := t.dead(ctx, "due=", session.Subscription{State: session.Replaying, Generation: "g"}, time.Now().Add(-time.Second))
	if err != nil {
		return err
	}
	out, err := lambda.NewFromConfig(t.stack.cfg).Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(t.stack.ids["SweepFunction"])})
	if err != nil {
		return err
	}
	if out.FunctionError != nil {
		return fmt.Errorf("the sweep failed: %s", out.Payload)
	}
	ok, err := stands()
	if ok {
		return errors.New("the connection is still on the books")
	}
	if err != nil {
		return err
	}
	t.left, err = t.dead(ctx, "left=", session.Subscription{State: session.Replaying, Generation: "g"}, time.Now().Add(-time.Second))
	return err
}

// swept waits until what the step before left behind is removed without anybody's doing.
func (t *town) swept(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	return eventually(ctx, "the schedule's sweep", func() (bool, error) {
		stands, err := t.left()
		return !stands, err
	})
}

// poison spoils the log of another workspace, and then writes in this one.
func (t *town) poison(ctx context.Context) error {
	other, err := t.as(client.Bearer(t.stack.adminToken)).CreateWorkspace(ctx, "Spoilt", "Mallory")
	if err != nil {
		return err
	}
	t.spoilt = other.WorkspaceID
	mallory, err := t.pair(ctx, other.PairingCode)
	if err != nil {
		return err
	}
	page, err := t.as(mallory).Events(ctx, client.EventsQuery{Since: 1 << 50})
	if err != nil {
		return err
	}
	_, err = dynamodb.NewFromConfig(t.stack.cfg).PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(t.stack.ids["Table"]),
		Item: map[string]types.AttributeValue{
			"pk":     &types.AttributeValueMemberS{Value: other.WorkspaceID},
			"sk":     &types.AttributeValueMemberS{Value: fmt.Sprintf("C#%012d", page.LastSeq+1)},
			"ts":     &types.AttributeValueMemberN{Value: "1"},
			"nonce":  &types.AttributeValueMemberB{Value: make([]byte, len(engine.Commit{}.Nonce))},
			"events": &types.AttributeValueMemberB{Value: []byte("no events")},
		},
	})
	if err != nil {
		return err
	}
	ack, err := t.say(ctx, "Priya", "after the poison", "Still here?", t.scout.AgentID)
	if err != nil {
		return err
	}
	if err := t.all(ctx, ack.Seq, map[string]string{"Scout": "message.new", "Ledger": "message.overheard"}, "message.post"); err != nil {
		return err
	}
	queue := sqs.NewFromConfig(t.stack.cfg)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return eventually(ctx, "the workspace in the failure queue", func() (bool, error) {
		out, err := queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: aws.String(t.stack.ids["DeadLetters"]), WaitTimeSeconds: 1})
		if ctx.Err() != nil || err == nil && len(out.Messages) == 0 {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if body := aws.ToString(out.Messages[0].Body); !strings.Contains(body, other.WorkspaceID) {
			return false, fmt.Errorf("the failure queue holds %s", body)
		}
		return true, nil
	})
}

// revoke takes back Ledger's token.
func (t *town) revoke(ctx context.Context) error {
	path := "/v1/harnesses/" + t.ledger.HarnessID + "/tokens/" + t.ledger.TokenID
	if err := t.arjun().Do(ctx, http.MethodDelete, path, nil, nil); err != nil {
		return err
	}
	l := t.listeners["Ledger"]
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		l.mu.Lock()
		change, lost := l.change, l.lost
		l.mu.Unlock()
		if lost != nil {
			delete(t.listeners, "Ledger")
			_, err := t.as(client.Bearer(t.ledger.Token)).Ticket(ctx)
			return refused(err, protocol.Unauthorized)
		}
		select {
		case <-change:
		case <-ctx.Done():
			return errors.New("the socket stays open")
		}
	}
}
