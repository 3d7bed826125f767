package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// Listens says whether a socket of a harness has said hello and accepts a word.
func (s *Sessions) Listens(ctx context.Context, ws, harness, accepts string) (bool, error) {
	list, err := s.List(ctx, ws, nil)
	return slices.ContainsFunc(list, func(c Connection) bool { return c.listens(harness, accepts) }), err
}

// Away says whether no socket of a harness accepts a word. It is told by a glance, which may be behind for a moment: it is for who is shown
// it, and Listens for who acts on it.
func (s *Sessions) Away(ctx context.Context, ws, harness, accepts string) (bool, error) {
	list, err := s.connections(ctx, ws, nil, s.c.Rows.Glance)
	return !slices.ContainsFunc(list, func(c Connection) bool { return c.listens(harness, accepts) }), err
}

func (c *Connection) listens(harness, accepts string) bool {
	return c.Holder == harness && !c.Closing && c.Hello && slices.Contains(c.Accepts, accepts)
}

// Tell sends a frame now or never to those of a harness's sockets whose hello accepts a word, and says how many took it. It is no event:
// who is not there never hears of it.
func (s *Sessions) Tell(ctx context.Context, ws, harness, accepts string, frame []byte) (took int, err error) {
	list, err := s.List(ctx, ws, nil)
	if err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	var n atomic.Int64
	for _, c := range list {
		if !c.listens(harness, accepts) {
			continue
		}
		wg.Go(func() {
			one, cancel := context.WithTimeout(ctx, s.c.Limits.PostTimeout)
			defer cancel()
			switch err := s.c.Push.Post(one, c.ID, frame); {
			case err == nil:
				n.Add(1)
			case errors.Is(err, ErrGone):
				_ = s.Forget(context.WithoutCancel(ctx), ws, c.ID)
			default:
				s.c.Log.WarnContext(ctx, "a frame that is sent now or never was not", "workspace_id", ws, "connection_id", c.ID, "error", err)
			}
		})
	}
	wg.Wait()
	return int(n.Load()), nil
}
