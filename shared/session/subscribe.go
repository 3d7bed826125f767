package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Job names a replay that is to be run. It is taken by the first who runs it: to run it again does nothing.
type Job struct {
	Workspace  string `json:"workspace"`
	Connection string `json:"connection"`
	Generation string `json:"generation"`
	// Lag is how many events of the workspace lay between where the replay goes on and the head: how long it may take.
	Lag int64 `json:"lag"`
}

// fromNow is the Progress of a subscription that starts at the head, wherever that is when it is read.
const fromNow = -1

// subscribe starts a connection's stream, in the place of one it may have. Where there is nothing to bring first it is live at once.
func (s *Sessions) subscribe(ctx context.Context, conn Connection, c workspace.Caller, f protocol.Subscribe) (Reply, error) {
	if f.WorkspaceID != c.Workspace {
		return refusal(protocol.Refuse(protocol.Forbidden, "workspace_id is not your workspace"), ""), nil
	}
	sub := Subscription{State: Replaying, Generation: generation(), Progress: fromNow}
	if f.Since != nil {
		sub.Progress = *f.Since
	}
	s.supersede(conn.ID, sub.Generation)
	err := s.update(ctx, &conn, func(conn *Connection) bool {
		if conn.Closing {
			return false
		}
		now := sub
		now.Prior = unfinished(conn.Sub)
		conn.Sub, conn.due = &now, s.c.Now().Add(s.c.Limits.Stall)
		return true
	})
	if errors.Is(err, errStopped) {
		return Reply{Close: closePolicy, Reason: "this connection is over"}, nil
	}
	if err != nil {
		return Reply{}, err
	}
	// The head is read after the row stands: from here on, whoever is rung with an event finds the row.
	job := Job{Workspace: c.Workspace, Connection: conn.ID, Generation: sub.Generation}
	upTo := sub.Progress
	err = s.c.Engine.Read(ctx, c.Workspace, func(st *workspace.State) error {
		if upTo == fromNow || upTo > st.Seq || delivery.Quiet(st, recipientOf(c), upTo) {
			upTo = st.Seq
		}
		job.Lag = st.Seq - upTo
		return nil
	})
	if err != nil {
		return Reply{}, err
	}
	if job.Lag == 0 && conn.Sub.Prior == "" {
		live, err := s.goLive(ctx, &conn, sub.Generation, upTo)
		switch {
		case live || errors.Is(err, errStopped): // or another subscribe was quicker
			return Reply{}, nil
		case err != nil:
			return Reply{}, err
		}
	}
	if err := s.c.Replays.Start(ctx, job); err != nil {
		return Reply{}, fmt.Errorf("start replay of %s: %w", conn.ID, err)
	}
	return Reply{}, nil
}

// unfinished is the state of a subscription that is being replaced, if something of it may still be on its way.
func unfinished(sub *Subscription) string {
	switch {
	case sub == nil:
		return ""
	case sub.State == Live:
		return Live
	case sub.Sending > sub.Progress:
		return Replaying
	}
	return sub.Prior
}

// goLive makes a subscription live from c on, which is as far as it was brought, and says whether it did. It does not where fan-out
// left more to the replay. errStopped says that the subscription is another one by now.
func (s *Sessions) goLive(ctx context.Context, conn *Connection, gen string, c int64) (bool, error) {
	err := s.update(ctx, conn, func(conn *Connection) bool {
		if !conn.isReplay(gen) || conn.Sub.Behind > c {
			return false
		}
		conn.Sub = &Subscription{State: Live, Generation: gen, LiveFrom: c}
		conn.due = noTime
		return true
	})
	if errors.Is(err, errStopped) && conn.isReplay(gen) {
		return false, nil
	}
	return err == nil, err
}

// isReplay says whether the connection's subscription is the replay of a generation.
func (c *Connection) isReplay(gen string) bool { return c.IsReplaying() && c.Sub.Generation == gen }

// generation is a name nobody had before.
func generation() string { return strconv.FormatUint(rand.Uint64(), 36) }

// supersede notes a connection's newest subscription, so that a replay of an older one in this process stops at its next frame.
func (s *Sessions) supersede(connID, gen string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, running := s.newest[connID]; running {
		s.newest[connID] = gen
	}
}
