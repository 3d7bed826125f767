package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// ask asks the harness Scout, who does not answer, and answers the ask's id.
func (t *town) ask(ctx context.Context, path string, in map[string]string) (string, error) {
	var out struct {
		AskID string `json:"ask_id"`
	}
	err := t.arjun().Do(ctx, http.MethodPost, "/v1/spaces/"+t.room+path, in, &out)
	return out.AskID, err
}

// missed waits until the room says that an ask was missed, and answers when it said so.
func (t *town) missed(ctx context.Context, kind, ask string) (time.Time, error) {
	e, err := t.listeners["Priya"].find(ctx, "the line "+kind, func(e client.Event) bool {
		var line protocol.RoomSays
		return e.Type == line.EventType() && json.Unmarshal(e.Raw, &line) == nil && line.Kind == kind && line.About == ask
	})
	if err != nil {
		return time.Time{}, err
	}
	return e.TS.Time, t.all(ctx, e.Seq, map[string]string{}, e.Type)
}

func (t *town) missedFork(ctx context.Context) error {
	ask, err := t.ask(ctx, "/forks", map[string]string{"agent_id": t.scout.AgentID})
	if err != nil {
		return err
	}
	asked, err := t.listeners["Priya"].find(ctx, "the ask", func(e client.Event) bool { return e.ID == ask })
	if err != nil {
		return err
	}
	said, err := t.missed(ctx, protocol.LineForkMissed, ask)
	if err != nil {
		return err
	}
	late := said.Sub(asked.TS.Time) - forkWait
	fmt.Fprintf(t.out, "     it was %d ms late\n", late.Milliseconds())
	if late < 0 {
		return fmt.Errorf("it was missed %v early", -late)
	}
	return nil
}

// missedAgent asks for what is due in 20 minutes. The run does not wait for it: once the schedule stands, the wait is shortened, as an
// operator may, and the schedule is moved to now.
func (t *town) missedAgent(ctx context.Context) error {
	ask, err := t.ask(ctx, "/agents", map[string]string{"harness_id": t.scout.HarnessID, "name": "Second"})
	if err != nil {
		return err
	}
	api, group := scheduler.NewFromConfig(t.stack.cfg), t.stack.ids["ScheduleGroup"]
	list := func() ([]types.ScheduleSummary, error) {
		out, err := api.ListSchedules(ctx, &scheduler.ListSchedulesInput{GroupName: &group})
		if err != nil {
			return nil, fmt.Errorf("list the schedules of %s: %w", group, err)
		}
		return out.Schedules, nil
	}
	var made []types.ScheduleSummary
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = eventually(patient, "the schedule", func() (bool, error) {
		made, err = list()
		return len(made) == 1, err
	})
	if err != nil {
		return err
	}
	if err := t.ringAgain(ctx); err != nil { // which sets the alarm again
		return err
	}
	if made, err = list(); err != nil || len(made) != 1 {
		return fmt.Errorf("rung again there are %d schedules: %w", len(made), err)
	}
	if err := t.set(ctx, "TimersFunction", "NEW_AGENT_WAIT_MS", "1"); err != nil {
		return err
	}
	s, err := api.GetSchedule(ctx, &scheduler.GetScheduleInput{GroupName: &group, Name: made[0].Name})
	if err != nil {
		return err
	}
	if s.ActionAfterCompletion != types.ActionAfterCompletionDelete {
		return fmt.Errorf("the schedule is left over: %s", s.ActionAfterCompletion)
	}
	_, err = api.UpdateSchedule(ctx, &scheduler.UpdateScheduleInput{
		GroupName: &group, Name: s.Name, FlexibleTimeWindow: s.FlexibleTimeWindow, Target: s.Target,
		ActionAfterCompletion: s.ActionAfterCompletion, ScheduleExpressionTimezone: s.ScheduleExpressionTimezone,
		ScheduleExpression: aws.String(time.Now().UTC().Format("at(2006-01-02T15:04:05)")),
	})
	if err != nil {
		return fmt.Errorf("move the schedule: %w", err)
	}
	if _, err := t.missed(ctx, protocol.LineNewAgentMissed, ask); err != nil {
		return err
	}
	patient, cancel = context.WithTimeout(ctx, patience)
	defer cancel()
	return eventually(patient, "the schedule is gone", func() (bool, error) {
		made, err = list()
		return len(made) == 0, err
	})
}

// set changes one variable of a function's environment.
func (t *town) set(ctx context.Context, function, name, value string) error {
	api, id := lambda.NewFromConfig(t.stack.cfg), aws.String(t.stack.ids[function])
	is, err := api.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: id})
	if err != nil {
		return err
	}
	if is.Environment == nil || is.Environment.Variables[name] == "" {
		return errors.New(function + " has no " + name)
	}
	is.Environment.Variables[name] = value
	_, err = api.UpdateFunctionConfiguration(ctx, &lambda.UpdateFunctionConfigurationInput{
		FunctionName: id, Environment: &lambdatypes.Environment{Variables: is.Environment.Variables},
	})
	return err
}
