package dynamotest

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/chipschat/chips-aws/shared/dynamo"
)

// Deviation is something that kumo does and DynamoDB does not.
type Deviation struct {
	What, Mended string
}

// Deviations are those that the table's adapter would meet. TestDeviations shows that each is still there.
var Deviations = []Deviation{
	{
		"a put whose condition fails does not answer the item that stands there, though ALL_OLD asks for it",
		"the item is read and put into the error. It may be newer than what the condition saw, which a commit never is and a claim may be",
	},
	{
		"a page of a query has no end at 1 MB",
		"the page is cut there, and has the LastEvaluatedKey that goes with it",
	},
	{
		"a query that reaches its limit with the last item has no LastEvaluatedKey",
		"it has, so that the next page is empty",
	},
	{
		"there is no limit to an item's size, no lag of an index, no throttling and no failure",
		"it is not: porttest.Faulty does the last two",
	},
}

// mended is a kumo that does as DynamoDB does.
type mended struct{ dynamo.API }

func (m mended) PutItem(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
	out, err := m.API.PutItem(ctx, in)
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) || in.ReturnValuesOnConditionCheckFailure != types.ReturnValuesOnConditionCheckFailureAllOld {
		return out, err
	}
	old, getErr := m.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: in.TableName, ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"pk": in.Item["pk"], "sk": in.Item["sk"]},
	})
	if getErr != nil {
		return nil, getErr
	}
	failed.Item = old.Item
	return nil, err
}

func (m mended) Query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	out, err := m.API.Query(ctx, in)
	if err != nil {
		return nil, err
	}
	size := 0
	for i, it := range out.Items {
		size += dynamo.ItemSize(it)
		if size > 1<<20 && i > 0 {
			out.Items = out.Items[:i]
			out.LastEvaluatedKey = lastKey(out.Items)
			break
		}
	}
	if in.Limit != nil && len(out.Items) == int(*in.Limit) {
		out.LastEvaluatedKey = lastKey(out.Items)
	}
	out.Count = int32(len(out.Items))
	return out, nil
}

// lastKey is the key of the last item, with those of indexes, which kumo does not mind.
func lastKey(items []map[string]types.AttributeValue) map[string]types.AttributeValue {
	key := map[string]types.AttributeValue{}
	for _, name := range []string{"pk", "sk", "space", "shard", "due"} {
		if v := items[len(items)-1][name]; v != nil {
			key[name] = v
		}
	}
	return key
}
