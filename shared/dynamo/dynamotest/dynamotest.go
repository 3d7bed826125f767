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
	mend  func(dynamo.API) dynamo.API
}

// New answers the API and the name of a new, empty table.
func (e Emulator) New(t testing.TB) (dynamo.API, string) {
	url := e.start(t)
	return e.mend(API(url)), newTable(t, Client(url))
}

// Plain is New with the SDK's client.
func (e Emulator) Plain(t testing.TB) (*dynamodb.Client, string) {
	client := Client(e.start(t))
	return client, newTable(t, client)
}

// Behind is New, with the same table's API also through what stands in front of the emulator: front is given the emulator's URL and
// answers its own.
func (e Emulator) Behind(t testing.TB, front func(url string) string, o ...func(*aws.Config)) (direct, behind dynamo.API, table string) {
	url := e.start(t)
	return e.mend(API(url)), e.mend(API(front(url), o...)), newTable(t, Client(url))
}

var mendedKumo = Emulator{
	Name: "kumo",
	start: func(t testing.TB) string {
		server := kumo.NewServer()
		t.Cleanup(server.Close)
		return server.URL
	},
	mend: func(api dynamo.API) dynamo.API { return mended{api} },
}

// Emulators are those there are: kumo, and the one of CHIPS_DYNAMODB_ENDPOINT where that is set.
func Emulators() []Emulator {
	all := []Emulator{mendedKumo}
	if url := os.Getenv(EndpointVariable); url != "" {
		all = append(all, Emulator{
			"endpoint", func(testing.TB) string { return url }, func(api dynamo.API) dynamo.API { return api },
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

// Client is the SDK's client of the DynamoDB at a URL, for what there is beside reading and writing.
func Client(url string) *dynamodb.Client { return dynamodb.NewFromConfig(config(url)) }

// API is ours.
func API(url string, o ...func(*aws.Config)) dynamo.API {
	cfg := config(url)
	for _, set := range o {
		set(&cfg)
	}
	return dynamo.NewClient(cfg)
}

// config has credentials that nobody checks.
func config(url string) aws.Config {
	return aws.Config{
		APIOptions:   []func(*middleware.Stack) error{apigw.PlainBodies},
		Region:       "us-east-1",
		BaseEndpoint: aws.String(url),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	}
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
