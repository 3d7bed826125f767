package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/chipschat/chips-aws/shared/client"
)

const adminToken = "bench-admin-token"

// server is a `chips serve` of ours.
type server struct {
	cmd *exec.Cmd
	url string
	// ended is closed when the process is gone.
	ended chan struct{}
}

// serve starts the program on a data folder and waits until it answers requests.
func (b *bench) serve(ctx context.Context, data string) (*server, error) {
	logs, err := os.Create(filepath.Join(b.dir, "server.log"))
	if err != nil {
		return nil, err
	}
	defer logs.Close()
	s := &server{cmd: exec.Command(b.chips, "serve", "--addr", "127.0.0.1:0", "--data", data), ended: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), "CHIPS_ADMIN_TOKEN="+adminToken, "CHIPS_PERSON_KEYS=1")
	s.cmd.Stderr = logs
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w (make bench builds it)", b.chips, err)
	}
	ready := make(chan string, 1)
	go func() {
		defer close(s.ended)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if url, ok := strings.CutPrefix(lines.Text(), "chips: listening on "); ok {
				ready <- url
			}
		}
		_ = s.cmd.Wait()
	}()
	select {
	case s.url = <-ready:
		return s, nil
	case <-s.ended:
		said, _ := os.ReadFile(logs.Name())
		return nil, fmt.Errorf("%s serve did not start: %s", b.chips, said)
	case <-time.After(30 * time.Second):
		return nil, errors.Join(fmt.Errorf("%s serve was not ready after 30 s", b.chips), s.stop())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), s.stop())
	}
}

// stop ends the process as an operator would, and by force where it does not end.
func (s *server) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
		return nil
	case <-time.After(10 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.ended
		return errors.New("chips serve did not end within 10 s of SIGTERM")
	}
}

// with starts the program, calls f, and stops the program.
func (b *bench) with(ctx context.Context, data string, f func(*server) error) error {
	s, err := b.serve(ctx, data)
	if err != nil {
		return err
	}
	err = f(s)
	select {
	case <-s.ended:
		err = errors.Join(err, errors.New("chips serve ended by itself"))
	default:
	}
	if err != nil {
		err = errors.Join(err, s.lastWords(b))
	}
	return errors.Join(err, s.stop())
}

// lastWords is the end of what the server logged.
func (s *server) lastWords(b *bench) error {
	said, err := os.ReadFile(filepath.Join(b.dir, "server.log"))
	if err != nil || len(said) == 0 {
		return nil
	}
	return fmt.Errorf("the server's log ends:\n%s", said[max(0, len(said)-2000):])
}

// admin is the server's HTTP side for the operator.
func (s *server) admin() client.API {
	return client.API{URL: s.url, Credential: client.Bearer(adminToken)}
}

// cpu is how much processor time the server has used, and this process.
func (s *server) cpu() (server, own time.Duration, err error) {
	if server, err = cpuOf(s.cmd.Process.Pid); err != nil {
		return 0, 0, err
	}
	own, err = cpuOf(os.Getpid())
	return server, own, err
}

// cpuOf is how much processor time a process has used.
func cpuOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// After the name in parentheses: the state, and eleven numbers before those of time in user and in system, in hundredths of a second.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, errors.New("/proc has no times")
	}
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, err
}

// memory answers a number of /proc/PID/status in MB: VmRSS is what the process has in memory, VmHWM the most it had.
func (s *server) memory(field string) (float64, error) { return memoryOf(s.cmd.Process.Pid, field) }

func memoryOf(pid int, field string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(l, field+":"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc has no %s", field)
}
