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
	// start answers its URL, and mend puts right what it does otherwise than DynamoDB.
	start func(t testing.TB) string
	mend  func(*dynamodb.Client) dynamo.API
}

// New answers the API and the name of a new, empty table.
func (e Emulator) New(t testing.TB) (dynamo.API, string) {
	client := Client(e.start(t))
	return e.mend(client), newTable(t, client)
}

// Behind is New, with the same table's API also through what stands in front of the emulator: front is given the emulator's URL and
// answers its own.
func (e Emulator) Behind(t testing.TB, front func(url string) string, o ...func(*dynamodb.Options)) (direct, behind dynamo.API, table string) {
	url := e.start(t)
	client := Client(url)
	return e.mend(client), e.mend(Client(front(url), o...)), newTable(t, client)
}

var mendedKumo = Emulator{
	Name: "kumo",
	start: func(t testing.TB) string {
		server := kumo.NewServer()
		t.Cleanup(server.Close)
		return server.URL
	},
	mend: func(c *dynamodb.Client) dynamo.API { return mended{c} },
}

// Emulators are those there are: kumo, and the one of CHIPS_DYNAMODB_ENDPOINT where that is set.
func Emulators() []Emulator {
	all := []Emulator{mendedKumo}
	if url := os.Getenv(EndpointVariable); url != "" {
		all = append(all, Emulator{
			"endpoint", func(testing.TB) string { return url }, func(c *dynamodb.Client) dynamo.API { return c },
		})
	}
	return all
}

// Kumo makes a new table on a mended kumo, which stops with the test.
func Kumo(t testing.TB) (dynamo.API, string) { return mendedKumo.New(t) }

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
