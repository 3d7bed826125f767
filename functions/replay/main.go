// Command replay catches up the subscriptions that are too long for the frame that asked for them. Before its time is up it hands on to
// another invocation of itself.
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
	"github.com/chipschat/chips-aws/shared/relay"
	"github.com/chipschat/chips-aws/shared/session"
)

func main() { boot.Main("replay", wire) }

func wire(_ context.Context, f *boot.Function) (lambda.Handler, error) {
	set, cfg, meter, table, log := f.Settings, f.AWS, f.Meter, f.Table, f.Log
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
		Log:       log,
	})
	return lambda.NewHandler(emf.Run(meter, emf.Replays, sessions.Replay)), nil
}
