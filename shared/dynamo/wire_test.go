package dynamo_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
	"github.com/chipschat/chips-aws/shared/engine"
)

// answering is a table on a DynamoDB that answers each call with what reply says, and counts them.
func answering(t *testing.T, reply func(call string, n int64) (status int, body string), o ...func(*aws.Config)) (*dynamo.Table, *atomic.Int64) {
	t.Helper()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		status, body := reply(call, calls.Add(1))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return dynamo.New(dynamotest.API(server.URL, o...), "chips"), &calls
}

// tryOnce has reads too tried once.
func tryOnce(cfg *aws.Config) { cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} } }

func errorBody(code string) string {
	return `{"__type":"com.amazonaws.dynamodb.v20120810#` + code + `","message":"no"}`
}

// writes are one of each kind.
var writes = map[string]func(*testing.T, *dynamo.Table) error{
	"append": func(t *testing.T, table *dynamo.Table) error {
		_, err := table.Append(t.Context(), []engine.Append{{Commit: engine.Commit{Workspace: "ws_1", First: 1, Events: [][]byte{[]byte("{}")}}}})
		return err
	},
	"put": func(t *testing.T, table *dynamo.Table) error {
		return put(table, engine.Row{PK: "T#1", SK: "-"}, engine.Absent)(t.Context())
	},
	"delete": func(t *testing.T, table *dynamo.Table) error {
		_, err := table.Delete(t.Context(), "T#1", "-", engine.Always)
		return err
	},
}

// A refusal for now is ErrThrottled, and a write is tried once.
func TestThrottled(t *testing.T) {
	for _, code := range []string{"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"} {
		table, calls := answering(t, func(string, int64) (int, string) { return 400, errorBody(code) })
		for what, write := range writes {
			calls.Store(0)
			if err := write(t, table); !errors.Is(err, engine.ErrThrottled) {
				t.Errorf("%s, %s: %v, want ErrThrottled", code, what, err)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("%s, %s: tried %d times, want once", code, what, n)
			}
		}
		table, _ = answering(t, func(string, int64) (int, string) { return 400, errorBody(code) }, tryOnce)
		if _, _, err := table.Get(t.Context(), "T#1", "-"); !errors.Is(err, engine.ErrThrottled) {
			t.Errorf("%s, get: %v, want ErrThrottled", code, err)
		}
	}
}

// The outcome of a write that fails otherwise is unknown, and the table does not try to find out.
func TestWriteTriedOnce(t *testing.T) {
	table, calls := answering(t, func(string, int64) (int, string) { return 500, errorBody("InternalServerError") })
	for what, write := range writes {
		calls.Store(0)
		err := write(t, table)
		if err == nil || errors.Is(err, engine.ErrThrottled) || errors.Is(err, engine.ErrCondition) {
			t.Errorf("%s: %v, want an error of no kind", what, err)
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("%s: tried %d times, want once", what, n)
		}
	}
}

// What stands where a put fails comes with the error, in the words of DynamoDB.
func TestConditionFailed(t *testing.T) {
	commit := `{"pk":{"S":"ws_1"},"sk":{"S":"C#000000000007"},"ts":{"N":"1790000000123"},"nonce":{"B":"AgAAAAAAAAAAAA=="},"events":{"B":"AQECe30="}}`
	refused := func(item string) (int, string) {
		return 400, strings.Replace(errorBody("ConditionalCheckFailedException"), `"message"`, `"Item":`+item+`,"message"`, 1)
	}
	a := engine.Append{
		Commit: engine.Commit{Workspace: "ws_1", First: 7, Events: [][]byte{[]byte("{}")}},
		Claim:  &engine.Claim{Workspace: "ws_1", Sender: "usr_1", Key: "k", After: 6}, Replaces: -1,
	}
	for _, tt := range []struct {
		what    string
		replies []string
		want    func(engine.Result) bool
	}{
		{"claim taken", []string{`{"after":{"N":"4"}}`}, func(r engine.Result) bool {
			return r.Taken != nil && r.Taken.After == 4 && r.Taken.Key == "k" && !r.Claimed && r.Winner == nil
		}},
		{"claim as asked, slot taken", []string{`{"after":{"N":"6"}}`, commit}, func(r engine.Result) bool {
			return r.Claimed && !r.Written && r.Winner != nil && r.Winner.First == 7 && r.Winner.Nonce == [10]byte{2} && string(r.Winner.Events[0]) == "{}"
		}},
		{"claim gone", []string{`null`}, func(r engine.Result) bool { return r == engine.Result{} }},
	} {
		table, calls := answering(t, func(_ string, n int64) (int, string) { return refused(tt.replies[n-1]) })
		r, err := table.Append(t.Context(), []engine.Append{a})
		if err != nil || len(r) != 1 || !tt.want(r[0]) {
			t.Errorf("%s: %+v, %v", tt.what, r, err)
		}
		if n := calls.Load(); n != int64(len(tt.replies)) {
			t.Errorf("%s: %d calls, want %d", tt.what, n, len(tt.replies))
		}
	}
}

// Of a chain that fails midway the results up to there are answered.
func TestChainFails(t *testing.T) {
	table, _ := answering(t, func(_ string, n int64) (int, string) {
		if n == 2 {
			return 400, errorBody("ThrottlingException")
		}
		return 200, `{}`
	})
	c := engine.Commit{Workspace: "ws_1", First: 1, Events: [][]byte{[]byte("{}")}}
	d := c
	d.First = 2
	r, err := table.Append(t.Context(), []engine.Append{{Commit: c}, {Commit: d}})
	if !errors.Is(err, engine.ErrThrottled) || len(r) != 1 || !r[0].Written {
		t.Errorf("%+v, %v; want the first written, and ErrThrottled", r, err)
	}
}

// A read is tried again, as the client is configured to.
func TestReadTriedAgain(t *testing.T) {
	table, calls := answering(t, func(_ string, n int64) (int, string) {
		if n == 1 {
			return 500, errorBody("InternalServerError")
		}
		return 200, `{"Items":[]}`
	})
	if _, some, err := table.Head(t.Context(), "ws_1"); some || err != nil {
		t.Errorf("head: %v, %v", some, err)
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}
