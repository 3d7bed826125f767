package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/chipschat/chips-aws/shared/engine"
)

// API is what a table is read and written by, in the SDK's words: a Client, and Metered is one too. A write is tried once; see the
// package comment.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput) (*dynamodb.DeleteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput) (*dynamodb.QueryOutput, error)
}

var _ engine.Table = (*Table)(nil)

// Table is an engine.Table in a DynamoDB table.
type Table struct {
	api  API
	name *string
}

// New makes a table of the DynamoDB table called name, which exists.
func New(api API, name string) *Table { return &Table{api: api, name: aws.String(name)} }

// item is what DynamoDB keeps under one key.
type item = map[string]types.AttributeValue

// failed says what was being done when the API failed, and whether DynamoDB has refused it for now.
func failed(what string, err error) error {
	var refusal smithy.APIError
	if errors.As(err, &refusal) {
		switch refusal.ErrorCode() {
		case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "Throttling":
			return fmt.Errorf("%s: %w: %w", what, engine.ErrThrottled, err)
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// conditionFailed says whether a write failed by its condition, and what stood there if it was asked for.
func conditionFailed(err error) (item, bool) {
	var e *types.ConditionalCheckFailedException
	if !errors.As(err, &e) {
		return nil, false
	}
	return e.Item, true
}

// putIf puts an item under a condition. Where the condition does not hold it answers false and what stands there.
func (t *Table) putIf(ctx context.Context, what string, it item, cond string, names map[string]string, values item) (item, bool, error) {
	_, err := t.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                           t.name,
		Item:                                it,
		ConditionExpression:                 &cond,
		ExpressionAttributeNames:            names,
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if old, ok := conditionFailed(err); ok {
		return old, false, nil
	}
	if err != nil {
		return nil, false, failed(what, err)
	}
	return nil, true, nil
}

// get reads an item by its key, nil where there is none.
func (t *Table) get(ctx context.Context, what, pk, sk string) (item, error) {
	out, err := t.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: t.name, Key: keyOf(pk, sk), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, failed(what, err)
	}
	return out.Item, nil
}

// pages queries until each has got enough or there is no more. A page may be empty and not the last.
func (t *Table) pages(ctx context.Context, what string, in *dynamodb.QueryInput, each func([]item) (enough bool, err error)) error {
	in.TableName = t.name
	for {
		out, err := t.api.Query(ctx, in)
		if err != nil {
			return failed(what, err)
		}
		if enough, err := each(out.Items); enough || err != nil {
			return err
		}
		if len(out.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
