package client

import "github.com/chipschat/chips-aws/shared/protocol"

// RenderRoomNote writes the room's line and the rules for one member of a room, as Chips words them: for an agent that is told of a room in
// another way than by a message.new, whose Room.Notes have the note whole. members are a Room's, taker the member's id.
func RenderRoomNote(members []protocol.RoomMember, taker string) string {
	return protocol.RenderRoomNote(members, taker)
}

// NoteWithoutRules is the taker's note of a room without the rules it ends with: for a session that keeps its earlier turns and was told
// them. It has to be told them again when Room.Rules change or the session is compacted.
func NoteWithoutRules(room *protocol.Room, taker string) string {
	return protocol.NoteWithoutRules(room.Notes[taker], room.Rules[taker])
}
