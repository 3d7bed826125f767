package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The indexes, as template.yaml has them.
const (
	indexBySpace = "by-space"
	indexByDue   = "by-due"
)

// CreateTable makes a table as template.yaml does, but for backups, and waits until it can be used. It is for tests and emulators.
func CreateTable(ctx context.Context, client *dynamodb.Client, name string) error {
	attribute := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind}
	}
	keys := func(hash, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{
			{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
		}
	}
	index := func(name, hash, sort string) types.GlobalSecondaryIndex {
		return types.GlobalSecondaryIndex{
			IndexName: aws.String(name), KeySchema: keys(hash, sort), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}
	}
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   keys(attrPK, attrSK),
		AttributeDefinitions: []types.AttributeDefinition{
			attribute(attrPK, types.ScalarAttributeTypeS), attribute(attrSK, types.ScalarAttributeTypeS),
			attribute(attrSpace, types.ScalarAttributeTypeS),
			attribute(attrShard, types.ScalarAttributeTypeN), attribute(attrDue, types.ScalarAttributeTypeN),
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{index(indexBySpace, attrSpace, attrSK), index(indexByDue, attrShard, attrDue)},
		StreamSpecification:    &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage},
	})
	if err != nil {
		return fmt.Errorf("create table %s: %w", name, err)
	}
	err = dynamodb.NewTableExistsWaiter(client).Wait(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)}, time.Minute)
	if err != nil {
		return fmt.Errorf("wait for table %s: %w", name, err)
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(attrTTL), Enabled: aws.Bool(true)},
	})
	if err != nil {
		return fmt.Errorf("set the time to live of table %s: %w", name, err)
	}
	return nil
}
