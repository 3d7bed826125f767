package session_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// roomLog is the log of one room, whose every event is a line.
type roomLog struct {
	t       *testing.T
	s       *workspace.State
	commits []engine.Commit
	reads   int
}

const aRoom = "spc_1"

// append writes a commit of messages, and answers its events, folded one by one as then asks.
func (l *roomLog) append(n int, then func(protocol.Event)) {
	l.t.Helper()
	c := engine.Commit{Workspace: "ws_1", First: l.s.Seq + 1, Prev: map[string]int64{aRoom: l.s.Rooms[aRoom].LastLine}, Space: aRoom}
	for range n {
		e := protocol.Event{
			Envelope: protocol.Envelope{Type: "message.post", SpaceID: aRoom, Actor: protocol.Actor{Kind: protocol.KindPerson, ID: "usr_1"}},
			Data:     &protocol.MessagePost{Text: "words"},
		}
		raw, err := e.AppendStored(nil)
		if err != nil {
			l.t.Fatal(err)
		}
		c.Events = append(c.Events, raw)
	}
	l.commits = append(l.commits, c)
	events, err := c.Decode()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, e := range events {
		workspace.Evolve(l.s, e)
		then(e)
	}
}

func (l *roomLog) RoomCommits(_ context.Context, _, _ string, line int64, limit int) ([]engine.Commit, error) {
	l.reads++
	var page []engine.Commit
	for _, c := range slices.Backward(l.commits) {
		if c.First <= line && len(page) < limit {
			page = append(page, c)
		}
	}
	return page, nil
}

func (l *roomLog) EventAt(_ context.Context, _ string, seq int64) (protocol.Event, error) {
	l.reads++
	for _, c := range l.commits {
		if c.First <= seq && seq <= c.Last() {
			events, err := c.Decode()
			return events[seq-c.First], err
		}
	}
	return protocol.Event{}, fmt.Errorf("nothing at %d", seq)
}

// Lines answer what the log holds, whatever they were told of before: each line below the newest that is wanted, down to since.
func TestLines(t *testing.T) {
	log := &roomLog{t: t, s: workspace.New("ws_1")}
	log.s.Rooms[aRoom] = &workspace.Room{ID: aRoom}
	var lines session.Lines
	want := func(what string, line, since int64, limit, reads int) {
		t.Helper()
		log.reads = 0
		got, err := lines.Of(t.Context(), log, "ws_1", delivery.Past(aRoom, since, line+1, line, limit, log.s.Rooms[aRoom].Marks))
		if err != nil {
			t.Fatal(err)
		}
		var seqs, all []int64
		for _, e := range got {
			seqs = append(seqs, e.Seq)
		}
		for seq := since + 1; seq <= line; seq++ {
			all = append(all, seq)
		}
		// As many as are needed are there, and nothing is left out among them.
		if n := min(len(all), limit+1); len(seqs) < n {
			t.Errorf("%s: %v, want %d", what, seqs, n)
		}
		for i, seq := range seqs {
			if seq != line-int64(len(seqs)-1-i) {
				t.Fatalf("%s: %v is not down from %d without a hole", what, seqs, line)
			}
		}
		if log.reads > reads {
			t.Errorf("%s: %d reads, want %d", what, log.reads, reads)
		}
	}
	saw := func(e protocol.Event) { lines.Saw(log.s, e) }
	missed := func(protocol.Event) {}

	for range 30 {
		log.append(1, saw)
	}
	want("nobody asked before", 30, 0, 4, 1)
	want("again", 30, 0, 4, 0)
	want("further down", 30, 0, 9, 1)
	want("further up", 30, 25, 9, 0)
	want("an older line", 28, 0, 4, 0)
	want("below what is kept", 10, 0, 4, 1)
	want("the newest once more", 30, 0, 4, 1)
	log.append(3, saw)
	want("after those it was told of", 33, 0, 4, 0)
	log.append(1, missed)
	want("after one it was not told of", 34, 0, 4, 1)
	log.append(1, missed)
	log.append(1, saw)
	want("after a hole", 36, 0, 4, 1)
	log.append(3, saw)
	lines = session.Lines{}
	want("from within a commit", 38, 0, 1, 1)
	want("and its later line", 39, 0, 1, 1)
	log.append(1, saw)
	for range 2000 {
		log.append(1, saw)
	}
	want("after a long time", log.s.Seq, 0, 200, 0)
	want("older than all that is kept", 20, 0, 3, 1)
	if got, err := lines.Of(t.Context(), log, "ws_1", delivery.Want{Room: "spc_new"}); got != nil || err != nil {
		t.Errorf("of a room without lines: %v, %v", got, err)
	}
}
