package dynamotest

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Each of the deviations that are mended is still there, and mended. One that is gone takes its mending with it.
func TestDeviations(t *testing.T) {
	api, name := Kumo(t)
	fixed := api.(mended)
	plain := fixed.API
	put := func(api interface {
		PutItem(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error)
	}, sk string, size int) error {
		_, err := api.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: &name,
			Item: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: "p"}, "sk": &types.AttributeValueMemberS{Value: sk},
				"body": &types.AttributeValueMemberB{Value: make([]byte, size)},
			},
			ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	}
	for _, sk := range []string{"1", "2", "3", "4", "5"} {
		if err := put(plain, sk, 300<<10); err != nil {
			t.Fatal(err)
		}
	}
	old := func(err error) bool {
		var failed *types.ConditionalCheckFailedException
		if !errors.As(err, &failed) {
			t.Fatalf("a condition that fails: %v", err)
		}
		return failed.Item["body"] != nil
	}
	still(t, Deviations[0], !old(put(plain, "1", 0)), old(put(fixed, "1", 0)))

	query := func(limit int32) *dynamodb.QueryInput {
		in := &dynamodb.QueryInput{
			TableName: &name, KeyConditionExpression: aws.String("pk = :pk"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: "p"}},
		}
		if limit > 0 {
			in.Limit = &limit
		}
		return in
	}
	all, err := plain.Query(t.Context(), query(0))
	if err != nil {
		t.Fatal(err)
	}
	capped, err := fixed.Query(t.Context(), query(0))
	if err != nil {
		t.Fatal(err)
	}
	still(t, Deviations[1], len(all.Items) == 5, len(capped.Items) == 3 && len(capped.LastEvaluatedKey) == 2)
	rest := query(2)
	rest.ExclusiveStartKey = capped.LastEvaluatedKey
	last, err := plain.Query(t.Context(), rest)
	if err != nil {
		t.Fatal(err)
	}
	limited, err := fixed.Query(t.Context(), rest)
	if err != nil {
		t.Fatal(err)
	}
	still(t, Deviations[2], len(last.Items) == 2 && last.LastEvaluatedKey == nil, len(limited.Items) == 2 && limited.LastEvaluatedKey != nil)
	still(t, Deviations[3], put(plain, "big", 500<<10) == nil, true)
}

func still(t *testing.T, d Deviation, deviates, mends bool) {
	t.Helper()
	if !deviates {
		t.Errorf("kumo does it right now, take the mending out: %s", d.What)
	}
	if !mends {
		t.Errorf("it is not mended: %s", d.What)
	}
}
