package delivery

import (
	"slices"
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// members are who is in a room: people, then agents, each by name.
func members(s *workspace.State, room *workspace.Room) []protocol.RoomMember {
	handles := map[string]string{}
	for _, h := range s.Handles(room) {
		if handles[h.Member] == "" {
			handles[h.Member] = h.Handle
		}
	}
	list := make([]protocol.RoomMember, 0, len(room.Members))
	for _, id := range room.Members {
		m := protocol.RoomMember{ParticipantID: id, Name: s.NameOf(id), Handle: handles[id]}
		switch protocol.PrefixOf(id) {
		case protocol.PrefixPerson:
			m.Kind = protocol.KindPerson
			if p := s.People[id]; p != nil {
				m.TimeZone = p.TimeZone
			}
		case protocol.PrefixHarness:
			m.Kind = protocol.KindHarness
		default:
			m.Kind = protocol.KindAgent
			if name := s.NameOf(s.HarnessOf(id)); name != m.Name {
				m.Harness = name
			}
		}
		m.Lead = room.Lead == id
		list = append(list, m)
	}
	sortByName(list)
	return list
}

// sortByName orders people before others, each by name; names are folded once, which takes longer than all else of it.
func sortByName(list []protocol.RoomMember) {
	keyed := make([]keyedMember, len(list))
	for i, m := range list {
		keyed[i] = keyedMember{workspace.NameKey(m.Name), m}
	}
	slices.SortFunc(keyed, func(a, b keyedMember) int {
		if a.m.Kind == protocol.KindPerson && b.m.Kind == protocol.KindPerson || a.m.Kind != protocol.KindPerson && b.m.Kind != protocol.KindPerson {
			if c := strings.Compare(a.key, b.key); c != 0 {
				return c
			}
		}
		return byName(a.m, b.m)
	})
	for i := range keyed {
		list[i] = keyed[i].m
	}
}

type keyedMember struct {
	key string
	m   protocol.RoomMember
}

// byName orders people before others, each by name.
func byName(a, b protocol.RoomMember) int {
	if ap, bp := a.Kind == protocol.KindPerson, b.Kind == protocol.KindPerson; ap != bp {
		if ap {
			return -1
		}
		return 1
	}
	if c := workspace.CompareNames(a.Name, b.Name); c != 0 {
		return c
	}
	if a.ParticipantID < b.ParticipantID {
		return -1
	}
	return 1
}
