package dynamo

import (
	"context"
	"net/url"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"

	"github.com/chipschat/chips-aws/shared/awscall"
)

var _ API = (*Client)(nil)

// Client calls DynamoDB as the SDK's client does, the short way (package awscall). Reads are tried again, as the SDK does, writes are not.
type Client struct {
	service awscall.Service
	reads   aws.Retryer
}

// NewClient makes a client of cfg: its region and credentials, and where they are set its BaseEndpoint, HTTPClient and Retryer.
func NewClient(cfg aws.Config) *Client {
	c := &Client{
		service: awscall.Service{
			Name: "dynamodb", Region: cfg.Region, Credentials: cfg.Credentials,
			Endpoint: sync.OnceValues(func() (*url.URL, error) {
				endpoint, err := dynamodb.NewDefaultEndpointResolverV2().ResolveEndpoint(context.Background(), dynamodb.EndpointParameters{
					Region: &cfg.Region, Endpoint: cfg.BaseEndpoint,
				})
				return &endpoint.URI, err
			}),
			Protocol: awsjson.New10(schemas.DynamoDB_20120810), Errors: dynamodb.TypeRegistry, HTTP: cfg.HTTPClient,
		},
		reads: retry.NewStandard(),
	}
	if c.service.HTTP == nil {
		c.service.HTTP = awscall.HTTP(awshttp.NewBuildableClient())
	}
	if cfg.Retryer != nil {
		c.reads = cfg.Retryer()
	}
	return c
}

var (
	getItem    = smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput)
	putItem    = smithy.NewOperationSchema(schemas.PutItem, schemas.PutItemInput, schemas.PutItemOutput)
	updateItem = smithy.NewOperationSchema(schemas.UpdateItem, schemas.UpdateItemInput, schemas.UpdateItemOutput)
	deleteItem = smithy.NewOperationSchema(schemas.DeleteItem, schemas.DeleteItemInput, schemas.DeleteItemOutput)
	query      = smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput)
)

// GetItem reads an item.
func (c *Client) GetItem(ctx context.Context, in *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
	out := new(dynamodb.GetItemOutput)
	return out, c.service.Call(ctx, getItem, in, out, c.reads)
}

// PutItem writes an item.
func (c *Client) PutItem(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
	out := new(dynamodb.PutItemOutput)
	return out, c.service.Call(ctx, putItem, in, out, aws.NopRetryer{})
}

// UpdateItem changes an item.
func (c *Client) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	out := new(dynamodb.UpdateItemOutput)
	return out, c.service.Call(ctx, updateItem, in, out, aws.NopRetryer{})
}

// DeleteItem takes an item away.
func (c *Client) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput) (*dynamodb.DeleteItemOutput, error) {
	out := new(dynamodb.DeleteItemOutput)
	return out, c.service.Call(ctx, deleteItem, in, out, aws.NopRetryer{})
}

// Query reads a page of items.
func (c *Client) Query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	out := new(dynamodb.QueryOutput)
	return out, c.service.Call(ctx, query, in, out, c.reads)
}
