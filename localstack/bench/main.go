package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	b := &bench{out: os.Stdout}
	flag.BoolVar(&b.quick, "quick", false, "fewer and shorter repetitions, shorter logs: under half a minute in all")
	flag.BoolVar(&b.peers, "peers", false, "measure NATS JetStream and Centrifugo too (the first time builds them, which takes minutes)")
	flag.StringVar(&b.chips, "chips", ".build/chips", "the `program` that serves; make bench builds it")
	flag.StringVar(&b.functions, "functions", ".build/host", "the `folder` of the functions' programs; make bench builds them")
	flag.StringVar(&b.cache, "cache", ".build/peers", "the `folder` that keeps what -peers builds")
	only := flag.String("only", "", "measure these alone, `NAMES` parted by commas: "+strings.Join(names(), ", "))
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("what is %q? -help tells the flags", flag.Arg(0))
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	b.peers = b.peers || strings.Contains(*only, "peers")
	if b.dir, err = os.MkdirTemp("", "chips-bench-"); err != nil {
		return err
	}
	b.machine()
	for _, l := range chosen {
		fmt.Fprintf(os.Stderr, "measuring %s ...\n", l.name)
		if err = l.run(b, ctx); err != nil {
			err = fmt.Errorf("%s: %w", l.name, err)
			break
		}
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}
