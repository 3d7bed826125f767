package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/chipschat/chips-aws/shared/client"
)

// ringAgain hands fan-out the stream's records of the whole log once more, as Lambda may: each twice, in any order.
func (t *town) ringAgain(ctx context.Context) error {
	query := fmt.Sprintf(`{"TableName":%q,"KeyConditionExpression":"pk = :ws and begins_with(sk, :c)","ExpressionAttributeValues":{":ws":{"S":%q},":c":{"S":"C#"}}}`,
		t.stack.ids["Table"], t.workspace.WorkspaceID)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.api, strings.NewReader(query))
	if err != nil {
		return err
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.Query")
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	// The emulators read the service from here, and no signature.
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/"+region+"/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var page struct{ Items []map[string]json.RawMessage }
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || len(page.Items) == 0 {
		return fmt.Errorf("read the commits: %d, %w", len(page.Items), err)
	}
	var records []any
	for i, item := range append(page.Items, page.Items...) {
		records = append(records, map[string]any{
			"eventID": fmt.Sprint(i), "eventName": "INSERT", "eventSource": "aws:dynamodb", "awsRegion": region,
			"dynamodb": map[string]any{
				"Keys": map[string]any{"pk": item["pk"], "sk": item["sk"]}, "NewImage": item, "SequenceNumber": fmt.Sprint(1000 + i), "StreamViewType": "NEW_IMAGE",
			},
		})
	}
	rand.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	batch, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		return err
	}
	out, err := lambda.NewFromConfig(t.stack.cfg).Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(t.stack.ids["FanoutFunction"]), Payload: batch})
	if err != nil {
		return err
	}
	var answer struct {
		Failed []any `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(out.Payload, &answer); err != nil || out.FunctionError != nil || len(answer.Failed) > 0 {
		return fmt.Errorf("fan-out answers %s", out.Payload)
	}
	return nil
}

// again has the stream repeat itself while more is written.
func (t *town) again(ctx context.Context) error {
	ringing := make(chan error, 1)
	go func() { ringing <- t.ringAgain(ctx) }()
	ack, err := t.say(ctx, "Priya", "while it repeats itself", "And?", t.scout.AgentID)
	if err != nil {
		return err
	}
	if err := <-ringing; err != nil {
		return err
	}
	if err := t.all(ctx, ack.Seq, map[string]string{"Scout": "message.new", "Ledger": "message.overheard"}, "message.post"); err != nil {
		return err
	}
	return t.once(ctx)
}

// once checks that each socket was sent every event once and in order, and Arjun's all that he may see.
func (t *town) once(ctx context.Context) error {
	want, err := t.log(ctx)
	if err != nil {
		return err
	}
	for name, l := range t.listeners {
		if name == "Arjun" || name == "Arjun again" {
			if _, err := l.await(ctx, want[len(want)-1]); err != nil {
				return err
			}
		}
		got := l.seqs()
		for i := 1; i < len(got); i++ {
			if got[i] <= got[i-1] {
				return fmt.Errorf("%s was sent %d after %d", name, got[i], got[i-1])
			}
		}
		if n := l.Repeats(); n != 0 {
			return fmt.Errorf("%s was sent %d events twice", name, n)
		}
		if err := t.whole(l, got, want); err != nil {
			return err
		}
	}
	return nil
}

// whole checks that a listener of Arjun's has all since it came.
func (t *town) whole(l *listener, got, want []int64) error {
	if !strings.HasPrefix(l.name, "Arjun") {
		return nil
	}
	have := map[int64]bool{}
	for _, seq := range got {
		have[seq] = true
	}
	for _, seq := range want {
		if seq >= got[0] && !have[seq] {
			return fmt.Errorf("%s was not sent %d", l.name, seq)
		}
	}
	return nil
}

// acked is what one write was told.
type acked struct {
	key string
	seq int64
}

// insist writes a message over HTTP until it is acked, as a client does that is told nothing, or a fault.
func (t *town) insist(ctx context.Context, who client.Credential, key string) (acked, error) {
	var ack struct {
		Seq int64 `json:"seq"`
	}
	message := map[string]string{"type": "message.post", "space_id": t.room, "text": key, "idempotency_key": key}
	for {
		err := t.as(who).Do(ctx, http.MethodPost, "/v1/events", message, &ack)
		if err == nil {
			return acked{key, ack.Seq}, nil
		}
		if refusedForGood(err) || ctx.Err() != nil {
			return acked{}, fmt.Errorf("write %s: %w", key, err)
		}
	}
}
