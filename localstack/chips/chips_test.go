package main

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

func TestServe(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "made", "data")
	s := launch(t, data, []string{"CHIPS_ADDR=127.0.0.1:0"})
	url := s.await()
	var health struct {
		Status  string `json:"status"`
		Version string `json:"version"`
	}
	if err := (client.API{URL: url}).Do(t.Context(), http.MethodGet, "/v1/health", nil, &health); err != nil || health.Status != "ok" || health.Version == "" {
		t.Fatalf("health: %+v, %v", health, err)
	}

	// The admin token was made, printed and kept for its owner alone.
	kept, err := os.ReadFile(filepath.Join(data, adminTokenFile))
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(string(kept))
	info, err := os.Stat(filepath.Join(data, adminTokenFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file is %v, %v", info.Mode(), err)
	}
	if len(token) < 20 || !strings.Contains(s.out.String(), token) {
		t.Errorf("token %q is not printed: %s", token, s.out.String())
	}
	w, err := as(url, token).CreateWorkspace(t.Context(), "Acme", "Arjun")
	if err != nil || w.Key == "" {
		t.Fatalf("workspace: %+v, %v", w, err)
	}
	if _, err := as(url, token+"x").CreateWorkspace(t.Context(), "Acme", "Arjun"); err == nil {
		t.Error("any admin token is taken")
	}

	// Nobody else may have the folder.
	second := command(t, nil, "serve", "--data", data, "--addr", "127.0.0.1:0")
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "another chips is running") {
		t.Errorf("a second one on the folder: %v, %s", err, out)
	}

	// An orderly end, with a socket open.
	states := make(chan client.State, 100)
	c := client.New(client.Config{URL: url, Credential: client.Bearer(w.Key), OnState: func(s client.State, _ error) { states <- s }})
	go func() { _ = c.Run(t.Context()) }()
	for <-states != client.Subscribed {
	}
	began := time.Now()
	if err := s.stop(syscall.SIGTERM); err != nil || time.Since(began) > 5*time.Second {
		t.Fatalf("SIGTERM: %v after %v", err, time.Since(began))
	}
	if state := <-states; state != client.Lost {
		t.Errorf("the socket is %s", state)
	}
	for line := range strings.Lines(s.logs.String()) {
		if !jsontext.Value(line).IsValid() {
			t.Errorf("logged %q, which is no JSON", line)
		}
		if strings.Contains(line, token) || strings.Contains(line, w.Key) {
			t.Errorf("logged a secret: %s", line)
		}
	}

	// Started again it keeps its token, does not print it, and reads its settings anew.
	s = launch(t, data, []string{"CHIPS_PERSON_KEYS=0"}, "--addr", strings.TrimPrefix(url, "http://"))
	if again := s.await(); again != url {
		t.Fatalf("listens on %s, not %s", again, url)
	}
	if _, err := as(url, token).CreateWorkspace(t.Context(), "Acme", "Arjun"); err != nil {
		t.Error(err)
	}
	if strings.Contains(s.out.String(), token) {
		t.Error("the token is printed each time")
	}
	var refusal *protocol.Error
	if _, err := as(url, w.Key).Events(t.Context(), client.EventsQuery{}); !errors.As(err, &refusal) || refusal.Code != protocol.Unauthorized {
		t.Errorf("a person's key where they are off: %v", err)
	}
	if err := s.stop(syscall.SIGINT); err != nil {
		t.Errorf("SIGINT: %v", err)
	}
}

func TestDemoListenAndSend(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		out, err := command(t, nil, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("chips %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	s := launch(t, data, nil, "--demo", "--addr", "127.0.0.1:0")
	url := s.await()
	eventually(t, "what to try", func() bool { return strings.Contains(s.out.String(), `send "hello, Echo"`) })

	heard := &text{}
	listen := command(t, nil, "listen", "--data", data, "--since", "0")
	listen.Stdout = heard
	if err := listen.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listen.Process.Kill(); _ = listen.Wait() }()
	ack := run("send", "--data", data, "--idempotency-key", "k1", "hello, Echo")
	if !strings.Contains(ack, `"idempotency_key":"k1"`) || !strings.Contains(ack, `"duplicate":false`) {
		t.Errorf("ack is %s", ack)
	}
	eventually(t, "the echo", func() bool { return strings.Contains(heard.String(), `"text":"You said: hello, Echo"`) })

	// Killed and started again, it is the same demo, on whatever port, and nothing is said twice.
	s.kill()
	s = launch(t, data, nil, "--demo", "--addr", strings.TrimPrefix(url, "http://"))
	s.await()
	if ack := run("send", "--data", data, "--idempotency-key", "k1", "hello, Echo"); !strings.Contains(ack, `"duplicate":true`) {
		t.Errorf("ack of a repeat is %s", ack)
	} else if !strings.Contains(ack, "posted before") {
		t.Errorf("a repeat says %s", ack)
	}
	out, err := command(t, nil, "send", "--data", data, "--idempotency-key", "k1", "something else").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "nothing was posted") {
		t.Errorf("another message under a key: %v: %s", err, out)
	}
	run("send", "--data", data, "still here?")
	eventually(t, "the second echo", func() bool { return strings.Contains(heard.String(), "You said: still here?") })
	if n := strings.Count(heard.String(), `"text":"You said: hello, Echo"`); n != 1 {
		t.Errorf("the first echo was heard %d times", n)
	}
	for line := range strings.Lines(heard.String()) {
		if !jsontext.Value(line).IsValid() {
			t.Errorf("printed %q, which is no JSON", line)
		}
	}
	listens(t, "is past the log's end (", "--data", data, "--since", "5000")
	listens(t, `"text":"hello, Echo"`, "--data", data, "--since", "0", "--socket-url", "ws"+strings.TrimPrefix(url, "http")+"/v1/ws")
	out, err = command(t, nil, "listen", "--url", url, "--key", "nobody's").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "unauthorized") || strings.Contains(string(out), "trying again") {
		t.Errorf("listen with a bad key: %v: %s", err, out)
	}
	second, err := command(t, nil, "serve", "--data", t.TempDir(), "--addr", strings.TrimPrefix(url, "http://")).CombinedOutput()
	if err == nil || !strings.Contains(string(second), "--addr 127.0.0.1:0") {
		t.Errorf("a port that is taken: %v: %s", err, second)
	}
	if err := listen.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := listen.Wait(); err != nil {
		t.Errorf("listen ended with %v", err)
	}
}

// listens waits until chips listen has said something, on whichever output.
func listens(t *testing.T, what string, args ...string) {
	t.Helper()
	heard := &text{}
	listen := command(t, nil, append([]string{"listen"}, args...)...)
	listen.Stdout, listen.Stderr = heard, heard
	if err := listen.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listen.Process.Kill(); _ = listen.Wait() }()
	eventually(t, what, func() bool { return strings.Contains(heard.String(), what) })
}

// Whoever takes the log away, to begin anew, gets a new demo; a token's file without a token is as none.
func TestTheDataFolderInPieces(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := launch(t, data, nil, "--demo", "--addr", "127.0.0.1:0")
	s.await()
	eventually(t, "what to try", func() bool { return strings.Contains(s.out.String(), `send "hello, Echo"`) })
	s.kill()
	for name, content := range map[string][]byte{"chips.db": nil, adminTokenFile: nil} {
		if err := os.WriteFile(filepath.Join(data, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = launch(t, data, nil, "--demo", "--addr", "127.0.0.1:0")
	s.await()
	eventually(t, "what to try", func() bool { return strings.Contains(s.out.String(), `send "hello, Echo"`) })
	out, err := command(t, nil, "send", "--data", data, "--idempotency-key", "k1", "hello, Echo").CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"duplicate":false`) {
		t.Errorf("send: %v: %s", err, out)
	}
}

func TestTheProgramTeaches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
		fail bool
	}{
		{[]string{"--help"}, `chips send "hello, Echo"`, false},
		{[]string{"serve", "--help"}, "CHIPS_TICKET_TTL_MS", false},
		{[]string{"--version"}, "protocol 1", false},
		{nil, "see chips --help", true},
		{[]string{"send"}, "see chips send --help", true},
		{[]string{"listen", "--since=-1"}, "since -1 is below 0", true},
		{[]string{"listen", "--url", "ftp://HOST", "--key", "k"}, "http://HOST or https://HOST", true},
		{[]string{"send", "--url", "HOST", "--key", "k", "x"}, "http://HOST or https://HOST", true},
		{[]string{"send", "--url", "http://HOST", "--socket-url", "HOST/prod", "--key", "k", "x"}, "--socket-url", true},
		{[]string{"listen", "--help"}, "--since 0", false},
		{[]string{"send", "--help"}, "--room", false},
		{[]string{"version"}, "protocol 1", false},
		{[]string{"send", "--data", t.TempDir(), "x"}, "run chips serve --demo", true},
		{[]string{"serve", "--data", t.TempDir(), "--addr", "nowhere"}, "nowhere", true},
		{[]string{"send", "--url", "http://127.0.0.1:1", "--key", "k", "--room", "r", "--wait", "300ms", "x"}, "never reached the server within 300ms", true},
	} {
		out, err := command(t, nil, c.args...).CombinedOutput()
		if !strings.Contains(string(out), c.says) || (err != nil) != c.fail {
			t.Errorf("chips %s: %v: %s", strings.Join(c.args, " "), err, out)
		}
	}
	out, err := command(t, []string{"CHIPS_PING_MS=soon"}, "serve", "--data", t.TempDir()).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "CHIPS_PING_MS") {
		t.Errorf("a bad setting: %v: %s", err, out)
	}
	none := filepath.Join(t.TempDir(), "none")
	out, err = command(t, []string{"CHIPS_PERSON_KEYS=0"}, "serve", "--demo", "--data", none).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "CHIPS_PERSON_KEYS") {
		t.Errorf("a demo without people's keys: %v: %s", err, out)
	}
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was refused, and its folder was made: %v", err)
	}
}
