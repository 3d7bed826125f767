// Command timers fires what falls due in a workspace: the queue of delayed messages and the schedules ring it.
package main

import (
	"log/slog"
	"os"
	"time"
	_ "time/tzdata" // the image has none

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/emf"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/scheduler"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/settings"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	slog.SetLogLoggerLevel(slog.LevelError) // the runtime's own lines are of failures
	if err := run(); err != nil {
		slog.Error("timers cannot start", "error", err)
		os.Exit(1)
	}
}

func run() error {
	set, err := settings.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	cfg, err := apigw.Config(os.Getenv)
	if err != nil {
		return err
	}
	meter := emf.New(os.Stdout, os.Getenv("CHIPS_METRICS"), time.Now)
	table, log := meter.Table(dynamo.New(dynamo.NewClient(cfg), os.Getenv("CHIPS_TABLE"))), slog.Default()
	eng := engine.New(table, engine.Options{Now: time.Now, Waits: set.Waits, Prices: set.Prices})
	// Of files it only notes where those are that were held and are posted.
	files := attachment.New(attachment.Config{Rows: table, Log: eng, Now: time.Now, Logger: log})
	alarms := scheduler.NewQueue(cfg, os.Getenv("CHIPS_DEADLINE_QUEUE"), time.Now)
	changes := managed.New(managed.Config{Rows: table, Log: eng, Alarms: alarms, Now: time.Now, Logger: log})
	keeper := deadline.New(deadline.Config{
		Log:     files.Engine(eng),
		Rows:    table,
		Alarms:  alarms,
		Watch:   &deadline.Watch{Rows: table, Silent: set.Silent, Now: time.Now},
		Sockets: session.New(session.Config{Rows: table, Now: time.Now, Log: log}),
		Now:     time.Now,
		Logger:  log,
		Late:    meter.Lag(emf.DeadlineLag),
	})
	lambda.Start(meter.Each(lambda.NewHandler(apigw.Timers(changes.FireOr(keeper.Fire), log))))
	return nil
}
