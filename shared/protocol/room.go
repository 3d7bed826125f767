package protocol

import (
	"slices"
	"strconv"
	"strings"
)

// Room is who is in a room, and what Chips tells each agent that takes a turn there.
type Room struct {
	// Members are the people, then the agents, each by name.
	Members []RoomMember `json:"members"`
	// MembersLeftOut is how many are not in Members, where a delivery would have been too large with them.
	MembersLeftOut int `json:"members_left_out,omitzero"`
	// Notes are what to put at the top of each taker's turn, by the taker's id as for names it.
	Notes map[string]string `json:"notes"`
	// Rules are how the space works, with which each note ends, by the same ids.
	Rules map[string]string `json:"rules"`
	// Working are the other agents that have a turn going, and Idle those that have none.
	Working []WorkingAgent `json:"working,omitzero"`
	Idle    []IdleAgent    `json:"idle,omitzero"`
	// ClocksAt is where in each note the people's times go, at the hand-over.
	ClocksAt map[string]int `json:"-"`
}

// RoomMember is somebody in a room.
type RoomMember struct {
	ParticipantID string    `json:"participant_id"`
	Kind          ActorKind `json:"kind"`
	Name          string    `json:"name"`
	// Harness is the name of the harness an agent runs on, where it is another than the agent's.
	Harness string `json:"harness,omitzero"`
	// Handle is what reaches the member with an @ before it, "" where nothing does.
	Handle string `json:"handle,omitzero"`
	// Lead says that the agent hands out the work here.
	Lead bool `json:"lead,omitzero"`
	// TimeZone is the IANA zone of the phone a person registered last.
	TimeZone string `json:"time_zone,omitzero"`
}

// WorkingAgent is an agent with a turn going.
type WorkingAgent struct {
	AgentID string `json:"agent_id"`
	Name    string `json:"name"`
	RunID   string `json:"run_id"`
	// Since is when the turn began, and LastStep what it said it was on.
	Since    Time   `json:"since"`
	LastStep string `json:"last_step,omitzero"`
}

// IdleAgent is an agent without a turn going.
type IdleAgent struct {
	AgentID string `json:"agent_id"`
	Name    string `json:"name"`
	// Since is when its last turn was over, absent where it has had none.
	Since *Time `json:"since,omitzero"`
}

// The rules of a room: beside other agents, and with none.
const (
	RulesBeside = "Everyone here reads what you write; only those you @-mention act on it. " +
		"To hand work to an agent or ask it something, @-mention it. " +
		"If a message asks nothing of you now, as when it names a step that is yours later, answer NO_REPLY and nothing else: " +
		"the space shows nothing, and nobody needs to hear that you are ready or waiting."
	RulesAlone = "Everyone here reads what you write."
)

// RulesFor are the rules of a room for one of its members.
func RulesFor(members []RoomMember, taker string) string {
	if slices.ContainsFunc(members, func(m RoomMember) bool { return m.Kind != KindPerson && m.ParticipantID != taker }) {
		return RulesBeside
	}
	return RulesAlone
}

// RenderRoomNote is the room's line and the rules for the member taker, from the members of a room: what a note of Chips always says.
func RenderRoomNote(members []RoomMember, taker string) string {
	return RoomLine(members, taker, len(members), 0) + " " + RulesFor(members, taker)
}

// NoteWithoutRules is a note without the rules it ends with, for a session that was told them already.
func NoteWithoutRules(note, rules string) string {
	if rest, ok := strings.CutSuffix(note, rules); ok {
		return strings.TrimRight(rest, " ")
	}
	return note
}

// RoomLine says who is in a room, the taker last; of the others at most names by name. left is how many there are beside members.
func RoomLine(members []RoomMember, taker string, names, left int) string {
	var b strings.Builder
	b.WriteString("In this space: ")
	n, you := 0, ""
	for _, m := range members {
		switch {
		case m.ParticipantID == taker:
			you = Introduced(m)
		case n < names:
			if n++; n > 1 {
				b.WriteString(", ")
			}
			b.WriteString(Introduced(m))
		default:
			left++
		}
	}
	switch {
	case left > 0 && n > 0:
		b.WriteString(" and " + strconv.Itoa(left) + " more")
	case left > 0:
		b.WriteString(strconv.Itoa(left) + " others")
	}
	if you != "" {
		if n > 0 || left > 0 {
			b.WriteString(", and ")
		}
		b.WriteString("you, " + you)
	}
	b.WriteString(".")
	return b.String()
}

// Introduced is a member by name, with what they are and the handle that reaches them.
func Introduced(m RoomMember) string {
	what := "person"
	if m.Kind != KindPerson {
		what = "agent"
		if m.Harness != "" {
			what = QuotedName(m.Harness) + " agent"
		}
	}
	if m.Handle != "" {
		what += ", " + m.Handle
	}
	return QuotedName(m.Name) + " (" + what + ")"
}

// QuotedName is a name as it stands in a note: in straight double quotes, its own doubled, where it could be read as more than a name.
func QuotedName(name string) string {
	if !strings.ContainsAny(name, `(),"`) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
