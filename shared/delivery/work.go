package delivery

import (
	"slices"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// turnQuiet is for how long a turn may be silent and still count as going, unless the recipient's server says otherwise.
const turnQuiet = 10 * time.Minute

func (r Recipient) turnQuiet() time.Duration {
	if r.TurnQuiet > 0 {
		return r.TurnQuiet
	}
	return turnQuiet
}

// atWork are the agents of a room that take no turn now: those with a turn going at a time, and the rest; each by name.
func atWork(s *workspace.State, room *workspace.Room, at time.Time, r Recipient, takers []string) (working []protocol.WorkingAgent, idle []protocol.IdleAgent) {
	quiet := r.turnQuiet()
	for _, a := range s.AgentsIn(room, "") {
		if slices.Contains(takers, a.ID) {
			continue
		}
		if run := s.Turn(room, a.ID, at, quiet); run != nil {
			working = append(working, protocol.WorkingAgent{AgentID: a.ID, Name: a.Name, RunID: run.ID, Since: run.Started, LastStep: run.Step})
			continue
		}
		agent := protocol.IdleAgent{AgentID: a.ID, Name: a.Name}
		if since := s.IdleSince(room, a.ID, quiet); !since.IsZero() {
			ts := protocol.At(since)
			agent.Since = &ts
		}
		idle = append(idle, agent)
	}
	slices.SortFunc(working, func(a, b protocol.WorkingAgent) int { return workspace.CompareNames(a.Name, b.Name) })
	slices.SortFunc(idle, func(a, b protocol.IdleAgent) int { return workspace.CompareNames(a.Name, b.Name) })
	return working, idle
}

// work says who is at work and who has been without a turn for how long; "" where no other agent has ever had one.
func (t briefing) work(at time.Time) string {
	var parts, names []string
	for _, w := range t.working {
		part := protocol.QuotedName(w.Name) + ", " + age(at.Sub(w.Since.Time)) + " in"
		if w.LastStep != "" {
			part += " (last step: " + w.LastStep + ")"
		}
		names = append(names, part)
	}
	if len(names) > 0 {
		parts = append(parts, "Working now: "+strings.Join(names, "; ")+".")
	}
	names = nil
	for _, i := range t.idle {
		if i.Since != nil {
			names = append(names, protocol.QuotedName(i.Name)+" for "+age(at.Sub(i.Since.Time)))
		}
	}
	if len(names) > 0 {
		parts = append(parts, "Not working: "+strings.Join(names, "; ")+".")
	}
	return strings.Join(parts, " ")
}

// workBytes is how many bytes the facts of work take as JSON, at most and nearly.
func (t briefing) workBytes() int {
	n := 0
	for _, w := range t.working {
		n += memberFixed + textBytes(w.Name) + textBytes(w.LastStep)
	}
	for _, i := range t.idle {
		n += memberFixed + textBytes(i.Name)
	}
	return n
}
