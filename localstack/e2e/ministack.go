package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/chipschat/chips-aws/shared/faultproxy"
)

// miniStack runs functions as processes of this machine. api is its URL, and front that of the faults in front of it, which is all of AWS
// to the functions.
func miniStack(api, front string) target {
	return target{
		name: "MiniStack", url: api,
		starts: "the program, on a free port of the loopback", stops: "by its process id",
		changes:    append(changes(api, front+"/_aws/execute-api/$${WebSocketApi}/"), gaps...),
		parameters: parameters, faulty: true,
		socket: func(ids map[string]string) place {
			return place{url: api + "/_aws/execute-api/" + ids["WebSocketApi"] + "/" + ids["WebSocketStage"]}
		},
		http: func(ids map[string]string) place { return place{url: api + "/_aws/execute-api/" + ids["HttpApi"]} },
		untried: []string{
			"a refused upgrade is a 401: MiniStack answers 500 to an authorizer that fails with Unauthorized",
			"RouteResponse: MiniStack answers a frame with what the function returned, with or without one",
			"frames of one socket that overtake each other: MiniStack handles them one after the other",
			"the limits of API Gateway (32 KB, 128 KB, 10 minutes, 2 hours); its 429 is made up in front of it",
			"a stream mapping's retries, bisecting, partial failures and failure queue: MiniStack stores them and does not do as they say",
			"the rights of the roles, which are checked by a test of the template; arm64; CloudFront itself, which is deployed and which the clients stand in for",
		},
	}
}

// server is a MiniStack that this program started.
type server struct {
	url string
	cmd *exec.Cmd
	dir string
	// ended is closed when the process has ended, and why says how.
	ended chan struct{}
	why   error
}

// startMiniStack starts MiniStack on a free port of the loopback, with its log in a file, and waits until it answers.
func startMiniStack(ctx context.Context, o options) (*emulator, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	api := &url.URL{Scheme: "http", Host: "127.0.0.1:" + port}
	faults := faultproxy.New(api)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	front := &http.Server{Handler: faults}
	go func() { _ = front.Serve(listener) }()
	behind := "http://" + listener.Addr().String()
	s, err := startServer(ctx, o, api.String(), port, behind)
	if err != nil {
		return nil, errors.Join(err, front.Close())
	}
	return &emulator{target: miniStack(s.url, behind), faults: faults, stop: func() {
		s.stop()
		_ = front.Close()
	}}, nil
}

func startServer(ctx context.Context, o options, api, port, front string) (*server, error) {
	dir, err := os.MkdirTemp("", "chips-ministack-")
	if err != nil {
		return nil, err
	}
	s := &server{url: api, ended: make(chan struct{}), dir: dir}
	out, err := os.Create(o.log)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer out.Close()
	s.cmd = exec.Command(o.program)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	s.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "STATE_DIR=" + dir,
		"BIND_HOST=127.0.0.1", "GATEWAY_PORT=" + port, "LOG_LEVEL=INFO",
		"AWS_ENDPOINT_URL=" + front, // what the functions are given: this is all of AWS to them
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
