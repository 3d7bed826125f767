package workspace

import (
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// MaxFiles is how many files a post may have.
const MaxFiles = 20

// maxTo is how many ids a post's to may name.
const maxTo = MaxMembers

// messagePost takes a message and decides who it is for.
func (d *deciding) messagePost() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.MessagePost)
	if !ok {
		return d.bad("text is missing")
	}
	switch {
	case len(draft.UploadIDs) > MaxFiles:
		return d.bad("upload_ids has %d files, more than the limit of %d", len(draft.UploadIDs), MaxFiles)
	case len(draft.Replaces) > MaxFiles:
		return d.bad("replaces has %d files, more than the limit of %d", len(draft.Replaces), MaxFiles)
	case len(draft.To.IDs) > maxTo:
		return d.bad("to has %d ids, more than the limit of %d", len(draft.To.IDs), maxTo)
	case isBlank(draft.Text) && len(draft.UploadIDs) == 0:
		return d.bad("text is empty and there are no files")
	}
	if a, err := d.free(); err != nil {
		return err
	} else if a != nil {
		return d.sayFree(a, draft)
	}
	room, actor, run, err := d.speaker()
	if err != nil {
		return err
	}
	if room.Archived {
		return closed()
	}
	if actor.Kind != protocol.KindPerson && isPass(draft) {
		d.answer(actor, room.ID, &protocol.TurnPassed{}).RunID = run
		return nil
	}
	post := &protocol.MessagePost{Text: draft.Text, To: draft.To, ReplyTo: draft.ReplyTo, UploadIDs: draft.UploadIDs, Replaces: draft.Replaces}
	author, err := d.repliedTo(room, draft.ReplyTo)
	if err != nil {
		return err
	}
	if post.AddressedTo, err = d.address(room, actor, post, author); err != nil {
		return err
	}
	if err := d.attach(room, draft, post); err != nil {
		return err
	}
	d.referee(room, actor, post)
	d.answer(actor, room.ID, post).RunID = run
	return nil
}

// isBlank says whether a text is nothing but white space.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// speaker is in which room a message is said, by whom and on which run.
func (d *deciding) speaker() (*Room, protocol.Actor, string, *protocol.Error) {
	if d.c.By.Kind == protocol.KindPerson {
		room, err := d.room()
		return room, d.sender(), "", err
	}
	if d.c.Draft.RunID != "" {
		run, err := d.ownRun()
		if err != nil {
			return nil, protocol.Actor{}, "", err
		}
		if run.Room == "" {
			return nil, protocol.Actor{}, "", d.bad("the run is in no room: name a space_id")
		}
		room, err := d.roomOf(run.Room)
		return room, d.runActor(run), run.ID, err
	}
	space := d.c.Draft.SpaceID
	if space == "" {
		a, err := d.ownAgentAnywhere()
		if err != nil {
			return nil, protocol.Actor{}, "", err
		}
		space = a.Room
	}
	room, err := d.roomOf(space)
	if err != nil {
		return nil, protocol.Actor{}, "", err
	}
	actor, err := d.actorIn(room)
	return room, actor, "", err
}

// ownAgentAnywhere is the agent that speaks without naming a room: it has to be in one.
func (d *deciding) ownAgentAnywhere() (*Agent, *protocol.Error) {
	var a *Agent
	if actor := d.c.Draft.Actor; actor.Kind == protocol.KindAgent {
		own, err := d.ownAgent(actor.ID)
		if err != nil {
			return nil, err
		}
		a = own
	} else {
		agents := d.s.AgentsOf(d.c.By.ID)
		switch {
		case len(agents) == 0:
			return nil, d.bad("space_id is missing")
		case len(agents) > 1:
			return nil, d.bad("space_id is missing: name a room, or an agent that is in one")
		}
		a = agents[0]
	}
	if a.Room == "" {
		return nil, d.bad("space_id is missing, and the agent is in no room")
	}
	return a, nil
}

// actorIn is who a harness speaks as in a room: the agent it names, else its one agent there, else itself where the room holds it.
func (d *deciding) actorIn(room *Room) (protocol.Actor, *protocol.Error) {
	switch actor := d.c.Draft.Actor; {
	case actor.Kind == protocol.KindAgent:
		a, err := d.ownAgent(actor.ID)
		if err != nil {
			return protocol.Actor{}, err
		}
		if a.Room != room.ID {
			return protocol.Actor{}, forbidden("the agent is not in this room")
		}
		return agentActor(a), nil
	case actor.ID != "" && actor.ID != d.c.By.ID:
		return protocol.Actor{}, forbidden("actor is neither you nor an agent of yours")
	}
	agents := d.s.AgentsIn(room, d.c.By.ID)
	switch len(agents) {
	case 0:
		return d.sender(), nil
	case 1:
		return agentActor(agents[0]), nil
	}
	return protocol.Actor{}, protocol.Refuse(protocol.WhichAgent, "you have %d agents in this room: name one as actor", len(agents))
}
