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

	VersionFlag kong.VersionFlag `name:"version" help:"Print the version."`
}

// terminal is where a command writes for people.
type terminal struct{ out, err io.Writer }

type versionCommand struct{}

// Run prints the program's version and the protocol's.
func (versionCommand) Run(t *terminal) error {
	_, err := fmt.Fprintln(t.out, versions())
	return err
}

func versions() string {
	return fmt.Sprintf("chips %s, protocol %d", settings.Version(), protocol.Version)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c commands
	parser := kong.Must(&c, kong.Name("chips"), kong.Description(description), kong.Vars{"version": versions()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(&terminal{os.Stdout, os.Stderr}))
	k, err := parser.Parse(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "chips: %v; see %s --help\n", err, asked(err))
		os.Exit(2)
	}
	if err := k.Run(); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "chips: %v\n", err)
		os.Exit(1)
	}
}

// asked is the command that a usage error is about, as far as it was understood.
func asked(err error) string {
	if parsing, ok := errors.AsType[*kong.ParseError](err); ok && parsing.Context.Selected() != nil {
		return parsing.Context.Selected().FullPath()
	}
	return "chips"
}
