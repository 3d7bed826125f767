package workspace

import (
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// MaxHeld is how many messages may wait for an agent that is in no room.
const MaxHeld = 100

// How many held messages one decision posts at most, and of how many bytes; what is left is posted by the next.
const (
	heldAtOnce = 20
	heldBytes  = 128 << 10
)

// dueHeld is the kind of deadline by which held words are posted that did not fit where their agent joined.
const dueHeld = "held"

// pass is the whole text of an agent that has nothing to say.
const pass = "NO_REPLY"

// Held is what an agent said while it was in no room.
type Held struct {
	// Messages are the ids of the message.held events as messages, oldest first, at most MaxHeld.
	Messages []string `json:"messages"`
	// Seq and At are of the event since which they can be posted: the agent's joining, or the posting of the one before.
	Seq int64         `json:"seq,omitzero"`
	At  protocol.Time `json:"at,omitzero"`
}

// hold notes held words.
func (s *State) hold(e protocol.Event, d *protocol.MessageHeld) {
	if s.Held == nil {
		s.Held = map[string]*Held{}
	}
	if s.Held[d.AgentID] == nil {
		s.Held[d.AgentID] = &Held{}
	}
	h := s.Held[d.AgentID]
	h.Messages = append(h.Messages, protocol.MessageID(e.ID))
}

// heldMay notes an event since which an agent's held words can be posted.
func (s *State) heldMay(agent string, e protocol.Event) {
	if h := s.Held[agent]; h != nil {
		h.Seq, h.At = e.Seq, e.TS
	}
}

// heldPosted notes that the oldest of an agent's held words were posted.
func (s *State) heldPosted(agent string, e protocol.Event) {
	h := s.Held[agent]
	if h == nil {
		return
	}
	if h.Messages = h.Messages[1:]; len(h.Messages) == 0 {
		delete(s.Held, agent)
		return
	}
	h.Seq, h.At = e.Seq, e.TS
}

// HeldOf is how many of an agent's words wait for it to be in a room.
func (s *State) HeldOf(agent string) int {
	if h := s.Held[agent]; h != nil {
		return len(h.Messages)
	}
	return 0
}

// heldPending are the agents in a room whose words still wait: what did not fit into the decision that brought them there is posted by
// decisions of its own.
func heldPending(s *State, _ Waits) []Deadline {
	var all []Deadline
	for id, h := range s.Held {
		if a := s.Agents[id]; a != nil && a.Room != "" {
			all = append(all, Deadline{Kind: dueHeld, ID: id, Due: h.At.Time, Set: h.Seq})
		}
	}
	return all
}

func (d *deciding) heldDue(id string) *protocol.Error {
	a := d.s.Agents[id]
	d.postHeld(a, d.s.Rooms[a.Room])
	return nil
}

// postHeld posts what an agent said while it was free, oldest first, in the room that it is in from here on.
func (d *deciding) postHeld(a *Agent, room *Room) {
	h := d.s.Held[a.ID]
	if h == nil {
		return
	}
	for _, id := range h.Messages {
		if d.heldPosts == heldAtOnce || len(d.missing) == heldAtOnce {
			return
		}
		e, known := d.c.Cited[id]
		if !known {
			d.missing = append(d.missing, id)
			continue
		}
		held, ok := e.Data.(*protocol.MessageHeld)
		if !ok { // it is in no log: nothing can be said, and the rest must not wait for it
			held = &protocol.MessageHeld{}
		}
		size := len(held.Text) + 1000*len(held.Attachments)
		if d.heldPosts > 0 && d.heldBytes+size > heldBytes {
			return
		}
		d.heldPosts++
		d.heldBytes += size
		post := &protocol.MessagePost{Text: held.Text, Attachments: held.Attachments, HeldSince: &e.TS}
		to, err := d.address(room, agentActor(a), post, "")
		if err != nil {
			to = []string{}
		}
		post.AddressedTo = to
		d.referee(room, agentActor(a), post)
		d.emit(agentActor(a), room.ID, post)
	}
}

// free is the free agent whose words a post is: named as the actor, or the harness's only one, or the one that left the room the post names.
// It is nil where the post is said in a room.
func (d *deciding) free() (*Agent, *protocol.Error) {
	draft := d.c.Draft
	if d.c.By.Kind != protocol.KindHarness {
		return nil, nil
	}
	if run := d.s.Runs[draft.RunID]; draft.RunID != "" && (run == nil || run.Room != "" || run.HarnessID != d.c.By.ID) {
		return nil, nil
	}
	var a *Agent
	switch agents := d.s.AgentsOf(d.c.By.ID); {
	case draft.Actor.Kind == protocol.KindAgent:
		a = d.s.Agents[draft.Actor.ID]
	case draft.RunID != "":
		a = d.s.Agents[d.s.Runs[draft.RunID].AgentID]
	case draft.SpaceID != "" && !d.s.InRoom(d.s.Rooms[draft.SpaceID], d.c.By.ID):
		for _, left := range agents {
			if left.LastRoom == draft.SpaceID && left.Room == "" && !left.Archived {
				if a != nil {
					return nil, protocol.Refuse(protocol.WhichAgent, "several agents of yours left this room: name one as actor")
				}
				a = left
			}
		}
	case draft.SpaceID == "" && len(agents) == 1:
		a = agents[0]
	}
	if a == nil || a.HarnessID != d.c.By.ID || a.Room != "" || draft.SpaceID != "" && draft.SpaceID != a.LastRoom {
		return nil, nil
	}
	if left := d.s.Rooms[draft.SpaceID]; draft.SpaceID != "" && (left == nil || left.Deleted) {
		return nil, notFound("the room was deleted")
	}
	if a.Archived {
		return nil, d.bad("the agent is archived")
	}
	return a, nil
}

// sayFree takes what a free agent says: it is held until the agent is in a room; one that has never been in any opens one with its
// harness's owner and says it there (contract A-7).
func (d *deciding) sayFree(a *Agent, draft *protocol.MessagePost) *protocol.Error {
	if isPass(draft) {
		d.answer(agentActor(a), "", &protocol.TurnPassed{}).RunID = d.c.Draft.RunID
		return nil
	}
	owner := d.s.Person(d.s.Harnesses[a.HarnessID].OwnerID)
	if a.LastRoom == "" && owner != nil {
		if err := d.roomsLeft(owner.ID); err != nil {
			return err
		}
		room := &Room{ID: d.mint(protocol.PrefixSpace), Title: cut(a.Name, MaxTitle), Members: []string{a.ID, owner.ID}}
		d.emit(agentActor(a), room.ID, &protocol.SpaceOpened{Title: room.Title, ParticipantIDs: room.Members})
		d.put(a, room, &protocol.AgentAttached{})
		post := &protocol.MessagePost{Text: draft.Text, UploadIDs: draft.UploadIDs, AddressedTo: []string{}}
		if err := d.attach(room, draft, post); err != nil {
			return err
		}
		d.answer(agentActor(a), room.ID, post)
		return nil
	}
	if d.s.HeldOf(a.ID) >= MaxHeld {
		return d.bad("%d messages wait for the agent to be in a room, which is the limit", MaxHeld)
	}
	post := &protocol.MessagePost{}
	if err := d.attach(&Room{}, &protocol.MessagePost{UploadIDs: draft.UploadIDs}, post); err != nil {
		return err
	}
	d.answer(agentActor(a), "", &protocol.MessageHeld{AgentID: a.ID, Text: draft.Text, Attachments: post.Attachments}).RunID = d.c.Draft.RunID
	return nil
}

// isPass says whether a harness's post says that there is nothing to say.
func isPass(draft *protocol.MessagePost) bool {
	return strings.TrimSpace(draft.Text) == pass && len(draft.UploadIDs) == 0
}
