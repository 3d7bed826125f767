package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/settings"
)

// lambda is a function's main as a process that runs as Lambda runs it: it asks the Runtime API for the next event and posts what it
// answers.
type lambda struct {
	cmd     *exec.Cmd
	api     net.Listener
	log     bytes.Buffer
	events  chan []byte
	asked   chan struct{} // one for each time it asks
	answers chan []byte
	ended   chan struct{}
	started time.Time
}

// Of the environment in the template: named says where something is, and forGo is for Go's own runtime.
var (
	named = regexp.MustCompile(`\bCHIPS_[A-Z_]+`)
	forGo = regexp.MustCompile(`\b(GO[A-Z]+): "?([^\s"]+)`)
)

// environment is what the template gives a function, the settings left out, which have defaults: every place is at one address.
func (b *bench) environment(endpoint, table string) ([]string, error) {
	template, err := os.ReadFile("template.yaml")
	if err != nil {
		return nil, fmt.Errorf("%w (it is read where bench is run, at the top of the project)", err)
	}
	env := []string{
		"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET", "AWS_SESSION_TOKEN=SESSION",
		"AWS_ENDPOINT_URL=" + endpoint, "AWS_LAMBDA_FUNCTION_NAME=bench", "PATH=" + os.Getenv("PATH"),
	}
	for _, set := range forGo.FindAllStringSubmatch(string(template), -1) {
		env = append(env, set[1]+"="+set[2])
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(named.FindAllString(string(template), -1)))) {
		switch {
		case name == "CHIPS_TABLE":
			env = append(env, name+"="+table)
		case !slices.Contains(settings.Names(), name):
			env = append(env, name+"="+endpoint+"/prod")
		}
	}
	return env, nil
}

// start runs the main of a function.
func (b *bench) start(name string, env []string) (*lambda, error) {
	l := &lambda{
		cmd:    exec.Command(filepath.Join(b.functions, name, "bootstrap")),
		events: make(chan []byte), asked: make(chan struct{}, 1), answers: make(chan []byte, 1), ended: make(chan struct{}),
	}
	var err error
	if l.api, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go func() { _ = http.Serve(l.api, http.HandlerFunc(l.runtime)) }() //nolint:gosec // loopback, for as long as the process lives
	l.cmd.Env = append(slices.Clone(env), "AWS_LAMBDA_RUNTIME_API="+l.api.Addr().String())
	l.cmd.Stderr = &l.log
	l.started = time.Now()
	if err := l.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the function %s: %w (make bench builds it)", name, err), l.api.Close())
	}
	go func() {
		_ = l.cmd.Wait()
		close(l.ended)
	}()
	return l, l.wait(l.asked)
}

func (l *lambda) wait(asked <-chan struct{}) error {
	select {
	case <-asked:
		return nil
	case <-l.ended:
		return fmt.Errorf("%s ended: %s", l.cmd.Path, l.log.String())
	case <-time.After(30 * time.Second):
		return fmt.Errorf("%s asks for nothing", l.cmd.Path)
	}
}

// stop kills it, as Lambda does in the end. The process's times are known then.
func (l *lambda) stop() {
	_ = l.cmd.Process.Kill()
	<-l.ended
	_ = l.api.Close()
}

// runtime is the Runtime API.
func (l *lambda) runtime(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/invocation/next") {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		l.answers <- body
		return
	}
	l.asked <- struct{}{}
	select {
	case event := <-l.events:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(29*time.Second).UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:123456789012:function:bench")
		_, _ = w.Write(event)
	case <-l.ended:
	}
}

// invoke hands it an event and waits for what it answers, and until it asks for the next.
func (l *lambda) invoke(ctx context.Context, event any) ([]byte, error) {
	raw, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	select {
	case l.events <- raw:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case answer := <-l.answers:
		return answer, l.wait(l.asked)
	case <-l.ended:
		return nil, fmt.Errorf("%s ended: %s", l.cmd.Path, l.log.String())
	case <-time.After(30 * time.Second):
		return nil, fmt.Errorf("%s does not answer", l.cmd.Path)
	}
}

// parameters answers for Parameter Store, and takes whatever else comes, with pushes counted.
func parameters() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"Parameter":{"Name":"/chips/admin-token","Type":"SecureString","Value":"a-token-of-the-benchmark"}}`)
	}))
}

// cold measures how long a function takes from its start until it asks for its first event.
func (b *bench) cold(context.Context) error {
	aws := parameters()
	defer aws.Close()
	env, err := b.environment(aws.URL, "chips")
	if err != nil {
		return err
	}
	names, err := os.ReadDir("functions")
	if err != nil {
		return err
	}
	var rows []row
	for _, f := range names {
		if !f.IsDir() {
			continue
		}
		took := row{what: f.Name() + ", exec to first next", unit: millis, goal: 40}
		cpu := row{what: f.Name() + ", processor time", unit: millis}
		for range b.pick(21, 7) {
			l, err := b.start(f.Name(), env)
			if err != nil {
				return err
			}
			took.values = append(took.values, ms(time.Since(l.started)))
			l.stop()
			cpu.values = append(cpu.values, ms(l.cmd.ProcessState.UserTime()+l.cmd.ProcessState.SystemTime()))
		}
		rows = append(rows, took, cpu)
	}
	b.print("Cold start", "Each function's binary, started anew each time on a Runtime API in this process, with the template's environment; Parameter Store answers at once.\n"+
		"Lambda adds to that what it takes to fetch and unpack the package, and its own machine's speed.", rows...)
	return nil
}
