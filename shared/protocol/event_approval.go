package protocol

// Action is what a run asks to be let do.
type Action struct {
	// Kind is what kind of thing it is, as payment.send; Summary says it in words.
	Kind         string `json:"kind"`
	Summary      string `json:"summary"`
	External     bool   `json:"external,omitzero"`
	Irreversible bool   `json:"irreversible,omitzero"`
	// MoneyUSD is what it spends, in dollars.
	MoneyUSD *float64 `json:"money_usd,omitzero"`
	Risk     []string `json:"risk,omitzero"`
	// Command is the line of a shell that it runs.
	Command string `json:"command,omitzero"`
}

// Verdict is what policy said of an action, and what of it said so.
type Verdict struct {
	// Decision is allow, ask or deny.
	Decision string `json:"decision"`
	// Policy is whose: harness, workspace (its cap), or session (an answer that holds for the run).
	Policy string `json:"policy"`
	// Rule is the place in that policy, from 0, of the rule that decided, and Match what it matches; absent where the autonomy level did.
	Rule     *int   `json:"rule,omitzero"`
	Match    string `json:"match,omitzero"`
	Autonomy *int   `json:"autonomy,omitzero"`
}

// ApprovalRequested says that a run wants to do something, with what policy says of it.
type ApprovalRequested struct {
	ApprovalID string `json:"approval_id"`
	Action     Action `json:"action"`
	// Verdict, Approvers and Reason are filled in by Chips: Approvers, where it waits, are who may answer, in the words of a rule, and
	// Reason is the deciding rule's.
	Verdict   *Verdict `json:"verdict,omitzero"`
	Approvers []string `json:"approvers,omitzero"`
	Reason    string   `json:"reason,omitzero"`
}

// ApprovalResolved answers an approval: by somebody who may, or by Chips, which says why in Reason.
type ApprovalResolved struct {
	ApprovalID string `json:"approval_id"`
	// Decision is approved or denied.
	Decision string `json:"decision"`
	// Remember is always or session: the same shall be decided so from now on, or until the run ends.
	Remember string `json:"remember,omitzero"`
	// Remembered says whether that made a rule; Rule is the one for the run. Filled in by Chips.
	Remembered *bool `json:"remembered,omitzero"`
	Rule       *Rule `json:"rule,omitzero"`
	// Reason is, where Chips itself resolved it, policy or run_ended.
	Reason string `json:"reason,omitzero"`
	// ResolvedElsewhere is added at delivery for a person's socket whose credential did not send it.
	ResolvedElsewhere bool `json:"resolved_elsewhere,omitzero"`
}

// QuestionAsked is a run's question to people.
type QuestionAsked struct {
	QuestionID string `json:"question_id"`
	Text       string `json:"text"`
	// Options are answers to choose from; another may be given all the same.
	Options []string `json:"options,omitzero"`
}

// QuestionAnswered is a person's answer.
type QuestionAnswered struct {
	QuestionID string `json:"question_id"`
	Answer     string `json:"answer"`
}

// QuestionClosed says that a question waits no longer, as its run ended.
type QuestionClosed struct {
	QuestionID string `json:"question_id"`
	Reason     string `json:"reason"`
}

// What a policy decides.
const (
	Allow = "allow"
	Ask   = "ask"
	Deny  = "deny"
)

// What an approval is resolved with.
const (
	Approved = "approved"
	Denied   = "denied"
)

// For how long an answer is remembered.
const (
	RememberAlways  = "always"
	RememberSession = "session"
)

// Why Chips itself resolves an approval or closes a question.
const (
	ReasonPolicy   = "policy"
	ReasonRunEnded = "run_ended"
)

// EventType names the event.
func (*ApprovalRequested) EventType() string { return "approval.requested" }

// EventType names the event.
func (*ApprovalResolved) EventType() string { return "approval.resolved" }

// EventType names the event.
func (*QuestionAsked) EventType() string { return "question.asked" }

// EventType names the event.
func (*QuestionAnswered) EventType() string { return "question.answered" }

// EventType names the event.
func (*QuestionClosed) EventType() string { return "question.closed" }
