package session

import (
	"context"
	"fmt"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// RoomLog is where the lines of rooms are read; *engine.Engine is one, and says what it does.
type RoomLog interface {
	RoomCommits(ctx context.Context, workspace, space string, line int64, limit int) ([]engine.Commit, error)
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

// tail is the newest lines of a room without a hole, rising, and the line before the oldest of them, 0 for none.
type tail struct {
	lines []protocol.Event
	prev  int64
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
				l.bytes -= weight(e)
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
	for _, e := range l.rooms[room].lines {
		l.bytes -= weight(e)
	}
	delete(l.rooms, room)
}

// weight is about how many bytes a line takes in memory.
func weight(e protocol.Event) int {
	n := 500
	if d, ok := e.Data.(*protocol.MessagePost); ok {
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

// Of answers the lines that are wanted, as far down as is needed, and reads those that are not kept.
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
	return t.lines[from:upTo:upTo], nil
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
