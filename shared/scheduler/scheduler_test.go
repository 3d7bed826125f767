package scheduler_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sivchari/kumo"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/porttest"
	"github.com/chipschat/chips-aws/shared/protocol"
	adapter "github.com/chipschat/chips-aws/shared/scheduler"
	"github.com/chipschat/chips-aws/shared/workspace"
)

func config(endpoint string) aws.Config {
	return aws.Config{
		Region: "eu-central-1", BaseEndpoint: &endpoint, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
		RetryMaxAttempts: 1,
	}
}

var target = adapter.Target{
	Group: "chips-deadlines", Function: "arn:aws:lambda:eu-central-1:123456789012:function:chips-timers",
	Role: "arn:aws:iam::123456789012:role/chips", DeadLetters: "arn:aws:sqs:eu-central-1:123456789012:dead",
}

// emulator is one for all tests, since several in a process race with each other.
var emulator = sync.OnceValue(kumo.NewServer)

// cloud is an emulator with a queue and a group, and the alarms that come out of the queue.
func cloud(t *testing.T) (cfg aws.Config, queue *adapter.Queue, rung <-chan deadline.Alarm) {
	t.Helper()
	name := rand.Text()
	cfg = config(emulator().URL)
	api := sqs.NewFromConfig(cfg)
	made, err := api.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan deadline.Alarm, 100)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			got, err := api.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: made.QueueUrl, MaxNumberOfMessages: 10})
			if err != nil || len(got.Messages) == 0 { // the emulator's long polls do not end when a message's delay does
				time.Sleep(20 * time.Millisecond)
				continue
			}
			for _, m := range got.Messages {
				var a deadline.Alarm
				if err := json.Unmarshal([]byte(*m.Body), &a); err != nil {
					t.Errorf("%s: %v", *m.Body, err)
				}
				out <- a
				_, _ = api.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: made.QueueUrl, ReceiptHandle: m.ReceiptHandle})
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return cfg, adapter.NewQueue(cfg, *made.QueueUrl, time.Now), out
}

func TestQueue(t *testing.T) {
	t.Parallel()
	_, queue, rung := cloud(t)
	t.Logf("the latest message came %v late", porttest.Alarms(t, queue, rung))
}

func TestSchedulesNear(t *testing.T) {
	t.Parallel()
	cfg, queue, rung := cloud(t)
	t.Logf("the latest message came %v late", porttest.Alarms(t, adapter.NewSchedules(cfg, queue, target), rung))
}

// What is due later than a message can be delayed is a schedule: once, however often it is set, minutes early, with all that it takes to
// be rid of it.
func TestSchedulesFar(t *testing.T) {
	t.Parallel()
	cfg, queue, rung := cloud(t)
	group := target
	group.Group = rand.Text()
	if _, err := scheduler.NewFromConfig(cfg).CreateScheduleGroup(t.Context(), &scheduler.CreateScheduleGroupInput{Name: &group.Group}); err != nil {
		t.Fatal(err)
	}
	schedules, api := adapter.NewSchedules(cfg, queue, group), scheduler.NewFromConfig(cfg)
	due := time.Now().Add(90 * time.Minute).UTC().Truncate(time.Millisecond)
	a := deadline.Alarm{WorkspaceID: "ws_far", Kind: "fork", ID: "evt_1", Due: due}
	b := a
	b.Due = due.Add(time.Millisecond)
	for _, alarm := range []deadline.Alarm{a, a, b} {
		if err := schedules.Set(t.Context(), alarm); err != nil {
			t.Fatal(err)
		}
	}
	list, err := api.ListSchedules(t.Context(), &scheduler.ListSchedulesInput{GroupName: &group.Group})
	if err != nil {
		t.Fatal(err)
	}
	list.Schedules = slices.DeleteFunc(list.Schedules, func(s types.ScheduleSummary) bool { return *s.GroupName != group.Group }) // the emulator lists all
	if len(list.Schedules) != 2 {
		t.Fatalf("%d schedules", len(list.Schedules))
	}
	inputs := map[deadline.Alarm]bool{}
	for _, one := range list.Schedules {
		s, err := api.GetSchedule(t.Context(), &scheduler.GetScheduleInput{Name: one.Name, GroupName: &group.Group})
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse("at(2006-01-02T15:04:05)", *s.ScheduleExpression)
		if left := due.Sub(at); err != nil || left < 2*time.Minute || left > 3*time.Minute+time.Second || at.Second() != 0 {
			t.Errorf("%s for what is due at %v: %v early, %v", *s.ScheduleExpression, due, left, err)
		}
		if *s.ScheduleExpressionTimezone != "UTC" || s.FlexibleTimeWindow.Mode != types.FlexibleTimeWindowModeOff ||
			s.ActionAfterCompletion != types.ActionAfterCompletionDelete || len(*s.Name) > 64 ||
			*s.Target.Arn != target.Function || *s.Target.RoleArn != target.Role {
			t.Errorf("made %+v with target %+v", s, s.Target)
		}
		var input deadline.Alarm
		if err := json.Unmarshal([]byte(*s.Target.Input), &input); err != nil {
			t.Error(err)
		}
		inputs[input] = true
	}
	if !inputs[a] || !inputs[b] {
		t.Errorf("they bring %v", inputs)
	}
	select {
	case a := <-rung:
		t.Errorf("the queue brings %+v too", a)
	default:
	}
}

// The whole of it: an ask in a log, its alarm in the queue, and the room's line within a second after it was due.
func TestQueueFires(t *testing.T) {
	t.Parallel()
	_, queue, rung := cloud(t)
	table, err := embedded.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	const wait = 1700 * time.Millisecond
	eng := engine.New(table, engine.Options{Now: time.Now, Waits: workspace.Waits{Fork: wait}})
	keeper := deadline.New(deadline.Config{Log: eng, Rows: table, Alarms: queue, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	do := func(by workspace.Caller, room string, data protocol.Data) engine.Outcome {
		t.Helper()
		out, err := eng.Do(t.Context(), "ws_1", workspace.Command{By: by, Draft: workspace.DraftIn(room, data), Operation: true})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	opened := do(workspace.Caller{Kind: protocol.KindSystem, ID: protocol.SystemID}, "", &workspace.NameDraft{Name: "W", OwnerName: "Arjun"})
	arjun := workspace.Caller{Kind: protocol.KindPerson, ID: opened.Events[1].Data.(*protocol.PersonAdded).PersonID}
	name := "Scout"
	made := do(arjun, "", &workspace.HarnessDraft{DisplayName: &name, Capabilities: &[]string{"forks"}})
	room := do(arjun, "", &protocol.SpaceOpened{Title: "Room"}).Ack().SpaceID
	for _, e := range made.Events {
		if agent, ok := e.Data.(*protocol.AgentRegistered); ok {
			ask := do(arjun, room, &protocol.AgentFork{AgentID: agent.AgentID})
			if err := keeper.Arm(t.Context(), "ws_1", []engine.Commit{ask.Commit}); err != nil {
				t.Fatal(err)
			}
			if err := keeper.Fire(t.Context(), <-rung); err != nil {
				t.Fatal(err)
			}
			line, _, err := eng.Head(t.Context(), "ws_1")
			if late := line.TS.Sub(ask.Commit.TS.Add(wait)); err != nil || line.First != ask.Commit.First+1 || late < 0 || late > time.Second {
				t.Errorf("%v late, %v", late, err)
			} else {
				t.Logf("%v late", late)
			}
		}
	}
}

// wire is AWS as one request finds it.
func wire(t *testing.T, answer func(path string, w http.ResponseWriter)) aws.Config {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer(r.URL.Path, w)
	}))
	t.Cleanup(server.Close)
	return config(server.URL)
}

// A schedule that exists is as it should be, since it is named after all it says. All else is an error: it is not known to be set.
func TestSchedulesFail(t *testing.T) {
	t.Parallel()
	far := deadline.Alarm{WorkspaceID: "ws_1", Kind: "fork", ID: "evt_1", Due: time.Now().Add(time.Hour)}
	for code, wants := range map[string]bool{
		"ConflictException": true, "ThrottlingException": false, "ResourceNotFoundException": false, "InternalServerException": false, "ValidationException": false,
	} {
		cfg := wire(t, func(path string, w http.ResponseWriter) {
			if !strings.HasPrefix(path, "/schedules/") {
				t.Errorf("asked for %s", path)
			}
			w.Header().Set("X-Amzn-ErrorType", code)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"Message":"no"}`))
		})
		err := adapter.NewSchedules(cfg, adapter.NewQueue(cfg, "http://queue", time.Now), target).Set(t.Context(), far)
		if (err == nil) != wants {
			t.Errorf("%s: %v", code, err)
		}
	}
	cfg := wire(t, func(_ string, w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) })
	near := far
	near.Due = time.Now()
	if err := adapter.NewQueue(cfg, "http://queue", time.Now).Set(t.Context(), near); err == nil {
		t.Error("a queue that is down takes an alarm")
	}
}
