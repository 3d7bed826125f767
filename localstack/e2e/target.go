package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/chipschat/chips-aws/shared/faultproxy"
)

// target is an emulator of AWS that the stack can be deployed on: how it is reached, and what it cannot do as AWS does.
type target struct {
	name string
	// starts and stops are what that takes, in words.
	starts, stops string
	// url is where its APIs are.
	url string
	// changes and parameters are what is deployed otherwise than `sam deploy` would.
	changes    []change
	parameters []parameter
	// socket and http are where the stack's two APIs are, by the physical ids of its resources.
	socket, http func(ids map[string]string) place
	// faulty says whether faults can be put between the functions and it.
	faulty bool
	// untried is what a run on it says nothing about.
	untried []string
}

// parameter is one of the template's that is not left at its default, and why.
type parameter struct{ name, value, why string }

// emulator is a target that runs.
type emulator struct {
	target
	// faults are what stands between, nil where nothing can.
	faults *faultproxy.Proxy
	stop   func()
}

// forkWait is how long a copy is waited for.
const forkWait = 4 * time.Second

// parameters are those of every target.
var parameters = []parameter{
	{"ForkWaitMs", fmt.Sprint(forkWait.Milliseconds()), "a deadline that falls due in the run, by the queue"},
	{"NewAgentWaitMs", "1200000", "a deadline that is too far for the queue, and becomes a schedule"},
}

// targets are those there are: to be planned, which starts nothing, and to be started.
var targets = map[string]struct {
	plan  func() target
	start func(context.Context, options) (*emulator, error)
}{
	"ministack":  {func() target { return miniStack("http://127.0.0.1:PORT", "http://127.0.0.1:PORT") }, startMiniStack},
	"localstack": {localStack, startLocalStack},
}

// prepare makes the template that is deployed on a target.
func prepare(o options, t target) (string, error) {
	raw, err := os.ReadFile(o.template)
	if err != nil {
		return "", err
	}
	template, err := adapt(string(raw), t.changes)
	if err != nil {
		return "", fmt.Errorf("%s for %s: %w", o.template, t.name, err)
	}
	return template, nil
}
