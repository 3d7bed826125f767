// Command chips is Chips on one machine: the server in one process, without an account, and what a person at a terminal needs to try it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // the machine may have none

	"github.com/alecthomas/kong"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/settings"
)

const description = `Chips: a room where people and agents work together.

Try it:

  chips serve --demo          a server with a workspace, a room and an echo agent
  chips listen                what happens in your rooms, one JSON line an event
  chips send "hello, Echo"    a message, as you

listen and send know the demo's server and key by themselves. For another server
give --url and --key, or CHIPS_URL and CHIPS_KEY.`

type commands struct {
	Serve   serveCommand   `cmd:"" help:"Run the server."`
	Listen  listenCommand  `cmd:"" help:"Print what happens, one JSON line an event."`
	Send    sendCommand    `cmd:"" help:"Post a message in a room."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// terminal is where a command writes for people.
type terminal struct{ out, err io.Writer }

type versionCommand struct{}

// Run prints the program's version and the protocol's.
func (versionCommand) Run(t *terminal) error {
	_, err := fmt.Fprintf(t.out, "chips %s, protocol %d\n", settings.Version(), protocol.Version)
	return err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c commands
	k := kong.Parse(&c, kong.Name("chips"), kong.Description(description), kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(&terminal{os.Stdout, os.Stderr}))
	if err := k.Run(); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "chips: %v\n", err)
		os.Exit(1)
	}
}
