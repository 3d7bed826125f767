package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"
)

// composeFile is what LocalStack is started by.
const composeFile = "localstack/compose.yaml"

// localStackURL is where the compose file has LocalStack listen, and localStackHost the name that it and its functions know it by.
const (
	localStackURL  = "http://127.0.0.1:4566"
	localStackHost = "localhost.localstack.cloud:4566"
)

// localStack runs each function in a container of its own, which faults cannot be put in front of from here.
func localStack() target {
	api := func(id, path string) place {
		return place{url: localStackURL + path, host: id + ".execute-api." + localStackHost}
	}
	return target{
		name: "LocalStack", url: localStackURL,
		starts:     "docker compose --file " + composeFile + " up --detach --wait",
		stops:      "docker compose --file " + composeFile + " down --volumes",
		changes:    changes(localStackURL, "http://$${WebSocketApi}.execute-api."+localStackHost+"/"),
		parameters: parameters,
		socket:     func(ids map[string]string) place { return api(ids["WebSocketApi"], "/"+ids["WebSocketStage"]) },
		http:       func(ids map[string]string) place { return api(ids["HttpApi"], "") },
		untried: []string{
			"the limits of API Gateway (32 KB, 128 KB, 10 minutes, 2 hours) and its 429 and 413",
			"arm64 where this machine is none; CloudFront itself, which is deployed and which the clients stand in for",
		},
	}
}

// startLocalStack starts the containers and waits until they are well.
func startLocalStack(ctx context.Context, o options) (*emulator, error) {
	if os.Getenv("LOCALSTACK_AUTH_TOKEN") == "" {
		return nil, errors.New("LocalStack needs LOCALSTACK_AUTH_TOKEN, of an account whose plan has WebSocket APIs (Base)")
	}
	compose := func(ctx context.Context, args ...string) error {
		cmd := exec.CommandContext(ctx, "docker", append([]string{"compose", "--file", composeFile}, args...)...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("docker compose %s: %w", args[0], err)
		}
		return nil
	}
	stop := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if log, err := os.Create(o.log); err == nil {
			cmd := exec.CommandContext(ctx, "docker", "compose", "--file", composeFile, "logs", "--no-color")
			cmd.Stdout = log
			_ = errors.Join(cmd.Run(), log.Close())
		}
		_ = compose(ctx, "down", "--volumes")
	}
	if err := compose(ctx, "up", "--detach", "--wait"); err != nil {
		stop()
		return nil, err
	}
	resp, err := http.Get(localStackURL + "/_localstack/health")
	if err != nil {
		stop()
		return nil, fmt.Errorf("LocalStack is up and does not answer: %w", err)
	}
	return &emulator{target: localStack(), stop: stop}, resp.Body.Close()
}
