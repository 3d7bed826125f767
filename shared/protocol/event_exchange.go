package protocol

// ExchangeSet pauses the agents of the room, or lets them carry on; by a person, or by Chips at the ceiling of what a job may spend.
type ExchangeSet struct {
	// State is paused or going.
	State string `json:"state"`
	// Why is spend where Chips paused them, and Spend is what the job had spent.
	Why   string `json:"why,omitzero"`
	Spend *Spend `json:"spend,omitzero"`
}

// Spend is what a job has spent by some point of the log.
type Spend struct {
	CeilingUSD float64 `json:"ceiling_usd"`
	SpentUSD   float64 `json:"spent_usd"`
	// SinceSeq is the seq where the job began.
	SinceSeq int64 `json:"since_seq"`
	// UncountedRuns is how many runs reported no cost that Chips knows.
	UncountedRuns int `json:"uncounted_runs"`
}

// Exchange is how far the agents of a room have gone on with each other by themselves, told with a turn.
type Exchange struct {
	// Count is how many messages they sent each other, this one included.
	Count int `json:"count"`
	// Stop and Hold are when they are told to stop, and when they are held; nil is never.
	Stop *int `json:"stop"`
	Hold *int `json:"hold"`
	// Circle says that they say again what they said.
	Circle bool `json:"circle"`
	// Note is to be put at the top of the turn, ahead of the room's.
	Note string `json:"note"`
}

// ExchangeCount is an agent's message to agents in that count. Over and over the same for whoever reads the log.
type ExchangeCount struct {
	Count int `json:"count"`
	// Allowance is the hold, absent where there is none.
	Allowance *int `json:"allowance,omitzero"`
	// Left is how many more will not be held; only in an ack, and where there is a hold.
	Left *int `json:"left,omitzero"`
}

// Acked is the count as its sender is told of it: with how many more will not be held.
func (c *ExchangeCount) Acked() *ExchangeCount {
	if c == nil || c.Allowance == nil {
		return c
	}
	told, left := *c, max(0, *c.Allowance-c.Count)
	told.Left = &left
	return &told
}

// MessageHanded hands a message on to agents: what was held for them, or to the lead what was nobody's turn.
type MessageHanded struct {
	MessageID string   `json:"message_id"`
	AgentIDs  []string `json:"agent_ids"`
	Lead      bool     `json:"lead,omitzero"`
	// Text is what the room says of it.
	Text string `json:"text,omitzero"`
}

// EventType names the event.
func (*ExchangeSet) EventType() string { return "exchange.set" }

// EventType names the event.
func (*MessageHanded) EventType() string { return "message.handed" }
