// Command timers fires what falls due in a workspace: the queue of delayed messages and the schedules ring it.
package main

import (
	"context"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/boot"
	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/emf"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/scheduler"
	"github.com/chipschat/chips-aws/shared/session"
)

func main() { boot.Main("timers", wire) }

func wire(_ context.Context, f *boot.Function) (lambda.Handler, error) {
	set, cfg, meter, table, log := f.Settings, f.AWS, f.Meter, f.Table, f.Log
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
	return lambda.NewHandler(apigw.Timers(changes.FireOr(keeper.Fire), log)), nil
}
