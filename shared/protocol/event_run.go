package protocol

// RunStarted reports a run already begun; the envelope's run_id is new in the workspace.
type RunStarted struct {
	Title       string `json:"title,omitzero"`
	ParentRunID string `json:"parent_run_id,omitzero"`
	ForMessage  string `json:"for_message,omitzero"`
}

// RunPaused says a running run waits.
type RunPaused struct{}

// RunResumed says a paused run goes on.
type RunResumed struct{}

// RunCompleted ends a run that did its work.
type RunCompleted struct {
	Summary string `json:"summary,omitzero"`
}

// RunFailed ends a run that could not.
type RunFailed struct {
	Error string `json:"error,omitzero"`
}

// RunCancelled ends a run its harness gave up.
type RunCancelled struct{}

// RunCancel ends a run and its lanes by Chips or a person, in the same write.
type RunCancel struct {
	// Lanes are the ids of every run below it that was still going.
	Lanes []string `json:"lanes"`
	// Reason is asked, moved, removed, archived, deleted, agent_archived or replaced.
	Reason string `json:"reason,omitzero"`
}

// StepStarted says what a run is on now.
type StepStarted struct {
	StepID string `json:"step_id"`
	Title  string `json:"title"`
}

// StepLog says what became of a step.
type StepLog struct {
	StepID  string `json:"step_id"`
	Status  string `json:"status"`
	Summary string `json:"summary"`
}

// EventType names the event.
func (*RunStarted) EventType() string { return "run.started" }

// EventType names the event.
func (*RunPaused) EventType() string { return "run.paused" }

// EventType names the event.
func (*RunResumed) EventType() string { return "run.resumed" }

// EventType names the event.
func (*RunCompleted) EventType() string { return "run.completed" }

// EventType names the event.
func (*RunFailed) EventType() string { return "run.failed" }

// EventType names the event.
func (*RunCancelled) EventType() string { return "run.cancelled" }

// EventType names the event.
func (*RunCancel) EventType() string { return "run.cancel" }

// EventType names the event.
func (*StepStarted) EventType() string { return "step.started" }

// EventType names the event.
func (*StepLog) EventType() string { return "step.log" }
