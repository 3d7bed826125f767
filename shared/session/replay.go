package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

var noTime time.Time

// pageCommits is how many commits a replay reads at once; the table also cuts a page at about 1 MB.
const pageCommits = 1000

// Replay brings a subscription from where it stands to live, or hands it on when the deadline of ctx is near. It ends quietly when the
// job is not, or no longer, its own: taken by another, replaced by a newer subscribe, the socket closed. What goes wrong otherwise
// ends in an error and, as the client can then not be told where it stands, in the connection being closed: it resumes by since.
func (s *Sessions) Replay(ctx context.Context, job Job) error {
	conn, ok, err := s.get(ctx, job.Workspace, job.Connection)
	if err != nil {
		return fmt.Errorf("read connection %s: %w", job.Connection, err)
	}
	if !ok || !conn.isReplay(job.Generation) {
		return nil
	}
	r := &replay{s: s, conn: conn, gen: job.Generation, to: conn.Recipient(s.c.Engine.Waits().TurnQuiet), batch: slices.Contains(conn.Accepts, "events")}
	s.mu.Lock()
	s.newest[conn.ID] = r.gen
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		if s.newest[conn.ID] == r.gen {
			delete(s.newest, conn.ID)
		}
		s.mu.Unlock()
	}()
	err = r.run(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errStopped):
		return r.stopped(ctx)
	case errors.Is(err, ErrGone):
		return s.Forget(ctx, job.Workspace, conn.ID)
	case errors.Is(err, ErrBehind):
		return s.CutBehind(ctx, job.Workspace, conn.ID)
	}
	return errors.Join(fmt.Errorf("replay to %s: %w", conn.ID, err), s.Cut(ctx, job.Workspace, conn.ID, CloseTryAgain, "try again", nil))
}

// replay is one run of a job.
type replay struct {
	s    *Sessions
	conn Connection
	gen  string
	to   delivery.Recipient
	// batch says that the client takes events frames.
	batch bool
	// at is the seq up to which everything has been sent, and state the workspace as of it.
	at    int64
	state *workspace.State
	lines Lines
	// going are the recipient's runs that went on when the head was looked at last.
	going map[string]bool
	// next is the part of the log that is being read ahead, nil when none is.
	next <-chan part
	// claimed says that a page was claimed by this run, up to claimedUpTo, last at claimedAt.
	claimed     bool
	claimedUpTo int64
	claimedAt   time.Time
}

// run reads on from where the subscription stands until it is live.
func (r *replay) run(ctx context.Context) error {
	if err := r.settle(ctx); err != nil {
		return err
	}
	// What was in the log when the row already stood has to be brought; what came later fan-out sends, or leaves to us.
	var head int64
	err := r.s.c.Engine.Read(ctx, r.conn.Workspace, func(st *workspace.State) error {
		head = st.Seq
		if r.at = r.conn.Sub.Progress; r.at == fromNow || r.at > head || delivery.Quiet(st, r.to, r.at) {
			r.at = head
		}
		return nil
	})
	if err != nil {
		return err
	}
	for {
		if r.at >= head && r.conn.Sub.Behind <= r.at {
			live, err := r.s.goLive(ctx, &r.conn, r.gen, r.at)
			if live || err != nil {
				return err
			}
		}
		err := error(nil)
		if !r.outOfTime(ctx) {
			err = r.page(ctx)
		}
		if errors.Is(err, errHandOver) || err == nil && r.outOfTime(ctx) {
			return r.handOver(ctx, head)
		}
		if err != nil {
			return err
		}
	}
}

// errHandOver ends a page whose rest another run is to send.
var errHandOver = errors.New("out of time")

// outOfTime says whether the deadline is so near that the replay has to be handed on.
func (r *replay) outOfTime(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && deadline.Sub(r.s.c.Now()) < r.s.c.Limits.HandOver
}

// page reads the next part of the log and sends what of it is for the connection.
func (r *replay) page(ctx context.Context) error {
	if r.state == nil {
		state, err := r.s.c.Engine.StateAt(ctx, r.conn.Workspace, r.at)
		if err != nil {
			return err
		}
		r.state = state
	}
	ahead := r.next != nil
	if !ahead {
		r.read(ctx, r.at)
	}
	part := <-r.next
	if ahead && part.err == nil && len(part.events) == 0 { // it was read when there was nothing to follow
		r.read(ctx, r.at)
		part = <-r.next
	}
	r.next = nil
	events := part.events
	if part.err != nil {
		return part.err
	}
	if len(events) == 0 {
		return fmt.Errorf("log of %s: nothing after seq %d, yet there should be", r.conn.Workspace, r.at)
	}
	last := events[len(events)-1].Seq
	if part.more { // read on while this part is written and sent
		r.read(ctx, last)
	}
	// Membership is as of now, never older than the page: one who joins in it is in the room.
	var covered []bool
	err := r.s.c.Engine.Read(ctx, r.conn.Workspace, func(st *workspace.State) error {
		covered = make([]bool, len(events))
		r.going = map[string]bool{}
		for id, run := range st.Runs {
			if run.HarnessID == r.to.ID && !run.EndedRun() {
				r.going[id] = true
			}
		}
		r.to = r.to.At(st)
		audience := delivery.NewAudience(st, r.to)
		for i, e := range events {
			covered[i] = audience.Covers(e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	frames, err := r.render(ctx, events, covered)
	if err != nil {
		return err
	}
	for _, f := range frames {
		// A part that takes long is claimed anew from time to time: it is not dead, and hears of it when it was replaced.
		if now := r.s.c.Now(); !r.claimed || r.claimedUpTo != last || now.Sub(r.claimedAt) > r.s.c.Limits.PostTimeout {
			if err := r.claim(ctx, last); err != nil {
				return err
			}
		}
		if err := r.post(ctx, f.bytes); err != nil {
			return err
		}
		r.at = f.last
	}
	r.at = last
	return nil
}

// part is a part of the log: the events that follow a seq, and whether it is likely that there are more.
type part struct {
	events []protocol.Event
	more   bool
	err    error
}

// read has the part of the log after a seq read beside what goes on, into r.next.
func (r *replay) read(ctx context.Context, after int64) {
	next := make(chan part, 1)
	r.next = next
	ws := r.conn.Workspace // the row is written meanwhile
	go func() {
		events, more, err := r.s.eventsAfter(ctx, ws, after)
		next <- part{events, more, err}
	}()
}

func (s *Sessions) eventsAfter(ctx context.Context, ws string, after int64) (events []protocol.Event, more bool, err error) {
	commits, err := s.c.Engine.Commits(ctx, ws, after+1, pageCommits)
	if err != nil || len(commits) == 0 {
		return nil, false, err
	}
	events = make([]protocol.Event, 0, commits[len(commits)-1].Last()-after)
	for _, c := range commits {
		if c.Last() <= after {
			continue
		}
		some, err := c.Decode()
		if err != nil {
			return nil, false, fmt.Errorf("log of %s: commit at %d: %w", c.Workspace, c.First, err)
		}
		events = append(events, some[max(0, after+1-c.First):]...)
	}
	return events, len(commits) > pageCommits/4, nil
}

// claim notes, before a page is sent, that it will be: whoever comes after this run knows what may have been sent. The first claim takes
// the job, as each is under a new generation.
func (r *replay) claim(ctx context.Context, last int64) error {
	next := generation()
	if err := r.record(ctx, next, last); err != nil {
		return err
	}
	r.claimed, r.claimedUpTo, r.claimedAt = true, last, r.s.c.Now()
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	stopped := r.s.newest[r.conn.ID] != r.gen
	if r.gen = next; stopped { // a subscribe of this process came in between
		return errStopped
	}
	r.s.newest[r.conn.ID] = next
	return nil
}

// record writes how far this run came and up to where it is sending, under a new generation.
func (r *replay) record(ctx context.Context, next string, sending int64) error {
	return r.s.update(ctx, &r.conn, func(conn *Connection) bool {
		if !conn.isReplay(r.gen) {
			return false
		}
		conn.Sub.Generation, conn.Sub.Progress, conn.Sub.Sending, conn.Sub.Prior = next, r.at, sending, ""
		conn.due = r.s.c.Now().Add(r.s.c.Limits.Stall)
		return true
	})
}

// stopped ends a run that was superseded, and lets the one that waits for it go on.
func (r *replay) stopped(ctx context.Context) error {
	if !r.claimed {
		return nil
	}
	err := r.s.update(ctx, &r.conn, func(conn *Connection) bool {
		switch {
		case conn.isReplay(r.gen): // the subscribe that stopped us has not written yet: it shall see nothing under way
			conn.Sub.Sending = 0
		case conn.IsReplaying() && conn.Sub.Prior == Replaying:
			conn.Sub.Prior = ""
		default:
			return false
		}
		return true
	})
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// post sends one frame. A consumer that cannot take it now is waited for, as long as it takes one from time to time.
func (r *replay) post(ctx context.Context, frame []byte) error {
	wait := 2 * time.Millisecond
	for since := r.s.c.Now(); ; {
		r.s.mu.Lock()
		current := r.s.newest[r.conn.ID] == r.gen
		r.s.mu.Unlock()
		if !current {
			return errStopped
		}
		err := r.s.post(Paced(ctx), r.conn.ID, frame)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrTooLarge):
			r.s.c.Log.ErrorContext(ctx, "a frame is too large and is passed over", "alarm", true,
				"workspace_id", r.conn.Workspace, "after_seq", r.at, "bytes", len(frame))
			return nil
		case !errors.Is(err, ErrThrottled) && !errors.Is(err, ErrBehind):
			return err
		case r.s.c.Now().Sub(since) > r.s.c.Limits.Stall/2:
			return ErrBehind
		case r.outOfTime(ctx):
			return errHandOver
		}
		if !engine.Sleep(ctx, wait/2+rand.N(wait)) {
			return ctx.Err()
		}
		wait = min(2*wait, time.Second)
	}
}

// post is one push with its own deadline.
func (s *Sessions) post(ctx context.Context, connID string, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.c.Limits.PostTimeout)
	defer cancel()
	return s.c.Push.Post(ctx, connID, frame)
}

// handOver records how far this run came and lets another go on.
func (r *replay) handOver(ctx context.Context, head int64) error {
	next := generation()
	if err := r.record(ctx, next, 0); err != nil {
		return err
	}
	return r.s.c.Replays.Start(ctx, Job{Workspace: r.conn.Workspace, Connection: r.conn.ID, Generation: next, Lag: max(head-r.at, 0)})
}
