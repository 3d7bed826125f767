package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("what is %q? cost takes no arguments", flag.Arg(0))
	}
	r, err := measure(ctx)
	if err != nil {
		return err
	}
	return r.print(os.Stdout)
}
