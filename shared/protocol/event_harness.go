package protocol

// HarnessAdded says a harness was made; its owner is the person accountable for it.
type HarnessAdded struct {
	HarnessID    string   `json:"harness_id"`
	DisplayName  string   `json:"display_name"`
	OwnerID      string   `json:"owner_id"`
	Capabilities []string `json:"capabilities"`
}

// HarnessUpdated is a harness whole as it is now.
type HarnessUpdated struct {
	HarnessID    string   `json:"harness_id"`
	DisplayName  string   `json:"display_name"`
	OwnerID      string   `json:"owner_id"`
	Capabilities []string `json:"capabilities"`
}

// HarnessRemoved says a harness is gone; its agents are archived.
type HarnessRemoved struct {
	HarnessID string `json:"harness_id"`
}

// HarnessStatusSet says how a harness is: ok, trouble, restarting or away.
type HarnessStatusSet struct {
	HarnessID string `json:"harness_id"`
	Status    string `json:"status"`
	Message   string `json:"message,omitzero"`
}

// HarnessPolicySet is a harness's policy, whole as it is now.
type HarnessPolicySet struct {
	HarnessID string `json:"harness_id"`
	Policy
}

// HarnessBudgetSet is a harness's ceiling; null takes it away. What was spent counts from here.
type HarnessBudgetSet struct {
	HarnessID string   `json:"harness_id"`
	LimitUSD  *float64 `json:"limit_usd"`
}

// EventType names the event.
func (*HarnessAdded) EventType() string { return "harness.added" }

// EventType names the event.
func (*HarnessUpdated) EventType() string { return "harness.updated" }

// EventType names the event.
func (*HarnessRemoved) EventType() string { return "harness.removed" }

// EventType names the event.
func (*HarnessStatusSet) EventType() string { return "harness.status_set" }

// EventType names the event.
func (*HarnessPolicySet) EventType() string { return "harness.policy_set" }

// EventType names the event.
func (*HarnessBudgetSet) EventType() string { return "harness.budget_set" }
