package workspace

import (
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// repliedTo is the author of the message a post replies to, "" when it replies to none.
func (d *deciding) repliedTo(room *Room, message string) (string, *protocol.Error) {
	if message == "" {
		return "", nil
	}
	e, ok := d.c.Cited[message]
	if !ok || protocol.Said(e.Data) == nil || e.SpaceID != room.ID {
		return "", d.bad("reply_to names no message of this room")
	}
	return room.Replaced.SaidBy(e.Actor.ID, e.Seq), nil
}

// address decides who a message is for: the agents in to, those it @-mentions and the author it replies to, together, never the
// speaker; a person who chose nobody is led on by the rules of undirected. An empty list is for the people alone.
func (d *deciding) address(room *Room, speaker protocol.Actor, post *protocol.MessagePost, author string) ([]string, *protocol.Error) {
	takers := d.takers(room)
	if post.To.All && speaker.Kind == protocol.KindPerson {
		return takers, nil
	}
	chosen := map[string]bool{}
	choice := author != "" || post.To.All
	chosen[author] = true
	if post.To.All {
		for _, id := range takers {
			chosen[id] = true
		}
	}
	for _, id := range post.To.IDs {
		choice = true
		if !d.s.InRoom(room, id) {
			return nil, d.bad("to names somebody who is not in the room: %.40s", id)
		}
		for _, t := range takers {
			chosen[t] = chosen[t] || t == id || d.s.harnessOf(t) == id
		}
	}
	for _, id := range d.s.Mentioned(room, post.Text) {
		choice = true
		chosen[id] = true
	}
	reached := []string{}
	for _, id := range takers {
		if chosen[id] && id != speaker.ID {
			reached = append(reached, id)
		}
	}
	if speaker.Kind != protocol.KindPerson || len(reached) > 0 {
		return reached, nil
	}
	return d.undirected(room, speaker.ID, takers, choice), nil
}

// takers are those in a room who can take a turn, in the order they joined: its agents, or the harness that the room holds itself.
func (d *deciding) takers(room *Room) []string {
	ids := []string{}
	for _, m := range room.Members {
		if protocol.PrefixOf(m) != protocol.PrefixPerson {
			ids = append(ids, m)
		}
	}
	return ids
}

// undirected is whom a person's words are for when they reach no agent by a choice. In a room of one harness they are always for it:
// for its lead, else the agent they spoke to last, else the first to join. Among several harnesses a choice stands (a person was
// named); without one it is the agent they wrote to last whose words are the last an agent said, else the room's lead, else nobody.
func (d *deciding) undirected(room *Room, person string, takers []string, choice bool) []string {
	here := func(id string) bool { return id != "" && slices.Contains(takers, id) }
	last := room.LastTo[person]
	one := len(takers) > 0
	for _, t := range takers {
		one = one && d.s.harnessOf(t) == d.s.harnessOf(takers[0])
	}
	switch {
	case one && here(room.Lead):
		return []string{room.Lead}
	case one && here(last):
		return []string{last}
	case one:
		return takers[:1]
	case choice:
		return []string{}
	case here(last) && last == room.LastAgentSaid:
		return []string{last}
	case here(room.Lead):
		return []string{room.Lead}
	}
	return []string{}
}
