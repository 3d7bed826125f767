package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sivchari/kumo"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/porttest"
	adapter "github.com/chipschat/chips-aws/shared/scheduler"
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

// cloud is an emulator with a queue and a group, and the alarms that come out of the queue.
func cloud(t *testing.T, name string) (cfg aws.Config, queue *adapter.Queue, rung <-chan deadline.Alarm) {
	t.Helper()
	emulator := kumo.NewServer()
	t.Cleanup(emulator.Close)
	cfg = config(emulator.URL)
	api := sqs.NewFromConfig(cfg)
	made, err := api.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	_, err = scheduler.NewFromConfig(cfg).CreateScheduleGroup(t.Context(), &scheduler.CreateScheduleGroupInput{Name: &target.Group})
	if taken := (*types.ConflictException)(nil); err != nil && !errors.As(err, &taken) { // all emulators of a process are one
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
	_, queue, rung := cloud(t, "one")
	t.Logf("the latest message came %v late", porttest.Alarms(t, queue, rung))
}

func TestSchedulesNear(t *testing.T) {
	t.Parallel()
	cfg, queue, rung := cloud(t, "two")
	t.Logf("the latest message came %v late", porttest.Alarms(t, adapter.NewSchedules(cfg, queue, target), rung))
}

// What is due later than a message can be delayed is a schedule: once, however often it is set, minutes early, with all that it takes to
// be rid of it.
func TestSchedulesFar(t *testing.T) {
	t.Parallel()
	cfg, queue, rung := cloud(t, "three")
	schedules, api := adapter.NewSchedules(cfg, queue, target), scheduler.NewFromConfig(cfg)
	due := time.Now().Add(90 * time.Minute).UTC().Truncate(time.Millisecond)
	a := deadline.Alarm{WorkspaceID: "ws_far", Kind: "fork", ID: "evt_1", Due: due}
	b := a
	b.Due = due.Add(time.Millisecond)
	for _, alarm := range []deadline.Alarm{a, a, b} {
		if err := schedules.Set(t.Context(), alarm); err != nil {
			t.Fatal(err)
		}
	}
	list, err := api.ListSchedules(t.Context(), &scheduler.ListSchedulesInput{GroupName: &target.Group})
	if err != nil || len(list.Schedules) != 2 {
		t.Fatalf("%d schedules, %v", len(list.Schedules), err)
	}
	inputs := map[deadline.Alarm]bool{}
	for _, one := range list.Schedules {
		s, err := api.GetSchedule(t.Context(), &scheduler.GetScheduleInput{Name: one.Name, GroupName: &target.Group})
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
