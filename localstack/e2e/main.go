// Command e2e deploys template.yaml with the built functions on MiniStack, an emulator of AWS that nobody here wrote, and holds a
// conversation on it: through its CloudFormation, its WebSocket and HTTP APIs, its streams and queues, with the real SDK clients and the
// real bootstrap binaries. What MiniStack cannot do as AWS does is worked around here and printed, never in the product.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

type options struct{ program, template, functions, log string }

func main() {
	var o options
	flag.StringVar(&o.program, "ministack", "ministack", "the program to start")
	flag.StringVar(&o.template, "template", "template.yaml", "what to deploy")
	flag.StringVar(&o.functions, "functions", ".build/host", "the folder that holds NAME/bootstrap of each function")
	flag.StringVar(&o.log, "log", ".build/e2e.log", "where MiniStack's log goes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "e2e: %v\nMiniStack's log, with the functions', is %s\n", err, o.log)
		os.Exit(1)
	}
}
