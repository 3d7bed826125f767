// Command sweep runs every minute. It does what was missed: sockets that could not be closed, replays that died, deadlines that nobody
// fired. It says which harnesses are away. And it pings sockets by frames, which API Gateway does not do, and closes those that do not answer. Rows that only end, such as
// tickets and codes, are the table's own to delete.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/emf"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/s3blob"
	"github.com/chipschat/chips-aws/shared/scheduler"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/settings"
	"github.com/chipschat/chips-aws/shared/sweep"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	slog.SetLogLoggerLevel(slog.LevelError) // the runtime's own lines are of failures
	if err := run(); err != nil {
		slog.Error("sweep cannot start", "error", err)
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
	table := meter.Table(dynamo.New(dynamo.NewClient(cfg), os.Getenv("CHIPS_TABLE")))
	push := apigw.NewPush(cfg, os.Getenv("CHIPS_PUSH_ENDPOINT"))
	watch := &deadline.Watch{Rows: table, Silent: set.Silent, Now: time.Now}
	sessions := session.New(session.Config{Rows: table, Push: push, PingFrames: true, Left: watch.Left, Now: time.Now, Log: slog.Default()})
	keepalive := session.NewKeepalive(sessions, session.KeepaliveConfig{
		Hearing: push, Every: set.Ping, Silent: set.Silent, Missed: 2 * time.Minute,
	})
	eng := engine.New(table, engine.Options{Now: time.Now, Waits: set.Waits, Prices: set.Prices})
	files := attachment.New(attachment.Config{
		Rows: table, Log: eng, Blobs: s3blob.New(cfg, os.Getenv("CHIPS_BUCKET")), Now: time.Now, Logger: slog.Default(),
	})
	changes := managed.New(managed.Config{Rows: table, Log: eng, Now: time.Now, Logger: slog.Default()})
	keeper := deadline.New(deadline.Config{
		Log: files.Engine(eng), Rows: table, Alarms: scheduler.NewQueue(cfg, os.Getenv("CHIPS_DEADLINE_QUEUE"), time.Now),
		Watch: watch, Sockets: sessions, Now: time.Now, Logger: slog.Default(), Late: meter.Lag(emf.DeadlineLag),
	})
	lambda.Start(meter.Each(lambda.NewHandler(sweep.New(sweep.Config{
		Rows: table,
		Due: map[string]sweep.Handler{
			"X#":                  emf.Run(meter, emf.Swept, sessions.Overdue),
			deadline.RowPrefix:    emf.Run(meter, emf.Swept, keeper.Sweep),
			attachment.UploadRows: emf.Run(meter, emf.Swept, files.SweepUpload),
			attachment.BytesRows:  emf.Run(meter, emf.Swept, files.SweepBytes),
			managed.Rows:          emf.Run(meter, emf.Swept, changes.Sweep),
		},
		Beside: []func(context.Context) error{keepalive.Run},
		Now:    time.Now,
		Log:    slog.Default(),
	}).Run)))
	return nil
}
