package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/workspace"
)

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

// What nothing sets is what the documents say: the numbers as they are written there.
// covers: KEEP-7, TKT-7, SUB-7
func TestNothingSetIsAsTheDocumentsSay(t *testing.T) {
	got, err := FromEnv(env(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		TicketTTL: 30_000 * time.Millisecond, Ping: 20_000 * time.Millisecond, Silent: 60_000 * time.Millisecond,
		Waits: workspace.Waits{
			LeadIdle: 20_000 * time.Millisecond, TurnQuiet: 600_000 * time.Millisecond, Fork: 60_000 * time.Millisecond,
			NewAgent: 60_000 * time.Millisecond, Restart: 180_000 * time.Millisecond, Managed: 60_000 * time.Millisecond,
		},
		Prices:        defaultPrices(),
		AttachmentURL: 600_000 * time.Millisecond, BacklogFrames: 1000, EventsPerFrame: 500, AcceptURLToken: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every name reaches a field of its own, and every field but none has a name.
func TestEveryNameSetsItsField(t *testing.T) {
	pairs := map[string]string{
		"CHIPS_TICKET_TTL_MS": "1", "CHIPS_PING_MS": "2", "CHIPS_SILENT_MS": "3", "CHIPS_BACKLOG_FRAMES": "4",
		"CHIPS_EVENTS_PER_FRAME": "5", "FORK_WAIT_MS": "6", "NEW_AGENT_WAIT_MS": "7", "CHIPS_RESTART_WAIT_MS": "8",
		"CHIPS_LEAD_IDLE_MS": "9", "CHIPS_TURN_QUIET_MS": "10", "CHIPS_MANAGED_WAIT_MS": "11", "CHIPS_ATTACHMENT_URL_MS": "12",
		"CHIPS_ACCEPT_URL_TOKEN": "0", "CHIPS_PERSON_KEYS": "1", "CHIPS_ALLOWED_ORIGINS": "https://a.example, https://b.example",
		"CHIPS_PRICES": `{"mine":{"input_usd":0.25,"output_usd":1.5},"gpt-5.5":{"input_usd":1,"output_usd":2}}`,
	}
	want := Settings{
		TicketTTL: time.Millisecond, Ping: 2 * time.Millisecond, Silent: 3 * time.Millisecond, BacklogFrames: 4,
		EventsPerFrame: 5,
		Waits: workspace.Waits{
			Fork: 6 * time.Millisecond, NewAgent: 7 * time.Millisecond, Restart: 8 * time.Millisecond,
			LeadIdle: 9 * time.Millisecond, TurnQuiet: 10 * time.Millisecond, Managed: 11 * time.Millisecond,
		},
		AttachmentURL: 12 * time.Millisecond, PersonKeys: true, AllowedOrigins: []string{"https://a.example", "https://b.example"},
	}
	want.Prices = defaultPrices()
	want.Prices["mine"] = workspace.Price{Input: 250_000_000, Output: 1_500_000_000}
	want.Prices["gpt-5.5"] = workspace.Price{Input: 1_000_000_000, Output: 2_000_000_000}
	got, err := FromEnv(env(pairs))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(Names()) != len(pairs) {
		t.Errorf("%d names, %d tried: a new one needs a line here", len(Names()), len(pairs))
	}
}

func TestBadValuesNameTheVariable(t *testing.T) {
	for name, value := range map[string]string{
		"CHIPS_PING_MS": "20s", "CHIPS_SILENT_MS": "0", "FORK_WAIT_MS": "86400001", "CHIPS_BACKLOG_FRAMES": "-1",
		"CHIPS_EVENTS_PER_FRAME": "501", "CHIPS_ACCEPT_URL_TOKEN": "yes", "CHIPS_PRICES": `{"m":{"input_usd":3}}`,
	} {
		if _, err := FromEnv(env(map[string]string{name: value})); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}
