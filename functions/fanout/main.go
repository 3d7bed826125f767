// Command fanout sends new events to whoever is live. The table's stream rings it, and the queue of workspaces that have to be rung again.
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
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/emf"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/fanout"
	"github.com/chipschat/chips-aws/shared/relay"
	"github.com/chipschat/chips-aws/shared/scheduler"
	"github.com/chipschat/chips-aws/shared/session"
)

func main() { boot.Main("fanout", wire) }

func wire(_ context.Context, f *boot.Function) (lambda.Handler, error) {
	set, cfg, meter, table, log := f.Settings, f.AWS, f.Meter, f.Table, f.Log
	push := meter.Push(apigw.NewPush(cfg, os.Getenv("CHIPS_PUSH_ENDPOINT")))
	eng := engine.New(table, engine.Options{Now: time.Now, Waits: set.Waits})
	alarms := scheduler.NewSchedules(cfg, scheduler.NewQueue(cfg, os.Getenv("CHIPS_DEADLINE_QUEUE"), time.Now), scheduler.Target{
		Group: os.Getenv("CHIPS_SCHEDULE_GROUP"), Function: os.Getenv("CHIPS_TIMERS_ARN"), Role: os.Getenv("CHIPS_SCHEDULE_ROLE"),
		DeadLetters: os.Getenv("CHIPS_DEAD_LETTERS_ARN"),
	})
	url := apigw.PublicURL(cfg, os.Getenv("CHIPS_URL_PARAMETER"), time.Now)
	watch := &deadline.Watch{Rows: table, Silent: set.Silent, Now: time.Now}
	sessions := session.New(session.Config{
		Engine: eng, Rows: table, Push: push, Limits: session.Limits{EventsPerFrame: set.EventsPerFrame}, Left: watch.Left, Now: time.Now, Log: log,
	})
	sender := fanout.New(fanout.Config{
		Log:         eng,
		Connections: sessions,
		Rows:        table,
		Push:        push,
		Deadlines:   deadline.New(deadline.Config{Log: eng, Rows: table, Alarms: alarms, Watch: watch, Sockets: sessions, Now: time.Now, Logger: log}),
		Files:       attachment.New(attachment.Config{Rows: table, URL: url, URLFor: set.AttachmentURL, Now: time.Now}),
		Now:         time.Now,
		Logger:      log,
		Late:        meter.Lag(emf.DeliveryLag),
	})
	bell := apigw.Doorbell{
		Ring:   sender.Ring,
		Commit: dynamo.CommitFromImage,
		Again:  relay.NewRingQueue(cfg, os.Getenv("CHIPS_RING_QUEUE")).Again,
		Log:    log,
	}
	return lambda.NewHandler(bell.Fanout), nil
}
