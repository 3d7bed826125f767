package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// RoomLog is where the lines of rooms are read; *engine.Engine is one, and says what it does.
type RoomLog interface {
	RoomCommits(ctx context.Context, workspace, space string, line int64, limit int) ([]engine.Commit, error)
	EventAt(ctx context.Context, workspace string, seq int64) (protocol.Event, error)
}

// Bounds of what Lines keep: lines of one room, and bytes of text in all.
const (
	keptLines = 256
	keptBytes = 2 << 20
)

// Lines reads the lines of a workspace's rooms for contexts. Whoever goes through the log in order tells it of each event (Saw), and it
// keeps the newest lines of the rooms that were asked for, so that each is read once. The zero Lines is empty; losing it costs reads only.
type Lines struct {
	rooms map[string]*tail
	bytes int
}

// tail is the newest lines of a room without a hole, rising, and the line before the oldest of them, 0 for none. edits are those of its
// messages that were told of or read, the newest of each by the seq of its message.
type tail struct {
	lines []protocol.Event
	prev  int64
	edits map[int64]protocol.Event
}

// newest is the seq of the newest line that is kept.
func (t *tail) newest() int64 {
	if len(t.lines) == 0 {
		return t.prev
	}
	return t.lines[len(t.lines)-1].Seq
}

// Saw notes an event; s is the state just after it.
func (l *Lines) Saw(s *workspace.State, e protocol.Event) {
	if len(l.rooms) == 0 {
		return
	}
	if d, ok := e.Data.(*protocol.MessageEdited); ok {
		if t := l.rooms[e.SpaceID]; t != nil {
			l.edited(t, d, e)
		}
	}
	for _, id := range workspace.LineRooms(e) {
		t, room := l.rooms[id], s.Rooms[id]
		if t == nil || room == nil {
			continue
		}
		if room.PrevLine != t.newest() || room.LastLine != e.Seq { // some were not told of
			l.forget(id)
			continue
		}
		t.lines = append(t.lines, e)
		l.bytes += weight(e)
		if len(t.lines) > 2*keptLines {
			gone := t.lines[:len(t.lines)-keptLines]
			for _, e := range gone {
				l.drop(t, e)
			}
			t.prev = gone[len(gone)-1].Seq
			t.lines = append(make([]protocol.Event, 0, 2*keptLines+1), t.lines[len(gone):]...)
		}
	}
	if l.bytes > keptBytes {
		*l = Lines{}
	}
}

func (l *Lines) forget(room string) {
	t := l.rooms[room]
	for _, e := range t.lines {
		l.drop(t, e)
	}
	delete(l.rooms, room)
}

// drop lets go of a line, and of its edit.
func (l *Lines) drop(t *tail, line protocol.Event) {
	l.bytes -= weight(line)
	if edit, ok := t.edits[line.Seq]; ok {
		l.bytes -= weight(edit)
		delete(t.edits, line.Seq)
	}
}

// edited keeps an edit of a line that is kept, in the place of an older one.
func (l *Lines) edited(t *tail, d *protocol.MessageEdited, e protocol.Event) {
	message, _ := protocol.SeqOf(d.MessageID)
	if _, kept := slices.BinarySearchFunc(t.lines, message, func(e protocol.Event, seq int64) int { return int(e.Seq - seq) }); !kept {
		return
	}
	if old, ok := t.edits[message]; ok {
		l.bytes -= weight(old)
	}
	if t.edits == nil {
		t.edits = map[int64]protocol.Event{}
	}
	t.edits[message] = e
	l.bytes += weight(e)
}

// weight is about how many bytes a line takes in memory.
func weight(e protocol.Event) int {
	n := 500
	switch d := e.Data.(type) {
	case *protocol.MessagePost:
		n += len(d.Text)
	case *protocol.RunSteer:
		n += len(d.Text)
	case *protocol.MessageEdited:
		n += len(d.Text)
	}
	return n
}

// For answers the lines that Render has to be given for an event, of which s is the state just after it; nil where it needs none.
func (l *Lines) For(ctx context.Context, log RoomLog, s *workspace.State, e protocol.Event, r delivery.Recipient) ([]protocol.Event, error) {
	w, ok := delivery.Wants(s, e, r)
	if !ok {
		return nil, nil
	}
	lines, err := l.Of(ctx, log, s.ID, w)
	if err == nil && l.rooms[w.Room].newest() == w.Line { // the event, seen before anybody asked for its room, is the next line
		l.Saw(s, e)
	}
	return lines, err
}

// Of answers the lines that are wanted, as far down as is needed, with their edits before them, and reads those that are not kept.
func (l *Lines) Of(ctx context.Context, log RoomLog, ws string, w delivery.Want) ([]protocol.Event, error) {
	t := l.rooms[w.Room]
	if t != nil && (w.Line > t.newest() || w.Line < t.prev) {
		l.forget(w.Room)
		t = nil
	}
	if t == nil {
		t = &tail{prev: w.Line}
		if l.rooms == nil {
			l.rooms = map[string]*tail{}
		}
		l.rooms[w.Room] = t
	}
	upTo := len(t.lines)
	for upTo > 0 && t.lines[upTo-1].Seq > w.Line {
		upTo--
	}
	from, need := upTo, w.Need
	for from > 0 && need > 0 && t.lines[from-1].Seq > w.Since {
		if from--; w.Counts(t.lines[from]) {
			need--
		}
	}
	for from == 0 && need > 0 && t.prev > w.Since {
		commits, err := log.RoomCommits(ctx, ws, w.Room, t.prev, int(min(int64(need), t.prev-w.Since)))
		if err != nil {
			return nil, err
		}
		older, prev, err := linesIn(commits, w.Room, t.prev)
		if err != nil {
			return nil, err
		}
		for _, e := range older {
			l.bytes += weight(e)
			if e.Seq > w.Since && w.Counts(e) {
				need--
			}
		}
		t.lines, t.prev = append(older, t.lines...), prev
		upTo += len(older)
	}
	return l.withEdits(ctx, log, ws, t, w, t.lines[from:upTo:upTo])
}

// withEdits puts the edits that a want names of lines before them.
func (l *Lines) withEdits(ctx context.Context, log RoomLog, ws string, t *tail, w delivery.Want, lines []protocol.Event) ([]protocol.Event, error) {
	var edits []protocol.Event
	for _, line := range lines {
		seq := w.Edit(line)
		if seq == 0 {
			continue
		}
		e, ok := t.edits[line.Seq]
		if !ok || e.Seq != seq {
			var err error
			if e, err = log.EventAt(ctx, ws, seq); err != nil {
				return nil, err
			}
			d, ok := e.Data.(*protocol.MessageEdited)
			if !ok {
				return nil, fmt.Errorf("room %s: the edit of %d at %d is a %s", w.Room, line.Seq, seq, e.Type)
			}
			l.edited(t, d, e)
		}
		edits = append(edits, e)
	}
	if w.Handed > 0 {
		said, err := log.EventAt(ctx, ws, w.Handed)
		if err != nil {
			return nil, err
		}
		edits = append(edits, said)
		if seq := w.Edit(said); seq > 0 {
			edit, err := log.EventAt(ctx, ws, seq)
			if err != nil {
				return nil, err
			}
			edits = append(edits, edit)
		}
	}
	if edits == nil {
		return lines, nil
	}
	return append(edits, lines...), nil
}

// linesIn are a room's lines in commits, newest first, from the one at line on: rising; and the line before them, 0 for none.
func linesIn(commits []engine.Commit, room string, line int64) (lines []protocol.Event, prev int64, err error) {
	byCommit := make([][]protocol.Event, 0, len(commits))
	n := 0
	for _, c := range commits {
		events, err := c.Decode()
		if err != nil {
			return nil, 0, fmt.Errorf("room %s: commit at %d: %w", room, c.First, err)
		}
		kept := events[:0]
		for _, e := range events {
			if e.Seq <= line && e.SpaceID == room && workspace.LineRooms(e) != nil {
				kept = append(kept, e)
			}
		}
		byCommit = append(byCommit, kept)
		n += len(kept)
		prev = c.Prev[room]
	}
	lines = make([]protocol.Event, 0, n)
	for i := len(byCommit) - 1; i >= 0; i-- {
		lines = append(lines, byCommit[i]...)
	}
	return lines, prev, nil
}
