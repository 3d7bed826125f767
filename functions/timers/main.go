// Command timers fires what falls due in a workspace. No rule has a deadline yet, so whatever comes is decided to be nothing.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"
	_ "time/tzdata" // the image has none

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/emf"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/workspace"
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
	cfg, err := apigw.Config(os.Getenv)
	if err != nil {
		return err
	}
	meter := emf.New(os.Stdout, os.Getenv("CHIPS_METRICS"), time.Now)
	eng := engine.New(meter.Table(dynamo.New(dynamodb.NewFromConfig(cfg), os.Getenv("CHIPS_TABLE"))), engine.Options{Now: time.Now})
	fire := func(ctx context.Context, d apigw.Deadline) error {
		return eng.Read(ctx, d.WorkspaceID, func(s *workspace.State) error {
			slog.InfoContext(ctx, "a deadline that no rule waits for", "workspace_id", d.WorkspaceID, "kind", d.Kind, "id", d.ID, "seq", s.Seq)
			return nil
		})
	}
	lambda.Start(meter.Each(lambda.NewHandler(apigw.Timers(fire, slog.Default()))))
	return nil
}
