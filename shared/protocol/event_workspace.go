package protocol

// WorkspaceOpened is the first event of every log.
type WorkspaceOpened struct {
	Name string `json:"name,omitzero"`
}

// WorkspaceRenamed says the workspace's new name.
type WorkspaceRenamed struct {
	Name     string `json:"name"`
	Previous string `json:"previous"`
}

// PolicyCapSet is the workspace's cap on every harness's policy, whole as it is now.
type PolicyCapSet struct {
	MaxAutonomy int    `json:"max_autonomy"`
	Rules       []Rule `json:"rules"`
}

// ExchangeSettingsSet is the referee's settings, whole as they are now; null is never.
type ExchangeSettingsSet struct {
	Stop    *int `json:"stop"`
	Hold    *int `json:"hold"`
	Circles bool `json:"circles"`
}

// Policy is the rules that fill in what an autonomy level leaves open.
type Policy struct {
	// Autonomy is 0 observe, 1 ask first, 2 ask when it matters, 3 autonomous and report back.
	Autonomy int    `json:"autonomy"`
	Rules    []Rule `json:"rules"`
}

// Rule is one rule of a policy; the first that matches decides.
type Rule struct {
	// Match is a glob over action kinds, as payment.*.
	Match string `json:"match"`
	When  *When  `json:"when,omitzero"`
	// Decision is allow, ask or deny.
	Decision  string   `json:"decision"`
	Approvers []string `json:"approvers,omitzero"`
	Reason    string   `json:"reason,omitzero"`
	Off       bool     `json:"off,omitzero"`
	MadeBy    string   `json:"made_by,omitzero"`
	MadeAt    *Time    `json:"made_at,omitzero"`
}

// When is the extra conditions of a rule; all that are there must hold.
type When struct {
	External     *bool    `json:"external,omitzero"`
	Irreversible *bool    `json:"irreversible,omitzero"`
	MoneyUSDOver *float64 `json:"money_usd_over,omitzero"`
	Risk         []string `json:"risk,omitzero"`
	StartsWith   []string `json:"starts_with,omitzero"`
}

// Budget is a harness's ceiling and what it has spent, in dollars.
type Budget struct {
	LimitUSD float64 `json:"limit_usd"`
	SpentUSD float64 `json:"spent_usd"`
}

// EventType names the event.
func (*WorkspaceOpened) EventType() string { return "workspace.opened" }

// EventType names the event.
func (*WorkspaceRenamed) EventType() string { return "workspace.renamed" }

// EventType names the event.
func (*PolicyCapSet) EventType() string { return "policy.cap_set" }

// EventType names the event.
func (*ExchangeSettingsSet) EventType() string { return "exchange.settings_set" }
