package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/client"
)

// binary is the program built once, with the race detector where the tests have it.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "chips-test-")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "chips")
	args := []string{"build", "-o", path}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-race" && s.Value == "true" {
				args = append(args, "-race")
			}
		}
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		return path, fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// built is where binary put the program.
var built string

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// command is the program with arguments, in an environment that has no settings but env.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "CHIPS_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// text is what a process wrote so far.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write takes more of it.
func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

// server is one process that serves.
type server struct {
	t     *testing.T
	cmd   *exec.Cmd
	out   text // what it said to people
	logs  text
	ready chan string
	ended chan error
}

const adminToken = "adm_of_the_tests"

// launch starts a server on a data folder; await waits for it.
func launch(t *testing.T, data string, env []string, args ...string) *server {
	t.Helper()
	s := &server{t: t, ready: make(chan string, 1), ended: make(chan error, 1)}
	s.cmd = command(t, env, append([]string{"serve", "--data", data}, args...)...)
	s.cmd.Stderr = &s.logs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Fprintln(&s.out, lines.Text())
			if url, ok := strings.CutPrefix(lines.Text(), "chips: listening on "); ok {
				s.ready <- url
			}
		}
		s.ended <- s.cmd.Wait()
		close(s.ended)
		close(s.ready)
	}()
	t.Cleanup(s.inspect)
	return s
}

// await answers the URL once requests are answered.
func (s *server) await() string {
	s.t.Helper()
	select {
	case url, ok := <-s.ready:
		if !ok {
			s.t.Fatalf("the server ended: %s", s.logs.String())
		}
		return url
	case <-time.After(30 * time.Second):
		s.t.Fatal("the server is not ready")
		return ""
	}
}

// kill ends the process with SIGKILL.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	for range s.ended { // until it is closed
	}
}

// stop ends the process with a signal, and answers how it ended.
func (s *server) stop(sig syscall.Signal) error {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		return err
	case <-time.After(10 * time.Second):
		return errors.New("it goes on after 10 s")
	}
}

// inspect looks at what a server leaves behind.
func (s *server) inspect() {
	s.kill()
	log := s.logs.String()
	if strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic") {
		s.t.Error("the server's log tells of a race or a panic")
	}
	if s.t.Failed() {
		s.t.Logf("the end of the server's log: %s", log[max(0, len(log)-4000):])
	}
}

// as is the HTTP side under a bearer credential.
func as(url, token string) client.API {
	return client.API{URL: url, Credential: client.Bearer(token)}
}

// eventually polls until ok.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("never came: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
