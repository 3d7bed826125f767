package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/faultproxy"
	"github.com/chipschat/chips-aws/shared/porttest"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// behindFaults is a table of an emulator, directly and through a proxy.
func behindFaults(t *testing.T, emulator dynamotest.Emulator, o ...func(*aws.Config)) (direct, through *dynamo.Table, proxy *faultproxy.Proxy) {
	t.Helper()
	front := func(at string) string {
		target, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		proxy = faultproxy.New(target)
		server := httptest.NewServer(proxy)
		t.Cleanup(server.Close)
		return server.URL
	}
	o = append(o, tryOnce)
	sound, faulty, name := emulator.Behind(t, front, o...)
	return dynamo.New(sound, name), dynamo.New(faulty, name), proxy
}

// storm is all that may happen to a call to DynamoDB.
var storm = []faultproxy.Fault{
	faultproxy.Refused, faultproxy.Broken, faultproxy.Dropped, faultproxy.BrokenReply, faultproxy.LostReply, faultproxy.HalfReply, faultproxy.Hung, faultproxy.Late,
}

// The engine's storm with what a network and DynamoDB do to calls on the wire.
func TestStormOverTheWire(t *testing.T) {
	for _, emulator := range dynamotest.Emulators() {
		t.Run(emulator.Name, func(t *testing.T) {
			seen := map[faultproxy.Fault]int{}
			for seed := range uint64(3) {
				direct, through, proxy := behindFaults(t, emulator)
				proxy.Hang = 50 * time.Millisecond
				random := rand.New(rand.NewPCG(seed, 3))
				next := 0
				proxy.Set(func(faultproxy.Call) faultproxy.Fault {
					if random.IntN(3) > 0 {
						return faultproxy.None
					}
					next++
					return storm[next%len(storm)]
				})
				porttest.EngineStormThrough(t, direct, through, seed, func() {
					proxy.Set(nil)
					proxy.Release()
				})
				for fault, n := range proxy.Seen() {
					seen[fault] += n
				}
			}
			for _, fault := range storm {
				if seen[fault] == 0 {
					t.Errorf("%s never happened", fault)
				}
			}
		})
	}
}

// anything is decided as it is sent.
func anything(_ *workspace.State, c workspace.Command) (workspace.Decision, *protocol.Error) {
	e := c.Draft
	e.IdempotencyKey, e.Actor = "", protocol.Actor{Kind: protocol.KindPerson, ID: c.By.ID}
	return workspace.Decision{Events: []protocol.Event{e}}, nil
}

// Whatever happens to the put of the claim or to that of the commit, once or until the process dies: what was acked is in the log, and
// the one who sends again, from another process too, has it there once.
func TestEachFaultOfAnAppend(t *testing.T) {
	for _, emulator := range dynamotest.Emulators() {
		for _, put := range []string{"claim", "commit"} {
			for _, fault := range storm {
				for _, lasting := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s/%s %s lasting=%t", emulator.Name, put, fault, lasting), func(t *testing.T) {
						direct, through, proxy := behindFaults(t, emulator, func(o *aws.Config) {
							o.HTTPClient = awshttp.NewBuildableClient().WithTimeout(100 * time.Millisecond)
						})
						t.Parallel() // only now: emulators do not start side by side
						faults := strike{put: put, fault: fault, lasting: lasting, dead: make(chan struct{})}
						proxy.Set(faults.rule)
						sendTwice(t, direct, through, faults.dead, func() {
							proxy.Set(nil)
							proxy.Release()
						})
						if !faults.happened() {
							t.Error("it never happened")
						}
					})
				}
			}
		}
	}
}

// strike has one put fail, or every one of its kind and all that comes after the first.
type strike struct {
	put     string
	fault   faultproxy.Fault
	lasting bool
	// dead is closed when a call has found the line dead.
	dead chan struct{}

	mu     sync.Mutex
	struck int
}

func (s *strike) happened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.struck > 0
}

func (s *strike) rule(call faultproxy.Call) faultproxy.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	commit := strings.HasPrefix(call.Key, "C#")
	switch {
	case s.struck > 0 && s.lasting:
		if s.struck++; s.struck == 2 {
			close(s.dead)
		}
		return faultproxy.Dropped
	case s.struck == 0 && call.Operation == "PutItem" && commit == (s.put == "commit"):
		s.struck++
		return s.fault
	}
	return faultproxy.None
}

// sendTwice sends one command until the process's line is dead or it is acked, and then again from a process whose line is sound.
func sendTwice(t *testing.T, direct, through engine.Table, dead <-chan struct{}, calm func()) {
	t.Helper()
	const ws = "ws_1"
	cmd := workspace.Command{
		By: workspace.Caller{Workspace: ws, Kind: protocol.KindPerson, ID: "usr_1"}, Connection: "c1",
		Draft: protocol.Event{Envelope: protocol.Envelope{Type: "workspace.renamed", IdempotencyKey: "k"}, Data: &protocol.WorkspaceRenamed{Name: "Acme"}},
	}
	options := engine.Options{Decide: anything, Now: time.Now}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	go func() { // as a process that is killed
		select {
		case <-dead:
			cancel()
		case <-ctx.Done():
		}
	}()
	first, err := engine.New(through, options).Do(ctx, ws, cmd)
	cancel()
	acked := err == nil
	if refusal, ok := errors.AsType[*protocol.Error](err); ok {
		t.Errorf("refused: %v", refusal)
	}
	calm()
	cmd.Connection = "c2"
	again, err := engine.New(direct, options).Do(t.Context(), ws, cmd)
	if err != nil {
		t.Errorf("again: %v", err)
		return
	}
	if acked && (!again.Ack().Duplicate || again.Ack().Seq != first.Ack().Seq || first.Ack().Duplicate) {
		t.Errorf("acked %+v, then %+v", first.Ack(), again.Ack())
	}
	log, err := direct.Commits(t.Context(), ws, 1, 10)
	if err != nil || len(log) != 1 || log[0].Key != "k" || log[0].First != again.Ack().Seq || len(log[0].Events) != 1 {
		t.Errorf("the log is %+v, %v", log, err)
	}
}
