package session_test

import (
	"context"
	"testing"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/session"
)

// watched is an engine that tells when a part of the log was read that has nothing in it.
type watched struct {
	session.Engine
	nothing chan struct{}
}

func (e watched) Commits(ctx context.Context, ws string, from int64, limit int) ([]engine.Commit, error) {
	commits, err := e.Engine.Commits(ctx, ws, from, limit)
	if err == nil && (len(commits) == 0 || commits[len(commits)-1].Last() < from) {
		select {
		case e.nothing <- struct{}{}:
		default:
		}
	}
	return commits, err
}

// What is written after the log was read ahead, and left to the replay, is brought: it is not where the log ended when it was read.
//
// covers: SUB-5
func TestReadAheadOfWhatComes(t *testing.T) {
	w := newWorld(t)
	nothing := make(chan struct{}, 1)
	w.config.Engine = watched{w.engine, nothing}
	w.sessions = session.New(w.config)
	since := w.head()
	w.fill(600, "x")
	c := w.connect(w.arjun).hello("")
	w.push.onPost = func(string, []byte) error {
		if len(w.push.sent(c.id)) != 599 {
			return nil
		}
		<-nothing
		w.fill(2, "later")
		row := c.state()
		return w.sessions.MarkBehind(context.Background(), &row, w.head())
	}
	c.subscribe(since)
	events := c.events()
	for i, e := range events {
		if e.Seq != since+int64(i)+1 {
			t.Fatalf("event %d has seq %d", i, e.Seq-since)
		}
	}
	if len(events) != 602 || c.state().Sub.State != session.Live {
		t.Errorf("%d events, %+v", len(events), c.state().Sub)
	}
}
