package protocol

// kinds are the event types, in the order of their files: the one place where a type is made known.
var kinds = []kind{
	kindOf[Hello](),
	kindOf[WorkspaceOpened](), kindOf[WorkspaceRenamed](), kindOf[PolicyCapSet](), kindOf[ExchangeSettingsSet](),
	kindOf[PersonAdded](), kindOf[PersonUpdated](), kindOf[PersonRemoved](),
	kindOf[HarnessAdded](), kindOf[HarnessUpdated](), kindOf[HarnessRemoved](), kindOf[HarnessStatusSet](), kindOf[HarnessPolicySet](), kindOf[HarnessBudgetSet](),
	kindOf[ManagedAnswered](),
	kindOf[SpaceOpened](), kindOf[SpaceRenamed](), kindOf[SpaceArchived](), kindOf[SpaceUnarchived](), kindOf[SpaceClosed](), kindOf[SpaceDeleted](),
	kindOf[SpaceLeadSet](), kindOf[MemberAdded](), kindOf[MemberRemoved](), kindOf[MembershipReplaced](),
	kindOf[AgentRegistered](), kindOf[AgentUpdated](), kindOf[AgentAttached](), kindOf[AgentReleased](), kindOf[AgentMoved](),
	kindOf[MessagePost](), kindOf[MessageNew](), kindOf[MessageOverheard](), kindOf[MessageHeld](), kindOf[TurnPassed](), kindOf[MessageHeard](), kindOf[RunSteer](),
	kindOf[AgentFork](), kindOf[AgentAsked](), kindOf[RoomSays](),
	kindOf[MessageEdited](), kindOf[MessageDeleted](), kindOf[ReactionSet](), kindOf[PinSet](),
	kindOf[ExchangeSet](), kindOf[MessageHanded](),
	kindOf[RunStarted](), kindOf[RunPaused](), kindOf[RunResumed](), kindOf[RunCompleted](), kindOf[RunFailed](), kindOf[RunCancelled](), kindOf[RunCancel](),
	kindOf[StepStarted](), kindOf[StepLog](),
	kindOf[UsageReported](), kindOf[BudgetWarning](), kindOf[SpaceCeilingSet](), kindOf[SpaceLockSet](),
	kindOf[ApprovalRequested](), kindOf[ApprovalResolved](), kindOf[QuestionAsked](), kindOf[QuestionAnswered](), kindOf[QuestionClosed](),
}

// kind is what is known of an event type: its name, and how its events are read.
type kind struct {
	name       string
	newData    func() Data
	read       func(raw []byte, head *Envelope) (Data, error)
	readStored func(raw []byte, head *stored) (Data, error)
	readDraft  func(raw []byte, head *draft) (Data, error)
}

func kindOf[D any, P dataOf[D]]() kind {
	return kind{
		P(new(D)).EventType(), func() Data { return P(new(D)) },
		reader[Envelope, D, P](), reader[stored, D, P](), reader[draft, D, P](),
	}
}

// Types are the names of every event type, in the order of their files.
var Types = func() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}()

var kindsByName = func() map[string]*kind {
	m := make(map[string]*kind, len(kinds))
	for i := range kinds {
		m[kinds[i].name] = &kinds[i]
	}
	return m
}()

// NewData is an empty value of an event type's fields, nil for a type nobody knows.
func NewData(typ string) Data {
	k := kindsByName[typ]
	if k == nil {
		return nil
	}
	return k.newData()
}
