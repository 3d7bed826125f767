package httpapi

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// space is a room as one who is in it is shown it (contract U-116).
type space struct {
	SpaceID string `json:"space_id"`
	Title   string `json:"title"`
	// State is open or archived.
	State     string        `json:"state"`
	Direct    bool          `json:"direct,omitzero"`
	OpenedBy  string        `json:"opened_by"`
	OpenedAt  protocol.Time `json:"opened_at"`
	MemberIDs []string      `json:"member_ids"`
	// Lead is the agent that leads, null for none.
	Lead       *string       `json:"lead"`
	Locked     bool          `json:"locked"`
	CeilingUSD float64       `json:"ceiling_usd"`
	Exchange   spaceExchange `json:"exchange"`
	LastSeq    int64         `json:"last_seq"`
}

// spaceExchange is what the referee holds the agents' talk in a room to: null is never.
type spaceExchange struct {
	// State is going or paused.
	State string `json:"state"`
	Count int    `json:"count"`
	Stop  *int   `json:"stop"`
	Hold  *int   `json:"hold"`
}

func viewSpace(s *workspace.State, by workspace.Caller, room *workspace.Room) space {
	v := space{
		SpaceID: room.ID, Title: room.Title, State: "open", Direct: room.DirectOf != "", OpenedBy: shown(s, by, room.OpenedBy), OpenedAt: room.OpenedAt,
		MemberIDs: []string{}, Locked: room.Locked, CeilingUSD: room.JobCeiling().Dollars(), LastSeq: room.LastSeq,
		Exchange: spaceExchange{State: "going", Stop: s.Exchange.Stop, Hold: s.Exchange.Hold},
	}
	v.Exchange.Count = room.Talk.Count
	if room.Talk.Paused != "" {
		v.Exchange.State = workspace.PausedState
	}
	if room.Archived {
		v.State = "archived"
	}
	if room.Lead != "" {
		lead := shown(s, by, room.Lead)
		v.Lead = &lead
	}
	for _, m := range room.Members {
		if id := shown(s, by, m); !slices.Contains(v.MemberIDs, id) {
			v.MemberIDs = append(v.MemberIDs, id)
		}
	}
	return v
}

// roomFor is a room the caller is in. One that is unknown and one that is somebody else's read the same; one that was deleted while
// the caller was in it is gone (contract U-106).
func roomFor(s *workspace.State, by workspace.Caller, id string) (*workspace.Room, error) {
	room := s.Rooms[id]
	switch {
	case s.InRoom(room, by.ID):
		return room, nil
	case s.WasIn(room, by.ID):
		return nil, protocol.Refuse(protocol.NotFound, "the room was deleted")
	}
	return nil, notInSpace()
}

func (a *api) listSpaces(c *call) (any, error) {
	at, err := readCursor(c)
	if err != nil {
		return nil, err
	}
	var entries []space
	var more bool
	err = a.see(c, func(s *workspace.State) error {
		var ids []string
		ids, more = at.next(s.RoomsOf(c.caller.ID))
		for _, id := range ids {
			entries = append(entries, viewSpace(s, c.caller, s.Rooms[id]))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var res struct {
		Spaces    []jsontext.Value `json:"spaces"`
		NextAfter string           `json:"next_after,omitzero"`
	}
	res.Spaces, res.NextAfter, err = list(entries, func(v space) string { return v.SpaceID }, more)
	return res, err
}

func (a *api) getSpace(c *call) (any, error) {
	var res space
	err := a.see(c, func(s *workspace.State) error {
		room, err := roomFor(s, c.caller, c.params[protocol.PrefixSpace])
		if err == nil {
			res = viewSpace(s, c.caller, room)
		}
		return err
	})
	return &res, err
}

// spaceWritten is the answer to a write in a room: what an ack says, and the room as it is now if the caller is in it.
type spaceWritten struct {
	Seq       int64 `json:"seq"`
	Duplicate bool  `json:"duplicate"`
	Differs   bool  `json:"differs,omitzero"`
	*space
}

// answerSpace answers a write in a room.
func (a *api) answerSpace(c *call, out engine.Outcome, id string) (any, error) {
	ack := out.Ack()
	res := spaceWritten{Seq: ack.Seq, Duplicate: ack.Duplicate, Differs: ack.Differs}
	err := a.see(c, func(s *workspace.State) error {
		if room := s.Rooms[id]; s.InRoom(room, c.caller.ID) {
			v := viewSpace(s, c.caller, room)
			res.space = &v
		}
		return nil
	})
	return &res, err
}

// changeSpace has a draft about the path's room decided.
func (a *api) changeSpace(c *call, data protocol.Data) (any, error) {
	id := c.params[protocol.PrefixSpace]
	out, err := a.do(c, workspace.DraftIn(id, data))
	if err != nil {
		return nil, err
	}
	return a.answerSpace(c, out, id)
}

func (a *api) openSpace(c *call) (any, error) {
	in, err := read[struct {
		Title          string   `json:"title"`
		ParticipantIDs []string `json:"participant_ids"`
		Key            string   `json:"key"`
	}](c)
	if err != nil {
		return nil, err
	}
	out, err := a.do(c, workspace.Draft(&protocol.SpaceOpened{Title: in.Title, ParticipantIDs: in.ParticipantIDs, Key: in.Key}))
	if err != nil {
		return nil, err
	}
	return a.answerOpened(c, out)
}

// answerOpened answers the opening of a room.
func (a *api) answerOpened(c *call, out engine.Outcome) (any, error) {
	id := out.Ack().SpaceID
	if id == "" {
		return nil, otherRequest()
	}
	return a.answerSpace(c, out, id)
}

func (a *api) renameSpace(c *call) (any, error) {
	in, err := read[struct {
		Title *string `json:"title"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.Title == nil {
		return nil, missing("title")
	}
	return a.changeSpace(c, &protocol.SpaceRenamed{Title: *in.Title})
}

func (a *api) archiveSpace(c *call) (any, error) { return a.changeSpace(c, &protocol.SpaceArchived{}) }

func (a *api) unarchiveSpace(c *call) (any, error) {
	return a.changeSpace(c, &protocol.SpaceUnarchived{})
}

func (a *api) deleteSpace(c *call) (any, error) {
	in, err := read[struct {
		DeleteAgents bool `json:"delete_agents"`
	}](c)
	if err != nil {
		return nil, err
	}
	return a.changeSpace(c, &protocol.SpaceDeleted{DeleteAgents: in.DeleteAgents})
}

func (a *api) addMember(c *call) (any, error) {
	in, err := read[struct {
		ParticipantID string `json:"participant_id"`
	}](c)
	if err != nil {
		return nil, err
	}
	return a.changeSpace(c, &protocol.MemberAdded{ParticipantID: in.ParticipantID})
}

func (a *api) removeMember(c *call) (any, error) {
	return a.changeSpace(c, &protocol.MemberRemoved{ParticipantID: c.params["participant"]})
}
