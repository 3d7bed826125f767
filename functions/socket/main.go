// Command socket serves $connect, $default and $disconnect: what a client sends is decided, appended and answered here.
package main

import (
	"log/slog"
	"os"
	"time"
	_ "time/tzdata" // the image has none

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/emf"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/relay"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/settings"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	slog.SetLogLoggerLevel(slog.LevelError) // the runtime's own lines are of failures
	if err := run(); err != nil {
		slog.Error("socket cannot start", "error", err)
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
	push := meter.Push(apigw.NewPush(cfg, os.Getenv("CHIPS_PUSH_ENDPOINT")))
	replays := relay.NewReplays(cfg, os.Getenv("CHIPS_REPLAY_FUNCTION"))
	eng, url := engine.New(table, engine.Options{Now: time.Now, Waits: set.Waits, Prices: set.Prices}), apigw.PublicURL(cfg, os.Getenv("CHIPS_URL_PARAMETER"), time.Now)
	files := attachment.New(attachment.Config{Rows: table, Log: eng, URL: url, URLFor: set.AttachmentURL, Now: time.Now, Logger: slog.Default()})
	sessions := session.New(session.Config{
		Engine:      files.Engine(eng),
		Files:       files,
		Rows:        table,
		Push:        push,
		Replays:     replays,
		Credentials: auth.New(auth.Config{Rows: table, PersonKeys: set.PersonKeys, Now: time.Now, Log: slog.Default()}),
		Limits:      session.Limits{EventsPerFrame: set.EventsPerFrame},
		Server:      protocol.Server{Name: settings.ServerName, Version: settings.Version()},
		Unordered:   true,
		PingFrames:  true,
		Left:        (&deadline.Watch{Rows: table, Silent: set.Silent, Now: time.Now}).Left,
		Now:         time.Now,
		Log:         slog.Default(),
	})
	replays.Inline = emf.Run(meter, emf.Replays, sessions.Replay)
	lambda.Start(meter.Each(lambda.NewHandler(apigw.Socket(sessions, slog.Default()))))
	return nil
}
