package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// server is a MiniStack that this program started.
type server struct {
	url string
	cmd *exec.Cmd
	dir string
	// ended is closed when the process has ended, and why says how.
	ended chan struct{}
	why   error
}

// startServer starts MiniStack on a free port of the loopback, with its log in a file, and waits until it answers.
func startServer(ctx context.Context, program, log string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "chips-ministack-")
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://127.0.0.1:" + port, ended: make(chan struct{}), dir: dir}
	out, err := os.Create(log)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer out.Close()
	s.cmd = exec.Command(program)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	s.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "STATE_DIR=" + dir,
		"BIND_HOST=127.0.0.1", "GATEWAY_PORT=" + port, "LOG_LEVEL=INFO",
		"AWS_ENDPOINT_URL=" + s.url, // what the functions are given: this server is all of AWS to them
		"MINISTACK_REGION=" + region, "IOT_MTLS_ENABLED=0", "SFTP_ENABLED=0",
	}
	if err := s.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start MiniStack: %w", err), os.RemoveAll(dir))
	}
	go func() {
		s.why = s.cmd.Wait()
		close(s.ended)
	}()
	if err := s.await(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// freePort answers a port that nobody listens on for now; MiniStack cannot be given an open one.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

func (s *server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return eventually(ctx, "MiniStack answers", func() (bool, error) {
		select {
		case <-s.ended:
			return false, fmt.Errorf("MiniStack ended: %w", s.why)
		default:
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/_ministack/health", nil)
		if err != nil {
			return false, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, nil
		}
		return resp.StatusCode == http.StatusOK, resp.Body.Close()
	})
}

// stop ends the process, and takes along what it left in its folder.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(15 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	_ = os.RemoveAll(filepath.Clean(s.dir))
}

// eventually asks until ok or an error, some times a second, as long as ctx goes.
func eventually(ctx context.Context, what string, ok func() (bool, error)) error {
	for {
		done, err := ok()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("never came: %s: %w", what, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
