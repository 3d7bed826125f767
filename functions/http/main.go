// Command http serves every route under /v1 but the socket.
package main

import (
	"context"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/boot"
	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/httpapi"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/s3blob"
	"github.com/chipschat/chips-aws/shared/scheduler"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/settings"
	"github.com/chipschat/chips-aws/shared/transcribe"
)

func main() { boot.Main("http", wire) }

func wire(ctx context.Context, f *boot.Function) (lambda.Handler, error) {
	set, cfg, meter, table, log := f.Settings, f.AWS, f.Meter, f.Table, f.Log
	edge, err := apigw.NewEdge(os.Getenv("CHIPS_EDGE_SECRETS"), log)
	if err != nil {
		return nil, err
	}
	admin, err := apigw.Parameter(ctx, cfg, os.Getenv("CHIPS_ADMIN_TOKEN_PARAMETER"), time.Now())
	if err != nil {
		return nil, err
	}
	eng := engine.New(table, engine.Options{Now: time.Now, Waits: set.Waits, Prices: set.Prices})
	credentials := auth.New(auth.Config{
		Rows: table, AdminToken: admin, PersonKeys: set.PersonKeys, AcceptURLToken: set.AcceptURLToken, TicketTTL: set.TicketTTL, Now: time.Now, Log: log,
	})
	bucket := os.Getenv("CHIPS_BUCKET")
	blobs, url := s3blob.New(cfg, bucket), apigw.PublicURL(cfg, os.Getenv("CHIPS_URL_PARAMETER"), time.Now)
	files := attachment.New(attachment.Config{
		Rows: table, Log: eng, Blobs: blobs, Direct: blobs, Credentials: credentials, URL: url, URLFor: set.AttachmentURL, Now: time.Now, Logger: log,
		Listener: transcribe.If(os.Getenv("CHIPS_TRANSCRIBE") == "1", cfg, bucket, time.Now),
	})
	sessions := session.New(session.Config{
		Engine: eng, Rows: table, Push: meter.Push(apigw.NewPush(cfg, os.Getenv("CHIPS_PUSH_ENDPOINT"))), Now: time.Now, Log: log,
		Left: (&deadline.Watch{Rows: table, Silent: set.Silent, Now: time.Now}).Left,
	})
	changes := managed.New(managed.Config{
		Rows: table, Log: eng, Sockets: sessions, Alarms: scheduler.NewQueue(cfg, os.Getenv("CHIPS_DEADLINE_QUEUE"), time.Now), Now: time.Now, Logger: log,
	})
	return lambda.NewHandler(edge.HTTP(apigw.HTTP(httpapi.New(httpapi.Config{
		Engine: files.Engine(eng), Auth: credentials, Sessions: sessions, Files: files, Managed: changes,
		Log: log, Now: time.Now, Version: settings.Version(), Origins: set.AllowedOrigins,
	})))), nil
}
