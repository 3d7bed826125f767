package fanout_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// life is who and what there is in a workspace, each in the order of the log, and what of it happens next. It knows of the rules as little
// as a client: what is refused is no matter.
type life struct {
	ws string
	// runs are those that go, and paused those that were paused.
	people, harnesses, agents, rooms, runs, paused, said []string
	// asked are the approvals and questions.
	asked []string
	// harnessOf is the harness of an agent, of a run, and of a room that a harness opened; roomOf where an agent was put last, and a message said.
	harnessOf, roomOf map[string]string
	// authors are who said each message.
	authors map[string]workspace.Caller
	n       int
}

// saw notes what an event makes.
func (l *life) saw(e protocol.Event) {
	switch d := e.Data.(type) {
	case *protocol.PersonAdded:
		l.people = append(l.people, d.PersonID)
	case *protocol.HarnessAdded:
		l.harnesses = append(l.harnesses, d.HarnessID)
	case *protocol.AgentRegistered:
		l.agents = append(l.agents, d.AgentID)
		l.harnessOf[d.AgentID] = d.HarnessID
	case *protocol.AgentAttached:
		l.roomOf[d.AgentID] = e.SpaceID
	case *protocol.SpaceOpened:
		l.rooms = append(l.rooms, e.SpaceID)
		if d.Key != "" {
			l.harnessOf[e.SpaceID] = e.Actor.HarnessID
		}
	case *protocol.RunStarted:
		l.runs = append(l.runs, e.RunID)
		l.harnessOf[e.RunID] = e.Actor.HarnessID
	case *protocol.ApprovalRequested:
		l.asked = append(l.asked, d.ApprovalID)
		l.harnessOf[d.ApprovalID] = l.harnessOf[e.RunID]
	case *protocol.QuestionAsked:
		l.asked = append(l.asked, d.QuestionID)
	case *protocol.RunPaused:
		l.paused = append(l.paused, e.RunID)
	case *protocol.RunCompleted, *protocol.RunFailed, *protocol.RunCancelled, *protocol.RunCancel:
		l.runs = slices.DeleteFunc(l.runs, func(id string) bool { return id == e.RunID })
	case *protocol.MessagePost, *protocol.RunSteer:
		l.said = append(l.said, protocol.MessageID(e.ID))
		l.roomOf[protocol.MessageID(e.ID)] = e.SpaceID
		l.authors[protocol.MessageID(e.ID)] = l.person(e.Actor.ID)
		if h := l.harnessOf[e.Actor.ID]; h != "" {
			l.authors[protocol.MessageID(e.ID)] = l.harness(h)
		}
	}
}

// dice draws for one act.
type dice struct{ *rand.Rand }

func (d dice) one(list ...string) string {
	if len(list) == 0 {
		return ""
	}
	return list[d.IntN(len(list))]
}

// late is mostly one of the newest.
func (d dice) late(list []string) string {
	if d.IntN(4) > 0 {
		list = list[max(0, len(list)-6):]
	}
	return d.one(list...)
}

// early is mostly one of the oldest: those of whom most is told.
func (d dice) early(list []string) string {
	if d.IntN(6) > 0 {
		list = list[:min(len(list), 3)]
	}
	return d.one(list...)
}

func (l *life) person(id string) workspace.Caller {
	return workspace.Caller{Workspace: l.ws, Kind: protocol.KindPerson, ID: id, Credential: "key_" + id}
}

func (l *life) harness(id string) workspace.Caller {
	return workspace.Caller{Workspace: l.ws, Kind: protocol.KindHarness, ID: id, Credential: "tok_" + id}
}

func (l *life) owner() workspace.Caller { return l.person(l.people[0]) }

func (l *life) somebody(d dice) workspace.Caller { return l.person(d.early(l.people)) }

// name is a new name, now and then one that is hard.
func (l *life) name(d dice, what string) *string {
	l.n++
	name := fmt.Sprint(what, " ", l.n, d.one("", "", " \"x\"", " é", " (a, b)"))
	return &name
}

// speaks is a draft by a harness as one of its agents, or by a person.
func (l *life) speaks(d dice, data protocol.Data) workspace.Command {
	if d.IntN(2) == 0 {
		return command(l.somebody(d), workspace.DraftIn(d.early(l.rooms), data))
	}
	agent := d.early(l.agents)
	draft := workspace.DraftIn(d.one(l.roomOf[agent], l.roomOf[agent], l.roomOf[agent], d.early(l.rooms)), data)
	draft.Actor = protocol.Actor{Kind: protocol.KindAgent, ID: agent}
	c := command(l.harness(l.harnessOf[agent]), draft)
	if run := d.late(l.runs); run != "" && d.IntN(4) == 0 {
		return l.onRun(run, data)
	}
	return c
}

func (l *life) onRun(run string, data protocol.Data) workspace.Command {
	draft := workspace.Draft(data)
	draft.RunID = run
	return command(l.harness(l.harnessOf[run]), draft)
}

// about is a draft about a message, mostly by who said it.
func (l *life) about(d dice, data func(message string) protocol.Data) workspace.Command {
	message := d.late(l.said)
	if message == "" {
		return workspace.Command{}
	}
	c := l.speaks(d, data(message))
	c.Draft.SpaceID = d.one("", l.roomOf[message], l.roomOf[message], c.Draft.SpaceID)
	if d.IntN(3) > 0 {
		c.By, c.Draft.Actor, c.Draft.RunID = l.authors[message], protocol.Actor{}, ""
	}
	return c
}

func command(by workspace.Caller, draft protocol.Event) workspace.Command {
	return workspace.Command{By: by, Draft: draft, Operation: true}
}
