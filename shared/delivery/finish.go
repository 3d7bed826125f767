package delivery

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Hand is what a delivery has from the moment it is handed over, and not from the log up to its event (contract U-86).
type Hand struct {
	// Now is the time of the hand-over.
	Now time.Time
	// Goes says whether a run that went on as of the event goes on still; nil is yes.
	Goes func(run string) bool
	// Links are URLs for the credential it is handed to; nil makes none.
	Links Links
}

// Finish is an event as Render made it, which stays as it is, with what is of the hand-over filled in: in each note the time it is for
// the people of the room whose phone is known (ROOM-16), and the URL of each file that comes with words a harness hears or with its context.
func Finish(e protocol.Event, h Hand) protocol.Event {
	switch d := e.Data.(type) {
	case *protocol.MessageNew:
		c := *d
		c.Room, c.WorkingTurns = withClocks(d.Room, h.Now), h.going(d.WorkingTurns)
		c.Attachments, c.Context = h.Links.attachments(d.Attachments), h.Links.context(d.Context)
		e.Data = &c
	case *protocol.MessageOverheard:
		c := *d
		c.Attachments, c.WorkingTurns = h.Links.attachments(d.Attachments), h.going(d.WorkingTurns)
		e.Data = &c
	case *protocol.RunSteer:
		c := *d
		c.Room, c.WorkingTurns = withClocks(d.Room, h.Now), h.going(d.WorkingTurns)
		c.Attachments, c.Context = h.Links.attachments(d.Attachments), h.Links.context(d.Context)
		e.Data = &c
	case *protocol.MessagePost:
		if len(d.WorkingTurns) == 0 {
			break
		}
		c := *d
		c.WorkingTurns = h.going(d.WorkingTurns)
		e.Data = &c
	case *protocol.AgentAttached:
		c := *d
		c.CatchUp = h.Links.context(d.CatchUp)
		e.Data = &c
	}
	return e
}

// going are those of some turns that go on still.
func (h Hand) going(turns []protocol.WorkingTurn) []protocol.WorkingTurn {
	if h.Goes == nil {
		return turns
	}
	return slices.DeleteFunc(slices.Clone(turns), func(t protocol.WorkingTurn) bool { return !h.Goes(t.RunID) })
}

// withClocks is a room whose notes say the people's times, after the room's line.
func withClocks(room *protocol.Room, now time.Time) *protocol.Room {
	if room == nil {
		return nil
	}
	line := clocks(room.Members, now)
	if line == "" {
		return room
	}
	c := *room
	c.Notes = make(map[string]string, len(room.Notes))
	for id, note := range room.Notes {
		at := room.ClocksAt[id]
		c.Notes[id] = note[:at] + line + note[at:]
	}
	return &c
}

// clocks are the times of those whose phone is known, a sentence each with a space before it.
func clocks(members []protocol.RoomMember, now time.Time) string {
	var b strings.Builder
	for _, m := range members {
		if m.TimeZone == "" {
			continue
		}
		zone := zoneOf(m.TimeZone)
		if zone == nil {
			continue
		}
		b.WriteString(" " + protocol.QuotedName(m.Name) + "'s time now: ")
		b.WriteString(now.In(zone).Format("3:04 pm, Monday 2 January 2006 (2006-01-02T15:04-07:00, ") + m.TimeZone + ").")
	}
	return b.String()
}

// clockBytes is how many bytes a member's sentence of clocks takes at most.
func clockBytes(m protocol.RoomMember) int {
	if m.TimeZone == "" {
		return 0
	}
	return textBytes(protocol.QuotedName(m.Name)) + len(m.TimeZone) + len("'s time now: 12:12 pm, Wednesday 30 September 2026 (2026-09-30T12:12-07:00, ). ")
}

// zones are the zones that were looked up, by name; reading one takes longer than all the rest of a note.
var zones sync.Map

// zoneOf is a time zone by name, nil for one that this program does not know.
func zoneOf(name string) *time.Location {
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location)
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	zones.Store(name, z)
	return z
}
