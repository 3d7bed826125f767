// Package dynamotest gives tests a DynamoDB to talk to over the wire: kumo, which runs in the test's own process, mended where it is
// known not to do as DynamoDB does (see Deviations); and whatever CHIPS_DYNAMODB_ENDPOINT names, as it is.
//
// What an emulator gets wrong is put right here and never in the adapter: a way around it there would be a way around DynamoDB.
package dynamotest

import (
	"context"
	"crypto/rand"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	"github.com/sivchari/kumo"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/dynamo"
)

// EndpointVariable names the environment variable with the URL of another DynamoDB to run the tests against. MiniStack passes them;
// moto_server does but for "writers race for a row", now and then: its UpdateItem is not atomic, and loses an ADD of two at once.
const EndpointVariable = "CHIPS_DYNAMODB_ENDPOINT"

// Emulator is one DynamoDB that tests run against.
type Emulator struct {
	Name string
	// New answers the API and the name of a new, empty table.
	New func(t testing.TB) (dynamo.API, string)
}

// Emulators are those there are: kumo, and the one of CHIPS_DYNAMODB_ENDPOINT where that is set.
func Emulators() []Emulator {
	all := []Emulator{{"kumo", Kumo}}
	if url := os.Getenv(EndpointVariable); url != "" {
		all = append(all, Emulator{"endpoint", func(t testing.TB) (dynamo.API, string) {
			client := Client(url)
			return client, newTable(t, client)
		}})
	}
	return all
}

// Kumo makes a new table on a mended kumo, which stops with the test.
func Kumo(t testing.TB) (dynamo.API, string) {
	server := kumo.NewServer()
	t.Cleanup(server.Close)
	client := Client(server.URL)
	return mended{client}, newTable(t, client)
}

// Open is a table on Kumo.
func Open(t testing.TB) *dynamo.Table {
	api, name := Kumo(t)
	return dynamo.New(api, name)
}

// Client talks to the DynamoDB at a URL with credentials that nobody checks.
func Client(url string, o ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		APIOptions:   []func(*middleware.Stack) error{apigw.PlainBodies},
		Region:       "us-east-1",
		BaseEndpoint: aws.String(url),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	}, o...)
}

// newTable makes a table that is deleted with the test.
func newTable(t testing.TB, client *dynamodb.Client) string {
	t.Helper()
	name := "chips-" + rand.Text()
	if err := dynamo.CreateTable(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
		if err != nil {
			t.Logf("delete table %s: %v", name, err)
		}
	})
	return name
}
