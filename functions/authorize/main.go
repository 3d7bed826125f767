// Command authorize is the authorizer of $connect: it says whose socket is to be opened, or that none is.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/boot"
)

func main() { boot.Main("authorize", wire) }

func wire(_ context.Context, f *boot.Function) (lambda.Handler, error) {
	set, table, log := f.Settings, f.Table, f.Log
	slog.SetLogLoggerLevel(slog.LevelInfo) // what the runtime takes for a failure here is a refusal
	edge, err := apigw.NewEdge(os.Getenv("CHIPS_EDGE_SECRETS"), log)
	if err != nil {
		return nil, err
	}
	service := auth.New(auth.Config{
		Rows:           table,
		PersonKeys:     set.PersonKeys,
		AcceptURLToken: set.AcceptURLToken,
		TicketTTL:      set.TicketTTL,
		Now:            time.Now,
		Log:            log,
	})
	return lambda.NewHandler(edge.Authorize(apigw.Authorize(service, log))), nil
}
