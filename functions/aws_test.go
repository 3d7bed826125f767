package functions_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/sivchari/kumo"

	"github.com/chipschat/chips-aws/shared/dynamo"
)

const (
	adminToken = "the-operators-token"
	tableName  = "chips"
	// edgeSecret is what the edge adds to each request; edgeBefore what it did before it went over to another.
	edgeSecret = "the-secret-of-the-edge"
	edgeBefore = "the-one-before-it"
	bucketName = "files-of-the-stack"
	publicURL  = "https://chips.example"
)

// cloud is what the mains reach for: the table and the bucket (an emulator), and stand-ins that note what they are asked.
type cloud struct {
	emulator *httputil.ReverseProxy
	url      string // the emulator's
	bin      string // where the built mains are

	mu      sync.Mutex
	used    map[string][]string // by function, the IAM action and resource of each call, once
	pushes  []string            // "POST connection frame" and "DELETE connection "
	invoked []string            // payloads of the replay function
	heard   time.Time           // when any connection was last active
	gone    bool                // whether all connections are
	queued  []message           // what was sent to queues
	// schedules are the requests that made them, by name.
	schedules map[string]string
}

// message is one of a queue's.
type message struct {
	QueueURL     string `json:"QueueUrl"`
	MessageBody  string
	DelaySeconds int
}

// emulator is kumo, one for all tests: those of a process share what they hold, and to start one while another puts objects is a data race of kumo's.
var emulator = sync.OnceValue(kumo.NewServer)

// newCloud builds the mains and starts the emulator.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{bin: t.TempDir(), used: map[string][]string{}, schedules: map[string]string{}}
	build := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", c.bin+string(filepath.Separator), "./...")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	c.url = emulator().URL
	target, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	c.emulator = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	return c
}

// endpoint is AWS as one function sees it.
func (c *cloud) endpoint(function string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		service, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		switch {
		case strings.HasPrefix(service, "DynamoDB_"):
			c.note(function, "dynamodb:"+action+" "+rowsOf(body))
			c.emulator.ServeHTTP(w, r)
		case service == "AmazonSSM":
			var in struct{ Name string }
			_ = json.Unmarshal(body, &in)
			value := map[string]string{"/chips/admin-token": adminToken, "/chips/chips/url": publicURL}[in.Name]
			c.note(function, "ssm:"+action+" parameter"+in.Name)
			_ = json.NewEncoder(w).Encode(map[string]any{"Parameter": map[string]string{"Name": in.Name, "Value": value}})
		case strings.HasPrefix(r.URL.Path, "/"+bucketName+"/"):
			action := map[string]string{"PUT": "PutObject", "GET": "GetObject", "DELETE": "DeleteObject"}[r.Method]
			folder, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"+bucketName+"/"), "/")
			c.note(function, "s3:"+action+" bucket/"+folder+"/*")
			c.emulator.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "/2015-03-31/functions/"):
			c.note(function, "lambda:InvokeFunction replay")
			c.mu.Lock()
			c.invoked = append(c.invoked, string(body))
			c.mu.Unlock()
			w.WriteHeader(http.StatusAccepted)
		case service == "AmazonSQS":
			var m message
			_ = json.Unmarshal(body, &m)
			c.note(function, "sqs:"+action+" "+path.Base(m.QueueURL))
			c.mu.Lock()
			c.queued = append(c.queued, m)
			c.mu.Unlock()
			_, _ = fmt.Fprintf(w, `{"MessageId":"m","MD5OfMessageBody":"%x"}`, md5.Sum([]byte(m.MessageBody)))
		case r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, "/schedules/"):
			c.note(function, "scheduler:CreateSchedule schedule")
			c.schedule(w, path.Base(r.URL.Path), string(body))
		case strings.HasPrefix(r.URL.Path, "/prod/@connections/"):
			c.note(function, "execute-api:ManageConnections "+r.Method)
			c.mu.Lock()
			id := strings.TrimPrefix(r.URL.Path, "/prod/@connections/")
			gone, heard := c.gone, c.heard
			if r.Method != http.MethodGet {
				c.pushes = append(c.pushes, r.Method+" "+id+" "+string(body))
			}
			c.mu.Unlock()
			switch {
			case gone:
				w.WriteHeader(http.StatusGone)
			case r.Method == http.MethodGet:
				_, _ = io.WriteString(w, `{"identity":{},"lastActiveAt":"`+heard.UTC().Format(time.RFC3339)+`"}`)
			}
		default:
			c.note(function, "unknown "+r.Method+" "+r.URL.Path+" "+service+"."+action)
			w.WriteHeader(http.StatusNotImplemented)
		}
	})
}

// rowsOf is what a call of the table is about: an index, or rows by what their pk begins with.
func rowsOf(body []byte) string {
	var in struct {
		IndexName                 string
		Key, Item                 struct{ PK struct{ S string } }
		ExpressionAttributeValues struct {
			PK struct{ S string } `json:":pk"`
		}
	}
	_ = json.Unmarshal(body, &in)
	if in.IndexName != "" {
		return "table/index/" + in.IndexName
	}
	pk := in.Key.PK.S + in.Item.PK.S + in.ExpressionAttributeValues.PK.S
	if end := strings.IndexAny(pk, "#_"); end > 0 {
		return "table " + pk[:end+1]
	}
	return "table without a known pk: " + string(body)
}

// schedule makes one, of which there is one for a name.
func (c *cloud) schedule(w http.ResponseWriter, name, request string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if c.schedules[name] != "" {
		w.Header().Set("X-Amzn-ErrorType", "ConflictException")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"Message":"it exists"}`)
		return
	}
	c.schedules[name] = request
	_, _ = io.WriteString(w, `{"ScheduleArn":"arn:aws:scheduler:eu-central-1:123456789012:schedule/chips-deadlines/`+name+`"}`)
}

func (c *cloud) note(function, call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.used[function], call) {
		c.used[function] = append(c.used[function], call)
	}
}

// createTable makes the table by the adapter's own account of it.
func createTable(t *testing.T, endpoint, name string) {
	t.Helper()
	if err := dynamo.CreateTable(context.Background(), dynamodb.NewFromConfig(configOf(endpoint)), name); err != nil {
		t.Fatal(err)
	}
}

func configOf(endpoint string) aws.Config {
	return aws.Config{BaseEndpoint: &endpoint, Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", "")}
}

// streamOf is a batch of the table's stream: a record of each commit of a workspace.
func streamOf(t *testing.T, endpoint, workspace string) []byte {
	t.Helper()
	query := fmt.Sprintf(`{"TableName":%q,"KeyConditionExpression":"pk = :ws and begins_with(sk, :c)","ExpressionAttributeValues":{":ws":{"S":%q},":c":{"S":"C#"}}}`, tableName, workspace)
	req, err := http.NewRequest("POST", endpoint, strings.NewReader(query))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.Query")
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var out struct {
		Items []map[string]json.RawMessage
	}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || len(out.Items) == 0 {
		t.Fatalf("reading the commits: %d, %v", len(out.Items), err)
	}
	var records []any
	for i, item := range out.Items {
		records = append(records, map[string]any{
			"eventID": fmt.Sprintf("%032x", i), "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "eu-central-1",
			"dynamodb": map[string]any{
				"ApproximateCreationDateTime": 1796040001, "Keys": map[string]any{"pk": item["pk"], "sk": item["sk"]}, "NewImage": item,
				"SequenceNumber": fmt.Sprintf("4421584500000000017450%03d", i), "SizeBytes": 640, "StreamViewType": "NEW_IMAGE",
			},
			"eventSourceARN": "arn:aws:dynamodb:eu-central-1:123456789012:table/chips/stream/2026-11-30T00:00:00.000",
		})
	}
	batch, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// take answers the pushes since it was last asked.
func (c *cloud) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	pushes := c.pushes
	c.pushes = nil
	return pushes
}
