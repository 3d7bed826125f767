package client_test

import (
	"testing"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// The documents' example, to the letter.
// covers: ROOM-8, ROOM-11, ROOM-13, ROOM-20, ROOM-21
func TestRenderRoomNote(t *testing.T) {
	members := []protocol.RoomMember{
		{ParticipantID: "usr_1", Kind: protocol.KindPerson, Name: "Arjun", Handle: "@Arjun"},
		{ParticipantID: "agt_1", Kind: protocol.KindAgent, Name: "ASCII Art", Harness: "Jacobian", Handle: "@ASCIIArt"},
		{ParticipantID: "agt_2", Kind: protocol.KindAgent, Name: "OpenClaw", Handle: "@OpenClaw"},
		{ParticipantID: "agt_3", Kind: protocol.KindAgent, Name: "OpenClaw 2", Harness: "OpenClaw", Handle: "@OpenClaw2"},
	}
	const line = "In this space: Arjun (person, @Arjun), ASCII Art (Jacobian agent, @ASCIIArt), OpenClaw (agent, @OpenClaw), and you, OpenClaw 2 (OpenClaw agent, @OpenClaw2)."
	const rules = "Everyone here reads what you write; only those you @-mention act on it. To hand work to an agent or ask it something, @-mention it. If a message asks nothing of you now, as when it names a step that is yours later, answer NO_REPLY and nothing else: the space shows nothing, and nobody needs to hear that you are ready or waiting."
	note := client.RenderRoomNote(members, "agt_3")
	if note != line+" "+rules {
		t.Errorf("the note is %q", note)
	}
	if got := client.RenderRoomNote(members[:2], "agt_1"); got != "In this space: Arjun (person, @Arjun), and you, ASCII Art (Jacobian agent, @ASCIIArt). Everyone here reads what you write." {
		t.Errorf("with no other agent the note is %q", got)
	}
	if got := client.RenderRoomNote(members[1:2], "agt_1"); got != "In this space: you, ASCII Art (Jacobian agent, @ASCIIArt). Everyone here reads what you write." {
		t.Errorf("alone the note is %q", got)
	}
	room := &protocol.Room{Members: members, Notes: map[string]string{"agt_3": note}, Rules: map[string]string{"agt_3": rules}}
	for _, c := range []struct{ taker, want string }{{"agt_3", line}, {"agt_9", ""}} {
		if got := client.NoteWithoutRules(room, c.taker); got != c.want {
			t.Errorf("the note of %s without its rules is %q, want %q", c.taker, got, c.want)
		}
	}
	room.Rules = nil
	if got := client.NoteWithoutRules(room, "agt_3"); got != note {
		t.Errorf("where no rules came beside it the note is %q", got)
	}
}
