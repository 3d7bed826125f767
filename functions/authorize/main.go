// Command authorize is the authorizer of $connect: it says whose socket is to be opened, or that none is.
package main

import (
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/emf"
	"github.com/chipschat/chips-aws/shared/settings"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err := run(); err != nil {
		slog.Error("authorize cannot start", "error", err)
		os.Exit(1)
	}
}

func run() error {
	set, err := settings.FromEnv(os.Getenv)
	if err != nil {
		return err
	}
	edge, err := apigw.NewEdge(os.Getenv("CHIPS_EDGE_SECRETS"), slog.Default())
	if err != nil {
		return err
	}
	cfg, err := apigw.Config(os.Getenv)
	if err != nil {
		return err
	}
	meter := emf.New(os.Stdout, os.Getenv("CHIPS_METRICS"), time.Now)
	service := auth.New(auth.Config{
		Rows:           meter.Table(dynamo.New(dynamo.NewClient(cfg), os.Getenv("CHIPS_TABLE"))),
		PersonKeys:     set.PersonKeys,
		AcceptURLToken: set.AcceptURLToken,
		TicketTTL:      set.TicketTTL,
		Now:            time.Now,
		Log:            slog.Default(),
	})
	lambda.Start(meter.Each(lambda.NewHandler(edge.Authorize(apigw.Authorize(service, slog.Default())))))
	return nil
}
