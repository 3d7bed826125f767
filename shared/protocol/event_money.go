package protocol

// UsageReported is what a run used up since its harness last said so.
type UsageReported struct {
	Model        string `json:"model,omitzero"`
	InputTokens  *int64 `json:"input_tokens,omitzero"`
	OutputTokens *int64 `json:"output_tokens,omitzero"`
	// CostUSD is what it cost, in dollars: as the harness says, or by the price that Chips has for the model. Nil where nobody knows.
	CostUSD *float64 `json:"cost_usd,omitzero"`
	// Priced says that Chips worked out the cost.
	Priced bool `json:"priced,omitzero"`
}

// BudgetWarning tells that most, or all, of what may be spent is spent: by a job in a room, or by a harness.
type BudgetWarning struct {
	// HarnessID is the harness whose budget it is, absent for a job.
	HarnessID string `json:"harness_id,omitzero"`
	Budget    Budget `json:"budget"`
	// Threshold is how many hundredths are reached: 80 or 100.
	Threshold int `json:"threshold"`
	// Action is what comes of it: warn for nothing, pause where the agents of the room are paused.
	Action string `json:"action"`
	// Scope is job or harness.
	Scope string `json:"scope"`
	// SinceSeq is the seq where the job began, absent for a harness.
	SinceSeq int64 `json:"since_seq,omitzero"`
}

// SpaceCeilingSet is what a room allows a job from here on; null is the default.
type SpaceCeilingSet struct {
	CeilingUSD *float64 `json:"ceiling_usd"`
}

// SpaceLockSet locks the changes of a room against people, or lets them change it again.
type SpaceLockSet struct {
	Locked bool `json:"locked"`
}

// EventType names the event.
func (*UsageReported) EventType() string { return "usage.reported" }

// EventType names the event.
func (*BudgetWarning) EventType() string { return "budget.warning" }

// EventType names the event.
func (*SpaceCeilingSet) EventType() string { return "space.ceiling_set" }

// EventType names the event.
func (*SpaceLockSet) EventType() string { return "space.lock_set" }
