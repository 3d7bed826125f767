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

// run starts the emulator, does every step and stops it.
func run(ctx context.Context, o options, out io.Writer) error {
	known, ok := targets[o.target]
	if !ok {
		return fmt.Errorf("--target %q is neither ministack nor localstack", o.target)
	}
	if o.dryRun {
		return dryRun(o, known.plan(), out)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 9*time.Minute, errors.New("9 minutes are over"))
	defer cancel()
	began := time.Now()
	e, err := known.start(ctx, o)
	if err != nil {
		return err
	}
	defer e.stop()
	took(out, e.name+" is up at "+e.url, began)
	template, err := prepare(o, e.target)
	if err != nil {
		return err
	}
	e.differs(out)
	start := time.Now()
	deployed, err := deploy(ctx, e.target, template, o.functions)
	if err != nil {
		return err
	}
	took(out, fmt.Sprintf("the stack is deployed, %d resources", len(deployed.ids)), start)
	if err := talk(ctx, deployed, e, out); err != nil {
		return err
	}
	start = time.Now()
	if err := contract(ctx, e.url, out); err != nil {
		return err
	}
	took(out, "the contract of the table holds on "+e.name+"'s DynamoDB", start)
	for _, what := range e.untried {
		fmt.Fprintf(out, "     not tried: %s\n", what)
	}
	took(out, "all of it", began)
	return nil
}

// differs prints what is deployed otherwise than on AWS.
func (t target) differs(out io.Writer) {
	for _, c := range t.changes {
		fmt.Fprintf(out, "     changed: %s (%s)\n", c.what, c.why)
	}
	for _, p := range t.parameters {
		fmt.Fprintf(out, "     parameter: %s is %s (%s)\n", p.name, p.value, p.why)
	}
}

// contract runs the table's own tests against the emulator's DynamoDB.
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
