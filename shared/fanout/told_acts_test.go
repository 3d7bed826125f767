package fanout_test

import (
	"slices"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// act makes a command of a type; its zero one is nothing just now.
type act struct {
	// weight is how often it is tried beside the others.
	weight int
	make   func(l *life, d dice) workspace.Command
}

// acts make every type of event that is asked for. A new type gets an act here, or its name in made.
var acts = map[string]act{
	"workspace.renamed": {1, func(l *life, d dice) workspace.Command {
		return command(l.owner(), workspace.Draft(&workspace.NameDraft{Name: *l.name(d, "Northwind")}))
	}},
	"policy.cap_set": {1, func(l *life, d dice) workspace.Command {
		n := d.IntN(4)
		return command(l.owner(), workspace.Draft(&workspace.CapDraft{MaxAutonomy: &n}))
	}},
	"exchange.settings_set": {1, func(l *life, d dice) workspace.Command {
		circles := d.IntN(2) == 0
		return command(l.owner(), workspace.Draft(&workspace.ExchangeDraft{Circles: &circles}))
	}},
	"person.added": {1, func(l *life, d dice) workspace.Command {
		role := protocol.Role(d.one("member", "guest", "admin"))
		return command(l.owner(), workspace.Draft(&workspace.PersonDraft{Name: l.name(d, "Mel"), Role: &role}))
	}},
	"person.updated": {6, func(l *life, d dice) workspace.Command {
		draft := &workspace.PersonDraft{PersonID: d.early(l.people)}
		switch d.IntN(4) {
		case 0, 1:
			draft.Name = l.name(d, "Priya")
		case 2:
			zone := d.one("Asia/Kolkata", "America/Los_Angeles", "Europe/Berlin")
			draft.TimeZone = &zone
		case 3:
			if role := protocol.Role(d.one("member", "guest")); draft.PersonID != l.people[0] {
				draft.Role = &role
			}
		}
		return command(l.owner(), workspace.Draft(draft))
	}},
	"person.removed": {1, func(l *life, d dice) workspace.Command {
		return command(l.owner(), workspace.Draft(&protocol.PersonRemoved{PersonID: d.late(l.people[1:])}))
	}},
	"harness.added": {1, func(l *life, d dice) workspace.Command {
		capabilities := [][]string{{}, {"agents"}}[d.IntN(2)]
		return command(l.somebody(d), workspace.Draft(&workspace.HarnessDraft{DisplayName: l.name(d, "Far"), Capabilities: &capabilities}))
	}},
	"harness.updated": {2, func(l *life, d dice) workspace.Command {
		draft := &workspace.HarnessDraft{HarnessID: d.early(l.harnesses)}
		if d.IntN(2) == 0 {
			capabilities := [][]string{{}, {"agents"}, {"agents", "forks", "new_agents"}, {"agents", "forks", "new_agents"}}[d.IntN(4)]
			draft.Capabilities = &capabilities
		} else {
			draft.DisplayName = l.name(d, "Scout")
		}
		return command(l.owner(), workspace.Draft(draft))
	}},
	"harness.removed": {1, func(l *life, d dice) workspace.Command {
		return command(l.owner(), workspace.Draft(&protocol.HarnessRemoved{HarnessID: d.late(l.harnesses)}))
	}},
	"harness.status_set": {3, func(l *life, d dice) workspace.Command {
		h := d.early(l.harnesses)
		system := workspace.Caller{Workspace: l.ws, Kind: protocol.KindSystem, ID: protocol.SystemID}
		switch d.IntN(3) {
		case 0:
			return command(system, workspace.Draft(&workspace.AwayDraft{HarnessIDs: []string{h, d.late(l.harnesses)}}))
		case 1:
			return command(system, workspace.Draft(&workspace.BackDraft{HarnessID: h}))
		}
		return command(l.harness(h), workspace.Draft(&protocol.HarnessStatusSet{HarnessID: h, Status: d.one("ok", "trouble"), Message: "So so"}))
	}},
	"harness.policy_set": {1, func(l *life, d dice) workspace.Command {
		h := d.early(l.harnesses)
		return command(l.owner(), workspace.Draft(&protocol.HarnessPolicySet{HarnessID: h, Policy: protocol.Policy{Autonomy: d.IntN(4), Rules: []protocol.Rule{}}}))
	}},
	"harness.budget_set": {1, func(l *life, d dice) workspace.Command {
		limit := float64(d.IntN(100))
		return command(l.owner(), workspace.Draft(&protocol.HarnessBudgetSet{HarnessID: d.early(l.harnesses), LimitUSD: &limit}))
	}},
	"managed.answered": {2, func(l *life, d dice) workspace.Command {
		agent := d.early(l.agents)
		return command(workspace.Caller{Workspace: l.ws, Kind: protocol.KindSystem, ID: protocol.SystemID}, workspace.Draft(&protocol.ManagedAnswered{
			ChangeID: "chg_01K4ZQPX00000000000000000B", Kind: "models", AgentID: agent, HarnessID: l.harnessOf[agent], State: protocol.ChangeDone, AskedBy: d.early(l.people),
		}))
	}},
	"room.line": {2, func(l *life, d dice) workspace.Command {
		draft := &workspace.CompactedDraft{AgentID: d.early(l.agents), From: 180_000, To: 20_000}
		return command(workspace.Caller{Workspace: l.ws, Kind: protocol.KindSystem, ID: protocol.SystemID}, workspace.Draft(draft))
	}},
	"agent.registered": {2, func(l *life, d dice) workspace.Command {
		h := d.early(l.harnesses)
		return command(l.harness(h), workspace.Draft(&workspace.AgentDraft{HarnessID: h, Key: d.one("a", "b", "c"), Name: l.name(d, "Agent")}))
	}},
	"agent.updated": {2, func(l *life, d dice) workspace.Command {
		agent := d.early(l.agents)
		draft := &workspace.AgentDraft{AgentID: agent, HarnessID: l.harnessOf[agent], Name: l.name(d, "Renamed")}
		return command(l.owner(), workspace.Draft(draft))
	}},
	"space.opened": {2, func(l *life, d dice) workspace.Command {
		if d.IntN(3) == 0 {
			return command(l.harness(d.early(l.harnesses)), workspace.Draft(&protocol.SpaceOpened{Title: "Its own", Key: d.one("r1", "r2", "r3")}))
		}
		switch d.IntN(4) {
		case 0:
			return command(l.somebody(d), workspace.Draft(&workspace.AskDraft{HarnessID: d.early(l.harnesses), Title: "Asked", Text: "For you"}))
		case 1:
			agent := d.early(l.agents)
			draft := workspace.Draft(&protocol.SpaceOpened{Title: "Handed", AgentIDs: []string{agent}, Brief: &protocol.Brief{Text: "Your work"}})
			return command(l.harness(l.harnessOf[agent]), draft)
		}
		opened := &protocol.SpaceOpened{Title: *l.name(d, "Room"), ParticipantIDs: []string{}}
		for range d.IntN(3) {
			opened.ParticipantIDs = append(opened.ParticipantIDs, d.one(slices.Concat(l.people, l.agents)...))
		}
		return command(l.somebody(d), workspace.Draft(opened))
	}},
	"space.renamed": {2, func(l *life, d dice) workspace.Command {
		return command(l.somebody(d), workspace.DraftIn(d.early(l.rooms), &protocol.SpaceRenamed{Title: *l.name(d, "Room")}))
	}},
	"space.lead_set": {3, func(l *life, d dice) workspace.Command {
		set := &protocol.SpaceLeadSet{}
		if agent := d.early(l.agents); d.IntN(4) > 0 {
			set.AgentID = &agent
		}
		return command(l.owner(), workspace.DraftIn(d.early(l.rooms), set))
	}},
	"space.ceiling_set": {1, func(l *life, d dice) workspace.Command {
		set := &protocol.SpaceCeilingSet{}
		if usd := 0.25 + float64(d.IntN(8)); d.IntN(3) > 0 {
			set.CeilingUSD = &usd
		}
		return command(l.owner(), workspace.DraftIn(d.early(l.rooms), set))
	}},
	"space.lock_set": {1, func(l *life, d dice) workspace.Command {
		return command(l.owner(), workspace.DraftIn(d.late(l.rooms), &protocol.SpaceLockSet{Locked: d.IntN(3) == 0}))
	}},
	"exchange.set": {8, func(l *life, d dice) workspace.Command {
		return command(l.somebody(d), workspace.DraftIn(d.early(l.rooms), &protocol.ExchangeSet{State: d.one("paused", "paused", "going")}))
	}},
	"space.archived": {2, func(l *life, d dice) workspace.Command {
		return command(l.owner(), workspace.DraftIn(d.one(l.rooms...), &protocol.SpaceArchived{}))
	}},
	"space.unarchived": {5, func(l *life, d dice) workspace.Command {
		return command(l.owner(), workspace.DraftIn(d.early(l.rooms), &protocol.SpaceUnarchived{}))
	}},
	"space.closed": {1, func(l *life, d dice) workspace.Command {
		var opened []string
		for _, room := range l.rooms {
			if l.harnessOf[room] != "" {
				opened = append(opened, room)
			}
		}
		if len(opened) == 0 {
			return workspace.Command{}
		}
		room := d.one(opened...)
		return command(l.harness(l.harnessOf[room]), workspace.DraftIn(room, &protocol.SpaceClosed{}))
	}},
	"space.deleted": {1, func(l *life, d dice) workspace.Command {
		return command(l.owner(), workspace.DraftIn(d.one(l.rooms[3:]...), &protocol.SpaceDeleted{DeleteAgents: d.IntN(3) == 0}))
	}},
	"member.added": {6, func(l *life, d dice) workspace.Command {
		who := d.one(d.early(l.people), d.early(l.agents), d.early(l.agents), d.early(l.harnesses))
		return command(l.owner(), workspace.DraftIn(d.early(l.rooms), &protocol.MemberAdded{ParticipantID: who}))
	}},
	"member.removed": {3, func(l *life, d dice) workspace.Command {
		who := d.one(d.early(l.people), d.early(l.agents))
		if who == l.people[0] {
			return workspace.Command{}
		}
		return command(l.owner(), workspace.DraftIn(d.early(l.rooms), &protocol.MemberRemoved{ParticipantID: who}))
	}},
	"agent.moved": {6, func(l *life, d dice) workspace.Command {
		return command(l.owner(), workspace.Draft(&protocol.AgentMoved{AgentID: d.early(l.agents), ToSpaceID: d.early(l.rooms)}))
	}},
	"agent.fork": {3, func(l *life, d dice) workspace.Command {
		return command(l.owner(), workspace.DraftIn(d.early(l.rooms), &protocol.AgentFork{AgentID: d.early(l.agents)}))
	}},
	"agent.asked": {3, func(l *life, d dice) workspace.Command {
		return command(l.owner(), workspace.DraftIn(d.early(l.rooms), &protocol.AgentAsked{HarnessID: d.early(l.harnesses)}))
	}},
	"membership.replaced": {4, func(l *life, d dice) workspace.Command {
		agent := d.one(l.agents...)
		h := l.harnessOf[agent]
		var others []string
		for _, id := range l.agents {
			if l.harnessOf[id] == h && id != agent {
				others = append(others, id)
			}
		}
		replaced := d.one(append(others, h)...)
		draft := workspace.DraftIn(d.one(l.roomOf[replaced], d.early(l.rooms)), &protocol.MembershipReplaced{Replaced: replaced, AgentID: agent})
		return command(l.harness(h), draft)
	}},
	"agent.attached": {3, func(l *life, d dice) workspace.Command {
		draft := &workspace.ClaimDraft{Key: d.one("a", "b", "c"), Name: l.name(d, "Claimer")}
		return command(l.harness(d.early(l.harnesses)), workspace.DraftIn(d.late(l.rooms), draft))
	}},
	"message.post": {50, func(l *life, d dice) workspace.Command {
		if d.IntN(12) == 0 {
			return l.speaks(d, &protocol.MessagePost{Text: "NO_REPLY"})
		}
		if d.IntN(12) == 0 { // a free agent's words are held
			agent := d.one(l.agents...)
			draft := workspace.Draft(&protocol.MessagePost{Text: d.one("While free", "NO_REPLY")})
			draft.Actor = protocol.Actor{Kind: protocol.KindAgent, ID: agent}
			return command(l.harness(l.harnessOf[agent]), draft)
		}
		text := d.one("", "@Scout ", "@Ledger ", "@Scout @Ledger ") + strings.Repeat(d.one("a", "é", "\"", "😀 "), d.IntN(60)+1)
		post := &protocol.MessagePost{Text: text}
		if d.IntN(4) == 0 {
			post.ReplyTo = d.late(l.said)
		}
		switch d.IntN(6) {
		case 0:
			post.To.All = true
		case 1:
			post.To.IDs = []string{d.early(l.agents)}
		}
		return l.speaks(d, post)
	}},
	"message.edited": {12, func(l *life, d dice) workspace.Command {
		return l.about(d, func(message string) protocol.Data {
			return &protocol.MessageEdited{MessageID: message, Text: strings.Repeat(d.one("b", "ü"), 1+d.IntN(80))}
		})
	}},
	"message.deleted": {5, func(l *life, d dice) workspace.Command {
		return l.about(d, func(message string) protocol.Data { return &protocol.MessageDeleted{MessageID: message} })
	}},
	"reaction.set": {3, func(l *life, d dice) workspace.Command {
		return l.about(d, func(message string) protocol.Data {
			return &protocol.ReactionSet{MessageID: message, Emoji: d.one("👍", "❤️"), On: d.IntN(3) > 0}
		})
	}},
	"pin.set": {2, func(l *life, d dice) workspace.Command {
		c := l.about(d, func(message string) protocol.Data { return &protocol.PinSet{MessageID: message, On: d.IntN(3) > 0} })
		c.By = l.owner()
		return c
	}},
	"run.started": {9, func(l *life, d dice) workspace.Command {
		l.n++
		c := l.speaks(d, &protocol.RunStarted{Title: "A run"})
		for c.By.Kind != protocol.KindHarness {
			c = l.speaks(d, c.Draft.Data)
		}
		if parent := c.Draft.RunID; parent != "" {
			c.Draft.Data = &protocol.RunStarted{ParentRunID: parent}
		}
		c.Draft.RunID = protocol.NewID(protocol.PrefixRun, time.Unix(1_700_000_000, 0), [10]byte{1, byte(l.n >> 8), byte(l.n)})
		return c
	}},
	"run.paused": onRun(3, &protocol.RunPaused{}),
	"run.resumed": {2, func(l *life, d dice) workspace.Command {
		if len(l.paused) == 0 {
			return workspace.Command{}
		}
		return l.onRun(d.late(l.paused), &protocol.RunResumed{})
	}},
	"run.completed": onRun(2, &protocol.RunCompleted{Summary: "Done"}),
	"run.failed":    onRun(1, &protocol.RunFailed{Error: "No"}),
	"run.cancelled": onRun(1, &protocol.RunCancelled{}),
	"step.started":  onRun(3, &protocol.StepStarted{StepID: "stp_1", Title: "Looking"}),
	"step.log":      onRun(3, &protocol.StepLog{StepID: "stp_1", Status: "done", Summary: "Looked"}),
	"message.heard": {3, func(l *life, d dice) workspace.Command {
		run, message := d.late(l.runs), d.late(l.said)
		if run == "" || message == "" {
			return workspace.Command{}
		}
		return l.onRun(run, &protocol.MessageHeard{MessageID: message})
	}},
	"run.steer": {6, func(l *life, d dice) workspace.Command {
		run := d.late(l.runs)
		if run == "" {
			return workspace.Command{}
		}
		draft := workspace.Draft(&protocol.RunSteer{Mode: d.one("steer", "interrupt", "followup"), Text: d.one("Not that", "On with it")})
		draft.RunID = run
		return command(l.somebody(d), draft)
	}},
	"usage.reported": {8, func(l *life, d dice) workspace.Command {
		run := d.late(l.runs)
		if run == "" {
			return workspace.Command{}
		}
		used := &protocol.UsageReported{}
		if cost := float64(d.IntN(600)) / 100; d.IntN(4) > 0 {
			used.CostUSD = &cost
		}
		return l.onRun(run, used)
	}},
	"approval.requested": {6, func(l *life, d dice) workspace.Command {
		run := d.late(l.runs)
		if run == "" {
			return workspace.Command{}
		}
		l.n++
		id := protocol.NewID(protocol.PrefixApproval, time.Unix(1_700_000_000, 0), [10]byte{2, byte(l.n >> 8), byte(l.n)})
		return l.onRun(run, &protocol.ApprovalRequested{ApprovalID: id, Action: protocol.Action{Kind: d.one("drive.read", "email.send"), Summary: "So", External: d.IntN(3) > 0}})
	}},
	"question.asked": {4, func(l *life, d dice) workspace.Command {
		run := d.late(l.runs)
		if run == "" {
			return workspace.Command{}
		}
		l.n++
		id := protocol.NewID(protocol.PrefixQuestion, time.Unix(1_700_000_000, 0), [10]byte{3, byte(l.n >> 8), byte(l.n)})
		return l.onRun(run, &protocol.QuestionAsked{QuestionID: id, Text: "Blue or green?"})
	}},
	"approval.resolved": {6, func(l *life, d dice) workspace.Command {
		id := d.late(l.asked)
		draft := workspace.Draft(&protocol.ApprovalResolved{ApprovalID: id, Decision: d.one("approved", "denied"), Remember: d.one("", "always", "session")})
		if h := l.harnessOf[id]; h != "" && d.IntN(4) == 0 {
			return command(l.harness(h), draft)
		}
		return command(l.somebody(d), draft)
	}},
	"question.answered": {6, func(l *life, d dice) workspace.Command {
		return command(l.somebody(d), workspace.Draft(&protocol.QuestionAnswered{QuestionID: d.late(l.asked), Answer: "Blue"}))
	}},
	"run.cancel": {1, func(l *life, d dice) workspace.Command {
		draft := workspace.Draft(&protocol.RunCancel{})
		draft.RunID = d.late(l.runs)
		return command(l.somebody(d), draft)
	}},
}

func onRun(weight int, data protocol.Data) act {
	return act{weight, func(l *life, d dice) workspace.Command {
		run := d.late(l.runs)
		if run == "" {
			return workspace.Command{}
		}
		return l.onRun(run, data)
	}}
}

// made are the types that come of other acts, and those that are made at delivery and are in no log.
var made = map[string]string{
	"workspace.opened": "how each life begins", "agent.released": "member.removed",
	"message.held": "message.post", "message.handed": "exchange.set", "turn.passed": "message.post",
	"budget.warning":  "usage.reported",
	"question.closed": "run.completed",
	"hello":           "", "message.new": "", "message.overheard": "",
}
