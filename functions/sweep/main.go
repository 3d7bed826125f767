// Command sweep runs every minute. It does what was missed: sockets that could not be closed, replays that died, deadlines that nobody
// fired. It says which harnesses are away. And it pings sockets by frames, which API Gateway does not do, and closes those that do not
// answer. Rows that only end, such as tickets and codes, are the table's own to delete.
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
	"github.com/chipschat/chips-aws/shared/s3blob"
	"github.com/chipschat/chips-aws/shared/scheduler"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/sweep"
)

func main() { boot.Main("sweep", wire) }

func wire(_ context.Context, f *boot.Function) (lambda.Handler, error) {
	set, cfg, meter, table, log := f.Settings, f.AWS, f.Meter, f.Table, f.Log
	push := apigw.NewPush(cfg, os.Getenv("CHIPS_PUSH_ENDPOINT"))
	watch := &deadline.Watch{Rows: table, Silent: set.Silent, Now: time.Now}
	sessions := session.New(session.Config{Rows: table, Push: push, PingFrames: true, Left: watch.Left, Now: time.Now, Log: log})
	keepalive := session.NewKeepalive(sessions, session.KeepaliveConfig{
		Hearing: push, Every: set.Ping, Silent: set.Silent, Missed: 2 * time.Minute,
	})
	eng := engine.New(table, engine.Options{Now: time.Now, Waits: set.Waits, Prices: set.Prices})
	files := attachment.New(attachment.Config{
		Rows: table, Log: eng, Blobs: s3blob.New(cfg, os.Getenv("CHIPS_BUCKET")), Now: time.Now, Logger: log,
	})
	changes := managed.New(managed.Config{Rows: table, Log: eng, Now: time.Now, Logger: log})
	keeper := deadline.New(deadline.Config{
		Log: files.Engine(eng), Rows: table, Alarms: scheduler.NewQueue(cfg, os.Getenv("CHIPS_DEADLINE_QUEUE"), time.Now),
		Watch: watch, Sockets: sessions, Now: time.Now, Logger: log, Late: meter.Lag(emf.DeadlineLag),
	})
	return lambda.NewHandler(sweep.New(sweep.Config{
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
		Log:    log,
	}).Run), nil
}
