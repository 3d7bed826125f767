// Command socket serves $connect, $default and $disconnect: what a client sends is decided, appended and answered here.
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
	"github.com/chipschat/chips-aws/shared/emf"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/relay"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/settings"
)

func main() { boot.Main("socket", wire) }

func wire(_ context.Context, f *boot.Function) (lambda.Handler, error) {
	set, cfg, meter, table, log := f.Settings, f.AWS, f.Meter, f.Table, f.Log
	push := meter.Push(apigw.NewPush(cfg, os.Getenv("CHIPS_PUSH_ENDPOINT")))
	replays := relay.NewReplays(cfg, os.Getenv("CHIPS_REPLAY_FUNCTION"))
	eng, url := engine.New(table, engine.Options{Now: time.Now, Waits: set.Waits, Prices: set.Prices}), apigw.PublicURL(cfg, os.Getenv("CHIPS_URL_PARAMETER"), time.Now)
	files := attachment.New(attachment.Config{Rows: table, Log: eng, URL: url, URLFor: set.AttachmentURL, Now: time.Now, Logger: log})
	sessions := session.New(session.Config{
		Engine:      files.Engine(eng),
		Files:       files,
		Rows:        table,
		Push:        push,
		Replays:     replays,
		Credentials: auth.New(auth.Config{Rows: table, PersonKeys: set.PersonKeys, Now: time.Now, Log: log}),
		Limits:      session.Limits{EventsPerFrame: set.EventsPerFrame},
		Server:      protocol.Server{Name: settings.ServerName, Version: settings.Version()},
		Unordered:   true,
		PingFrames:  true,
		Left:        (&deadline.Watch{Rows: table, Silent: set.Silent, Now: time.Now}).Left,
		Now:         time.Now,
		Log:         log,
	})
	replays.Inline = emf.Run(meter, emf.Replays, sessions.Replay)
	return lambda.NewHandler(apigw.Socket(sessions, log)), nil
}
