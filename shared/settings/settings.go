// Package settings is the configuration every entry point shares: the waits, limits and switches of Chips, each with the one
// environment name it is known by. It reads no environment itself, so that a Lambda, the local server and a test say where from.
package settings

import (
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/workspace"
)

// Settings are the numbers and switches of one deployment.
type Settings struct {
	TicketTTL     time.Duration   // how long a socket ticket is good
	Ping          time.Duration   // between two pings of a socket
	Silent        time.Duration   // silence after which a socket is closed, and time without one after which a harness is away
	Waits         workspace.Waits // what the rules wait for
	AttachmentURL time.Duration   // how long a signed URL is good

	Prices workspace.Prices // what models cost, where a usage report does not say

	BacklogFrames  int // frames a consumer may be behind
	EventsPerFrame int // events in one events frame

	AcceptURLToken bool     // take ?token= on the upgrade
	PersonKeys     bool     // take a person's key as a bearer token
	AllowedOrigins []string // origins that browsers may call from; empty is any
}

// Default is what a deployment has that sets nothing.
func Default() Settings {
	return Settings{
		TicketTTL:      30 * time.Second,
		Ping:           20 * time.Second,
		Silent:         time.Minute,
		Waits:          workspace.DefaultWaits(),
		AttachmentURL:  10 * time.Minute,
		Prices:         defaultPrices(),
		BacklogFrames:  1000,
		EventsPerFrame: 500,
		AcceptURLToken: true,
	}
}

// A name is one environment variable and the field it sets: a *time.Duration (milliseconds), *int, *bool, *[]string or
// *workspace.Prices (put over those that are there).
type name struct {
	env   string
	field any
}

func (s *Settings) names() []name {
	return []name{
		{"CHIPS_TICKET_TTL_MS", &s.TicketTTL},
		{"CHIPS_PING_MS", &s.Ping},
		{"CHIPS_SILENT_MS", &s.Silent},
		{"CHIPS_BACKLOG_FRAMES", &s.BacklogFrames},
		{"CHIPS_EVENTS_PER_FRAME", &s.EventsPerFrame},
		{"FORK_WAIT_MS", &s.Waits.Fork},
		{"NEW_AGENT_WAIT_MS", &s.Waits.NewAgent},
		{"CHIPS_RESTART_WAIT_MS", &s.Waits.Restart},
		{"CHIPS_LEAD_IDLE_MS", &s.Waits.LeadIdle},
		{"CHIPS_TURN_QUIET_MS", &s.Waits.TurnQuiet},
		{"CHIPS_MANAGED_WAIT_MS", &s.Waits.Managed},
		{"CHIPS_ATTACHMENT_URL_MS", &s.AttachmentURL},
		{"CHIPS_ACCEPT_URL_TOKEN", &s.AcceptURLToken},
		{"CHIPS_PERSON_KEYS", &s.PersonKeys},
		{"CHIPS_ALLOWED_ORIGINS", &s.AllowedOrigins},
		{"CHIPS_PRICES", &s.Prices},
	}
}

// Names are the environment names FromEnv reads.
func Names() []string {
	var s Settings
	var names []string
	for _, n := range s.names() {
		names = append(names, n.env)
	}
	return names
}

// maxWait bounds every wait: a number in the wrong unit is a mistake to be told at the start.
const maxWait = 24 * time.Hour

// FromEnv is Default with what getenv knows set over it; an empty value is one that is not set. The error names the variable and
// what it takes.
func FromEnv(getenv func(string) string) (Settings, error) {
	s := Default()
	for _, n := range s.names() {
		value := strings.TrimSpace(getenv(n.env))
		if value == "" {
			continue
		}
		if err := set(n.field, value); err != nil {
			return Settings{}, fmt.Errorf("%s=%q: %w", n.env, value, err)
		}
	}
	if s.EventsPerFrame > 500 {
		return Settings{}, fmt.Errorf("CHIPS_EVENTS_PER_FRAME=%d: 500 is the most a frame holds", s.EventsPerFrame)
	}
	return s, nil
}

func set(field any, value string) error {
	switch f := field.(type) {
	case *time.Duration:
		ms, err := strconv.ParseInt(value, 10, 64)
		if err != nil || ms < 1 || ms > maxWait.Milliseconds() {
			return fmt.Errorf("want milliseconds, 1 to %d", maxWait.Milliseconds())
		}
		*f = time.Duration(ms) * time.Millisecond
	case *int:
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > 1_000_000 {
			return fmt.Errorf("want a whole number, 1 to 1000000")
		}
		*f = n
	case *bool:
		switch strings.ToLower(value) {
		case "1", "true":
			*f = true
		case "0", "false":
			*f = false
		default:
			return fmt.Errorf("want 1 or 0")
		}
	case *[]string:
		*f = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	case *workspace.Prices:
		over, err := overPrices(*f, value)
		if err != nil {
			return err
		}
		*f = over
	default:
		return fmt.Errorf("no way to read into a %T", field)
	}
	return nil
}

// ServerName is what the server calls itself in its hello.
const ServerName = "chipsd"

// Version is the program's version as the Go toolchain stamped it: a tag, a commit, or "(devel)".
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
