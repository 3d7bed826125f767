package workspace

import (
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// evolveRun takes the events of runs. Any event on a run or its lanes is a word heard of it.
func (s *State) evolveRun(e protocol.Event) {
	if d, ok := e.Data.(*protocol.RunStarted); ok {
		s.Runs[e.RunID] = &Run{
			ID: e.RunID, HarnessID: s.harnessOf(e.Actor.ID), AgentID: e.Actor.ID, Room: e.SpaceID, Parent: d.ParentRunID,
			Started: e.TS, Heard: e.TS, Seq: e.Seq, Status: Running,
		}
		s.heard(d.ParentRunID, e.TS)
		s.turnStarted(s.Runs[e.RunID])
		return
	}
	run := s.Runs[e.RunID]
	if run == nil {
		return
	}
	switch d := e.Data.(type) {
	case *protocol.ApprovalRequested, *protocol.ApprovalResolved, *protocol.QuestionAsked, *protocol.QuestionAnswered, *protocol.QuestionClosed:
		s.evolveInquiry(run, e)
	case *protocol.StepStarted:
		run.Step = stepWords(d.Title)
	case *protocol.StepLog:
		if words := stepWords(d.Summary); words != "" {
			run.Step = words
		}
	case *protocol.UsageReported:
		s.evolveUsage(run, e, d)
	case *protocol.RunPaused:
		run.Status = Paused
	case *protocol.RunResumed:
		run.Status = Running
	case *protocol.RunCompleted:
		s.end(run, Completed, false)
	case *protocol.RunFailed:
		s.end(run, Failed, false)
	case *protocol.RunCancelled:
		s.end(run, Cancelled, false)
	case *protocol.RunCancel:
		for _, lane := range d.Lanes {
			if l := s.Runs[lane]; l != nil {
				s.end(l, Cancelled, true)
			}
		}
		s.end(run, Cancelled, true)
	}
}

// maxStepWords is how many characters are remembered of the step a run is on.
const maxStepWords = 120

// stepWords is a step in one line.
func stepWords(text string) string { return cut(strings.Join(strings.Fields(text), " "), maxStepWords) }

// heard notes a word of a run, and of the runs above it.
func (s *State) heard(id string, at protocol.Time) {
	for n := 0; id != "" && n < maxLaneDepth; n++ {
		run := s.Runs[id]
		if run == nil {
			return
		}
		run.Heard = at
		id = run.Parent
	}
}

// end ends a run and forgets the oldest ended one past those remembered.
func (s *State) end(run *Run, status string, byChips bool) {
	if run.EndedRun() {
		return
	}
	run.Status, run.ByChips, run.EndSeq, run.Step = status, byChips, s.Seq, ""
	s.turnEnded(run)
	s.closeInquiries(run)
	s.Ended = append(s.Ended, run.ID)
	for len(s.Ended) > RememberedRuns {
		delete(s.Runs, s.Ended[0])
		s.Ended = s.Ended[1:]
	}
}

// maxLaneDepth is how deep lanes may stand in one another.
const maxLaneDepth = 16

// own is the harness that is sent an event whatever its rooms, as it is about a run or an agent of its own; "" for none.
func (s *State) own(e protocol.Event) string {
	switch d := e.Data.(type) {
	case *protocol.RunCancel, *protocol.ApprovalRequested, *protocol.ApprovalResolved, *protocol.QuestionAnswered, *protocol.QuestionClosed:
		if run := s.Runs[e.RunID]; run != nil {
			return run.HarnessID
		}
	case *protocol.AgentAttached:
		return s.harnessOf(d.AgentID)
	case *protocol.AgentReleased:
		return s.harnessOf(d.AgentID)
	case *protocol.AgentFork:
		return d.HarnessID
	case *protocol.AgentAsked:
		return d.HarnessID
	}
	return ""
}
