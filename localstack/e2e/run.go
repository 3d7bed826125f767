package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// notTried is what a run here says nothing about.
var notTried = []string{
	"a refused upgrade is a 401: MiniStack answers 500 to an authorizer that fails with Unauthorized",
	"RouteResponse: MiniStack answers a frame with what the function returned, with or without one",
	"frames of one socket that overtake each other: MiniStack handles them one after the other",
	"the limits of API Gateway (32 KB, 128 KB, 10 minutes, 2 hours) and its 429 and 413",
	"a stream mapping's retries, bisecting, partial failures and failure queue: MiniStack stores them and does not do as they say",
	"deadlines, which no rule has yet; the schedule of the sweep, every minute",
	"the rights of the roles, which are checked by a test of the template; arm64",
}

// run starts MiniStack, does every step and stops it.
func run(ctx context.Context, o options, out io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 8*time.Minute, errors.New("8 minutes are over"))
	defer cancel()
	began := time.Now()
	s, err := startServer(ctx, o.program, o.log)
	if err != nil {
		return err
	}
	defer s.stop()
	took(out, "MiniStack is up at "+s.url, began)

	raw, err := os.ReadFile(o.template)
	if err != nil {
		return err
	}
	all := changes(s.url, architecture())
	template, err := adapt(string(raw), all)
	if err != nil {
		return err
	}
	for _, c := range all {
		fmt.Fprintf(out, "     changed: %s (%s)\n", c.what, c.why)
	}
	start := time.Now()
	deployed, err := deploy(ctx, awsConfig(s.url), template, o.functions)
	if err != nil {
		return err
	}
	took(out, fmt.Sprintf("the stack is deployed, %d resources", len(deployed.ids)), start)

	if err := talk(ctx, deployed, s.url, out); err != nil {
		return err
	}
	start = time.Now()
	if err := contract(ctx, s.url, out); err != nil {
		return err
	}
	took(out, "the contract of the table holds on MiniStack's DynamoDB", start)
	for _, what := range notTried {
		fmt.Fprintf(out, "     not tried: %s\n", what)
	}
	took(out, "all of it", began)
	return nil
}

// contract runs the table's own tests against MiniStack's DynamoDB.
func contract(ctx context.Context, url string, out io.Writer) error {
	tests := exec.CommandContext(ctx, "go", "test", "-count=1", "./shared/dynamo")
	tests.Env = append(os.Environ(), "CHIPS_DYNAMODB_ENDPOINT="+url)
	tests.Stdout, tests.Stderr = out, out
	if err := tests.Run(); err != nil {
		return fmt.Errorf("the contract of the table: %w", err)
	}
	return nil
}

func took(out io.Writer, what string, start time.Time) {
	fmt.Fprintf(out, "ok   %5.1f s  %s\n", time.Since(start).Seconds(), what)
}
