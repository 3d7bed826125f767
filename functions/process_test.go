package functions_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A function is a main that runs as Lambda runs it: it asks the runtime API for the next event and posts the answer.
type function struct {
	t       *testing.T
	name    string
	events  chan []byte
	answers chan answer
	ended   chan struct{}
	log     *lines
}

// answer is what a function posted: its response, or its error.
type answer struct {
	failed bool
	body   []byte
}

// lines collects what a process writes.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a main with the environment the template gives it; overrides change single names.
func (c *cloud) start(t *testing.T, tp template, name string, overrides ...string) *function {
	t.Helper()
	f := &function{t: t, name: name, events: make(chan []byte), answers: make(chan answer), ended: make(chan struct{}), log: &lines{}}
	aws := httptest.NewServer(c.endpoint(name))
	t.Cleanup(aws.Close)
	ctx, cancel := context.WithCancel(context.Background())
	api := httptest.NewServer(f.runtimeAPI(ctx))
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name))
	cmd.Env = append(environment(t, tp, name, aws.URL),
		"AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(api.URL, "http://"), "AWS_LAMBDA_FUNCTION_NAME=chips-"+name,
		"AWS_ENDPOINT_URL="+aws.URL, "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET",
		"AWS_EC2_METADATA_DISABLED=true", "HOME="+t.TempDir())
	cmd.Env = append(cmd.Env, overrides...)
	cmd.Stdout, cmd.Stderr = f.log, f.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(f.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-f.ended
		api.Close()
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, f.log)
		}
	})
	return f
}

// environment is what the template sets for a function, parameters at their defaults, in place of what only a deployment knows.
func environment(t *testing.T, tp template, name, endpoint string) []string {
	t.Helper()
	vars := map[string]any{}
	for _, from := range []any{at(tp.root, "Globals", "Function"), at(tp.functions(t)[name], "Properties")} {
		some, _ := at(from, "Environment", "Variables").(map[string]any)
		for key, value := range some {
			vars[key] = value
		}
	}
	var env []string
	for key, value := range vars {
		ref, _ := at(value, "Ref").(string)
		sub, _ := at(value, "Fn::Sub").(string)
		plain, _ := value.(string)
		switch {
		case plain != "":
			env = append(env, key+"="+plain)
		case ref == "Table":
			env = append(env, key+"="+tableName)
		case key == "CHIPS_EDGE_SECRETS":
			env = append(env, key+"="+edgeSecret+","+edgeBefore)
		case ref == "Files":
			env = append(env, key+"="+bucketName)
		case strings.HasPrefix(sub, "https://${WebSocketApi}"):
			env = append(env, key+"="+endpoint+"/prod")
		case at(tp.root, "Parameters", ref, "Default") != nil:
			env = append(env, fmt.Sprintf("%s=%v", key, at(tp.root, "Parameters", ref, "Default")))
		case sub != "":
			env = append(env, key+"="+strings.ReplaceAll(sub, "${AWS::StackName}", "chips"))
		case ref == "":
			att, _ := at(value, "Fn::GetAtt").(string)
			env = append(env, key+"=arn:aws:of:eu-central-1:123456789012:"+att)
		default:
			env = append(env, key+"="+endpoint+"/"+ref) // a queue
		}
	}
	return env
}

var invocation = regexp.MustCompile(`^/2018-06-01/runtime/invocation/[^/]+/(response|error)$`)

func (f *function) runtimeAPI(ctx context.Context) http.Handler {
	n := 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/2018-06-01/runtime/invocation/next" {
			select {
			case event := <-f.events:
				n++
				w.Header().Set("Lambda-Runtime-Aws-Request-Id", "request-"+strconv.Itoa(n))
				w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(29*time.Second).UnixMilli(), 10))
				w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:123456789012:function:chips-"+f.name)
				_, _ = w.Write(event)
			case <-ctx.Done():
			case <-r.Context().Done():
			}
			return
		}
		m := invocation.FindStringSubmatch(r.URL.Path)
		if m == nil {
			http.NotFound(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		select {
		case f.answers <- answer{failed: m[1] == "error", body: body}:
		case <-ctx.Done():
		}
	})
}

// invoke hands the function one event and waits for what it answers.
func (f *function) invoke(event []byte) answer {
	f.t.Helper()
	deadline := time.After(30 * time.Second)
	select {
	case f.events <- event:
	case <-f.ended:
		f.t.Fatalf("%s ended:\n%s", f.name, f.log)
	case <-deadline:
		f.t.Fatalf("%s asks for no event:\n%s", f.name, f.log)
	}
	select {
	case a := <-f.answers:
		return a
	case <-f.ended:
		f.t.Fatalf("%s ended:\n%s", f.name, f.log)
	case <-deadline:
		f.t.Fatalf("%s does not answer:\n%s", f.name, f.log)
	}
	return answer{}
}

// payload is one of events/, with words in it replaced. It came by the edge, unless EDGE is one of them.
func payload(t *testing.T, name string, replace ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "events", name))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.NewReplacer(append(replace, "EDGE", edgeSecret)...).Replace(string(raw)))
}
