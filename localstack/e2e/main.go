// Command e2e deploys template.yaml with the built functions on an emulator of AWS that nobody here wrote, and holds a conversation on it:
// through its CloudFormation, its WebSocket and HTTP APIs, its streams, queues and schedules, with the real SDK clients and the real
// bootstrap binaries. MiniStack is started from its package; LocalStack is started with Docker and needs an account of its own. What an
// emulator cannot do as AWS does is worked around here and printed, never in the product.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

type options struct {
	target, program, template, functions, log string
	dryRun                                    bool
}

func main() {
	var o options
	flag.StringVar(&o.target, "target", "ministack", "the emulator: ministack or localstack")
	flag.StringVar(&o.program, "ministack", "ministack", "MiniStack's program")
	flag.StringVar(&o.template, "template", "template.yaml", "what to deploy")
	flag.StringVar(&o.functions, "functions", ".build/host", "the folder that holds NAME/bootstrap of each function")
	flag.StringVar(&o.log, "log", ".build/e2e.log", "where the emulator's log goes")
	flag.BoolVar(&o.dryRun, "dry-run", false, "print what would be started, changed and deployed, and do nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "e2e: %v\nthe emulator's log, with the functions', is %s\n", err, o.log)
		os.Exit(1)
	}
}
