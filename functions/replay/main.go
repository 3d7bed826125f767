// Command replay catches up the subscriptions that are too long for the frame that asked for them. Before its time is up it hands on to
// another invocation of itself.
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
	"github.com/chipschat/chips-aws/shared/relay"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/settings"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	slog.SetLogLoggerLevel(slog.LevelError) // the runtime's own lines are of failures
	if err := run(); err != nil {
		slog.Error("replay cannot start", "error", err)
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
	url := apigw.PublicURL(cfg, os.Getenv("CHIPS_URL_PARAMETER"), time.Now)
	sessions := session.New(session.Config{
		Engine:    engine.New(table, engine.Options{Now: time.Now, Waits: set.Waits}),
		Rows:      table,
		Push:      meter.Push(apigw.NewPush(cfg, os.Getenv("CHIPS_PUSH_ENDPOINT"))),
		Replays:   relay.NewReplays(cfg, os.Getenv("CHIPS_REPLAY_FUNCTION")),
		Files:     attachment.New(attachment.Config{Rows: table, URL: url, URLFor: set.AttachmentURL, Now: time.Now}),
		Limits:    session.Limits{EventsPerFrame: set.EventsPerFrame},
		Unordered: true,
		Left:      (&deadline.Watch{Rows: table, Silent: set.Silent, Now: time.Now}).Left,
		Now:       time.Now,
		Log:       slog.Default(),
	})
	lambda.Start(meter.Each(lambda.NewHandler(emf.Run(meter, emf.Replays, sessions.Replay))))
	return nil
}
