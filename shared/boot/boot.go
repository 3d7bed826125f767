// Package boot is what every function begins with: its log, its settings, the SDK's configuration, its meter and the table. What a main adds
// is what its function is for.
package boot

import (
	"context"
	"log/slog"
	"os"
	"time"
	_ "time/tzdata" // the image has none

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/emf"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/settings"
)

// Function is what a function is made of.
type Function struct {
	Settings settings.Settings
	AWS      aws.Config
	Meter    *emf.Meter
	// Table is the workspaces' table, whose calls are metered.
	Table engine.Table
	Log   *slog.Logger
}

// Main runs a function as Lambda has it: wire makes its handler, which is given events until the process is ended. What it cannot
// start with is logged, and ends the process.
func Main(name string, wire func(context.Context, *Function) (lambda.Handler, error)) {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	slog.SetDefault(log)
	slog.SetLogLoggerLevel(slog.LevelError) // the runtime's own lines are of failures
	f, err := fromEnv(log)
	var handler lambda.Handler
	if err == nil {
		handler, err = wire(context.Background(), f)
	}
	if err != nil {
		log.Error(name+" cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(f.Meter.Each(handler))
}

func fromEnv(log *slog.Logger) (*Function, error) {
	set, err := settings.FromEnv(os.Getenv)
	if err != nil {
		return nil, err
	}
	cfg, err := apigw.Config(os.Getenv)
	if err != nil {
		return nil, err
	}
	meter := emf.New(os.Stdout, os.Getenv("CHIPS_METRICS"), time.Now)
	return &Function{
		Settings: set, AWS: cfg, Meter: meter, Log: log,
		Table: meter.Table(dynamo.New(dynamo.NewClient(cfg), os.Getenv("CHIPS_TABLE"))),
	}, nil
}
