package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// install builds a program of a module at a version, unless the cache has it, and answers where it is.
func install(ctx context.Context, cache, name, module, version string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(cache, name+"@"+version))
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, name)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	fmt.Fprintf(os.Stderr, "building %s %s, which may take minutes ...\n", name, version)
	build := exec.CommandContext(ctx, "go", "install", module+"@"+version)
	build.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go install %s@%s: %w\n%s", module, version, err, said)
	}
	return program, nil
}

// freePort is a port on loopback that nobody listens on just now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// with runs a server, waits until its port answers, calls f, and ends the server.
func with(ctx context.Context, port int, log string, f func() error, program string, args ...string) (err error) {
	logs, err := os.Create(log)
	if err != nil {
		return err
	}
	defer logs.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = logs, logs
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
		if err != nil {
			said, _ := os.ReadFile(log)
			err = fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, said[max(0, len(said)-2000):])
		}
	}()
	for range 300 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close()
			return f()
		}
		select {
		case <-ended:
			return errors.New("it did not start")
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("its port does not answer")
}
