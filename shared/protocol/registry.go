package protocol

// Types are the names of every event type, in the order of their files.
var Types = []string{
	"hello",
	"workspace.opened", "workspace.renamed", "policy.cap_set", "exchange.settings_set",
	"person.added", "person.updated", "person.removed",
	"harness.added", "harness.updated", "harness.removed", "harness.status_set", "harness.policy_set", "harness.budget_set",
	"space.opened", "space.renamed", "space.archived", "space.unarchived", "space.closed", "space.deleted",
	"member.added", "member.removed",
	"agent.registered", "agent.updated", "agent.attached", "agent.released", "agent.moved",
	"message.post", "message.new", "message.overheard",
	"run.started", "run.paused", "run.resumed", "run.completed", "run.failed", "run.cancelled", "run.cancel",
	"step.started", "step.log",
}

// NewData is an empty value of an event type's fields, nil for a type nobody knows. It is the one place where a name becomes a type.
func NewData(typ string) Data {
	switch typ {
	case "hello":
		return &Hello{}
	case "workspace.opened":
		return &WorkspaceOpened{}
	case "workspace.renamed":
		return &WorkspaceRenamed{}
	case "policy.cap_set":
		return &PolicyCapSet{}
	case "exchange.settings_set":
		return &ExchangeSettingsSet{}
	case "person.added":
		return &PersonAdded{}
	case "person.updated":
		return &PersonUpdated{}
	case "person.removed":
		return &PersonRemoved{}
	case "harness.added":
		return &HarnessAdded{}
	case "harness.updated":
		return &HarnessUpdated{}
	case "harness.removed":
		return &HarnessRemoved{}
	case "harness.status_set":
		return &HarnessStatusSet{}
	case "harness.policy_set":
		return &HarnessPolicySet{}
	case "harness.budget_set":
		return &HarnessBudgetSet{}
	case "space.opened":
		return &SpaceOpened{}
	case "space.renamed":
		return &SpaceRenamed{}
	case "space.archived":
		return &SpaceArchived{}
	case "space.unarchived":
		return &SpaceUnarchived{}
	case "space.closed":
		return &SpaceClosed{}
	case "space.deleted":
		return &SpaceDeleted{}
	case "member.added":
		return &MemberAdded{}
	case "member.removed":
		return &MemberRemoved{}
	case "agent.registered":
		return &AgentRegistered{}
	case "agent.updated":
		return &AgentUpdated{}
	case "agent.attached":
		return &AgentAttached{}
	case "agent.released":
		return &AgentReleased{}
	case "agent.moved":
		return &AgentMoved{}
	case "message.post":
		return &MessagePost{}
	case "message.new":
		return &MessageNew{}
	case "message.overheard":
		return &MessageOverheard{}
	case "run.started":
		return &RunStarted{}
	case "run.paused":
		return &RunPaused{}
	case "run.resumed":
		return &RunResumed{}
	case "run.completed":
		return &RunCompleted{}
	case "run.failed":
		return &RunFailed{}
	case "run.cancelled":
		return &RunCancelled{}
	case "run.cancel":
		return &RunCancel{}
	case "step.started":
		return &StepStarted{}
	case "step.log":
		return &StepLog{}
	}
	return nil
}
