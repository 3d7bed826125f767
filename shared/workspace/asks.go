package workspace

import (
	"fmt"
	"slices"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Ask is a copy or a new agent that a harness was asked for and has not made yet.
type Ask struct {
	// ID is the id of the event that asked.
	ID        string        `json:"id"`
	Seq       int64         `json:"seq"`
	At        protocol.Time `json:"at"`
	Room      string        `json:"room"`
	HarnessID string        `json:"harness_id"`
	// AgentID is the agent to copy; "" where a new one was asked for.
	AgentID string `json:"agent_id,omitzero"`
	// Name is what a new agent is to be called.
	Name string `json:"name,omitzero"`
	By   string `json:"by"`
}

// Why an agent that was to answer an ask is free.
const (
	ForkExpired = "fork_expired"
	AskExpired  = "ask_expired"
	// Elsewhere, RoomClosed and LeadRoom are said of an ask that was open.
	Elsewhere  = "agent_elsewhere"
	RoomClosed = "room_closed"
	LeadRoom   = "lead_room"
)

// The kinds of deadlines of asks; their id is the ask's.
const (
	dueFork     = "fork"
	dueNewAgent = "new_agent"
)

func (a *Ask) fork() bool { return a.AgentID != "" }

// due is when the room stops waiting. What comes at that time comes too late.
func (a *Ask) due(w Waits) time.Time {
	if a.fork() {
		return a.At.Add(w.Fork)
	}
	return a.At.Add(w.NewAgent)
}

// missedAsks are the asks of a kind, which fall due when they are not answered.
func missedAsks(fork bool, kind string) due {
	return due{
		pending: func(s *State, w Waits) (all []Deadline) {
			for _, a := range s.Asks {
				if a.fork() == fork {
					all = append(all, Deadline{Kind: kind, ID: a.ID, Due: a.due(w), Set: a.Seq})
				}
			}
			return all
		},
		fire: (*deciding).askMissed,
	}
}

// askMissed has the room say that an ask was not answered.
func (d *deciding) askMissed(id string) *protocol.Error {
	for _, a := range d.s.Asks {
		if a.ID != id {
			continue
		}
		line := &protocol.RoomSays{Kind: protocol.LineNewAgentMissed, About: a.ID,
			Text: fmt.Sprintf("%s didn’t make the agent “%s”.", d.s.NameOf(a.HarnessID), a.Name)}
		if a.fork() {
			line.Kind = protocol.LineForkMissed
			line.Text = fmt.Sprintf("%s didn’t make the copy of %s.", d.s.NameOf(a.HarnessID), d.s.NameOf(a.AgentID))
		}
		d.answer(protocol.System, a.Room, line)
	}
	return nil
}

// forkAsked asks an agent's harness for a copy of it in a room: by whoever may move the agent, who has to be in the room.
func (d *deciding) forkAsked() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.AgentFork)
	if !ok || draft.AgentID == "" {
		return d.bad("agent_id is missing")
	}
	if err := d.needMember(); err != nil {
		return err
	}
	room, err := d.room()
	if err != nil {
		return err
	}
	a := d.s.Agents[draft.AgentID]
	if a == nil || d.s.Harness(a.HarnessID) == nil {
		return notFound("agent_id names no agent")
	}
	if err := d.mayMove(a); err != nil {
		return err
	}
	if !d.s.Declares(a.HarnessID, "forks") {
		return d.bad("%s makes no copies of its agents", d.s.NameOf(a.HarnessID))
	}
	if a.Archived {
		return d.bad("the agent is archived")
	}
	if err := d.roomForOneMore(room); err != nil {
		return err
	}
	d.answer(d.sender(), room.ID, &protocol.AgentFork{AgentID: a.ID, HarnessID: a.HarnessID, By: d.c.By.ID})
	return nil
}

// newAgentAsked asks a harness for a new agent in a room: by the harness's owner, an owner or an admin, who has to be in the room.
func (d *deciding) newAgentAsked() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.AgentAsked)
	if !ok || draft.HarnessID == "" {
		return d.bad("harness_id is missing")
	}
	if err := d.needOwnerOf(draft.HarnessID); err != nil {
		return err
	}
	h := d.s.Harness(draft.HarnessID)
	name := draft.Name
	if name != "" {
		clean, bad := CleanName("name", name, MaxName)
		if bad != nil {
			return d.field(bad)
		}
		name = clean
	}
	room, err := d.room()
	if err != nil {
		return err
	}
	if !d.s.Declares(h.ID, "new_agents") {
		return d.bad("%s makes no agents for rooms", h.Name)
	}
	if err := d.agentsLeft(h.ID); err != nil {
		return err
	}
	if err := d.roomForOneMore(room); err != nil {
		return err
	}
	if name == "" {
		name = d.freeName(h.Name)
	}
	d.answer(d.sender(), room.ID, &protocol.AgentAsked{HarnessID: h.ID, Name: name, By: d.c.By.ID})
	return nil
}

// roomForOneMore refuses an ask for an agent that the room could not take, beside those that were asked for before.
func (d *deciding) roomForOneMore(room *Room) *protocol.Error {
	agents := len(d.s.AgentsIn(room, ""))
	for _, a := range d.s.Asks {
		if a.Room == room.ID {
			agents++
		}
	}
	if agents >= MaxRoomAgents {
		return d.bad("a room holds %d agents at most, those asked for among them", MaxRoomAgents)
	}
	return d.mayPlace(&Agent{}, room)
}

// freeName is a name as it is, or numbered where an agent has it, or is to have it.
func (d *deciding) freeName(name string) string {
	names := map[string]bool{}
	for _, a := range d.named("") {
		names[nameKey(a.Name)] = true
	}
	for _, a := range d.s.Asks {
		names[nameKey(a.Name)] = true
	}
	taken := func(name string) bool { return names[nameKey(name)] }
	if !taken(name) {
		return name
	}
	return numbered(name, taken)
}

// checkAnswer refuses a registration that says half of which ask it answers.
func (d *deciding) checkAnswer(draft *AgentDraft) *protocol.Error {
	switch {
	case draft.ForkedFrom != "" && draft.MadeFor != "":
		return d.bad("forked_from and made_for are answers to two asks: give one")
	case draft.ForkedFrom == "" && draft.MadeFor == "":
		if draft.SpaceID != "" {
			return d.bad("space_id goes with forked_from or made_for")
		}
		return nil
	case draft.SpaceID == "":
		return d.bad("space_id is missing")
	case draft.State != nil && *draft.State == StateArchived:
		return d.bad("state: an archived agent goes to no room")
	}
	if a := d.s.Agents[draft.ForkedFrom]; draft.ForkedFrom != "" && (a == nil || a.HarnessID != d.c.By.ID) {
		return notFound("forked_from names no agent of yours")
	}
	return nil
}

// answers is the ask that an agent joins a room by, nil where there is none or it may not; the agent is then told why it is free.
func (d *deciding) answers(a *Agent, draft *AgentDraft) *Ask {
	if draft.SpaceID == "" || a.Room != "" {
		return nil
	}
	for i := range d.s.Asks { // oldest first
		ask := &d.s.Asks[i]
		if ask.HarnessID != a.HarnessID || ask.Room != draft.SpaceID || !d.c.Now.Before(ask.due(d.c.Waits)) {
			continue
		}
		if ask.fork() && ask.AgentID == draft.ForkedFrom || !ask.fork() && ask.ID == draft.MadeFor {
			if a.WhyFree = whyFree(d.mayPlace(a, d.s.Rooms[ask.Room])); a.WhyFree != "" {
				return nil
			}
			return ask
		}
	}
	a.WhyFree = AskExpired
	if draft.ForkedFrom != "" {
		a.WhyFree = ForkExpired
	}
	return nil
}

// whyFree is a refusal to place an agent, in the words of a registration's answer.
func whyFree(err *protocol.Error) string {
	switch {
	case err == nil:
		return ""
	case err.Code == protocol.LeadRoom:
		return LeadRoom
	}
	return RoomClosed // it is archived, or full
}

// joinFor puts an agent in the room of the ask that it answers.
func (d *deciding) joinFor(ask *Ask, agent string) {
	attached := &protocol.AgentAttached{By: ask.By}
	if ask.fork() {
		attached.ForkOf = ask.ID
	} else {
		attached.MadeFor = ask.ID
	}
	d.emit(protocol.System, ask.Room, &protocol.MemberAdded{ParticipantID: agent, By: ask.By})
	a, room := d.s.Agents[agent], d.s.Rooms[ask.Room]
	if a == nil {
		a = &Agent{ID: agent}
	}
	d.put(a, room, attached)
	d.postHeld(a, room)
}

// asked and answered keep the asks that are open.
func (s *State) asked(e protocol.Event, a Ask) {
	a.ID, a.Seq, a.At, a.Room = e.ID, e.Seq, e.TS, e.SpaceID
	s.Asks = append(s.Asks, a)
}

func (s *State) answered(gone func(Ask) bool) { s.Asks = slices.DeleteFunc(s.Asks, gone) }
