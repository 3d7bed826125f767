package dynamo_test

import (
	"context"
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/porttest"
)

func TestTable(t *testing.T) {
	for _, emulator := range dynamotest.Emulators() {
		t.Run(emulator.Name, func(t *testing.T) {
			porttest.Table(t, func(t *testing.T) engine.Table {
				api, name := emulator.New(t)
				return dynamo.New(shortPages{api}, name)
			})
		})
	}
}

// The engine's storm, over the wire.
func TestStorm(t *testing.T) {
	table := dynamotest.Open(t)
	for seed := range uint64(4) {
		porttest.EngineStorm(t, table, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// shortPages answers pages of seven items at most, and an empty one before each: a page of DynamoDB may be short or empty, and not the last.
type shortPages struct{ dynamo.API }

// markEmpty in a key to start from says that the empty page has been.
const markEmpty = "empty"

func (s shortPages) Query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	start := maps.Clone(in.ExclusiveStartKey)
	if start[markEmpty] == nil {
		if start == nil {
			start = map[string]types.AttributeValue{}
		}
		start[markEmpty] = &types.AttributeValueMemberBOOL{Value: true}
		return &dynamodb.QueryOutput{LastEvaluatedKey: start}, nil
	}
	delete(start, markEmpty)
	page := *in
	if page.ExclusiveStartKey = start; len(start) == 0 {
		page.ExclusiveStartKey = nil
	}
	if seven := int32(7); page.Limit == nil || *page.Limit > seven {
		page.Limit = &seven
	}
	return s.API.Query(ctx, &page)
}
