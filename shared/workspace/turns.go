package workspace

import (
	"github.com/chipschat/chips-aws/shared/protocol"
)

// messageHeard takes a turn's word that it was told of a message of its room.
func (d *deciding) messageHeard() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.MessageHeard)
	if !ok || draft.MessageID == "" {
		return d.bad("message_id is missing")
	}
	run, err := d.ownRun()
	if err != nil {
		return err
	}
	said := d.c.Cited[draft.MessageID]
	if protocol.Said(said.Data) == nil || said.SpaceID == "" || said.SpaceID != run.Room {
		return notFound("message_id names no message of the run's room")
	}
	d.answer(d.runActor(run), run.Room, draft).RunID = run.ID
	return nil
}

// runSteer takes a person's words to a run. On one that is over they are a message to its agent (contract U-108).
func (d *deciding) runSteer() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.RunSteer)
	if !ok {
		return d.bad("mode and text are missing")
	}
	switch draft.Mode {
	case protocol.ModeSteer, protocol.ModeInterrupt, protocol.ModeFollowup:
	default:
		return d.bad("mode is %q, %q or %q", protocol.ModeSteer, protocol.ModeInterrupt, protocol.ModeFollowup)
	}
	if err := d.said(draft.Text, len(draft.UploadIDs)); err != nil {
		return err
	}
	if err := d.needMember(); err != nil {
		return err
	}
	run := d.s.Runs[d.c.Draft.RunID]
	switch {
	case d.c.Draft.RunID == "":
		return d.bad("run_id is missing")
	case run == nil:
		return notFound("nobody started this run")
	case run.Room == "":
		return forbidden("the run is in no room of yours")
	case d.c.Draft.SpaceID != "" && d.c.Draft.SpaceID != run.Room:
		return d.bad("space_id is not the run's room")
	}
	room, err := d.roomOf(run.Room)
	if err != nil {
		return err
	}
	if room.Archived {
		return closed()
	}
	post := &protocol.MessagePost{Text: draft.Text, UploadIDs: draft.UploadIDs, AddressedTo: []string{run.AgentID}}
	if err := d.attach(room, &protocol.MessagePost{UploadIDs: draft.UploadIDs}, post); err != nil {
		return err
	}
	if run.EndedRun() {
		if !room.Has(run.AgentID) {
			post.AddressedTo = []string{}
		}
		d.answer(d.sender(), room.ID, post)
		return nil
	}
	steer := &protocol.RunSteer{
		Mode: draft.Mode, Text: post.Text, UploadIDs: post.UploadIDs, Attachments: post.Attachments, AddressedTo: post.AddressedTo,
	}
	d.answer(d.sender(), room.ID, steer).RunID = run.ID
	return nil
}

// Disposition is what becomes of a person's words where a run was going in their room: steered at once, or queued for its next look; ""
// where there is nothing to say. The state is one after them.
func (s *State) Disposition(e protocol.Event) string {
	if e.Actor.Kind != protocol.KindPerson || protocol.Said(e.Data) == nil || len(s.WorkingAt(e)) == 0 {
		return ""
	}
	if d, ok := e.Data.(*protocol.RunSteer); ok && d.Mode != protocol.ModeFollowup {
		return protocol.Steered
	}
	return protocol.Queued
}

// WorkingAt are the harnesses with a run going in the room of an event as of it, quiet or paused ones too.
func (s *State) WorkingAt(e protocol.Event) map[string]bool {
	var working map[string]bool
	for _, run := range s.Runs {
		if run.Room == e.SpaceID && e.SpaceID != "" && run.Seq < e.Seq && (!run.EndedRun() || run.EndSeq > e.Seq) {
			if working == nil {
				working = map[string]bool{}
			}
			working[run.HarnessID] = true
		}
	}
	return working
}
