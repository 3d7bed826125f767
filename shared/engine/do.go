package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// attempt is one Do on its way into the log. Its fields belong to Do, but to the workspace's driver from submit to the verdict.
type attempt struct {
	ctx     context.Context
	cmd     workspace.Command
	key     keyID
	payload [16]byte
	// nonce is the same however often the attempt is put down, so that its own commit is known wherever it turns up.
	nonce [10]byte

	// fresh says that the state folded here holds all that was committed before the attempt began.
	fresh bool
	// losses counts how often it was put down in vain.
	losses int
	// claim stands for its key, when it is known to, and no commit up to clear holds the key.
	claim *Claim
	clear int64
	// commit, which holds events, and move are what is being put down: move is the claim that goes with it. It was decided when all
	// up to decided was committed, and all keys after recalled were remembered.
	commit            Commit
	events            []protocol.Event
	missing           []string
	move              *Claim
	decided, recalled int64

	verdict chan verdict
}

// verdict is what the driver says of an attempt, one of these.
type verdict struct {
	// err is the end of it, without an answer.
	err error
	// commit is in the log, put there by this attempt.
	commit *Commit
	// found is the first seq of a commit that holds the attempt's key.
	found int64
	// look asks for the key to be looked up: a claim stands for it. When nothing is found the attempt goes on.
	look bool
	// refusal, or nothing (there is nothing to do, at seq head), holds at the head, unless the key is found.
	refusal *protocol.Error
	nothing bool
	head    int64
	// missing are messages that the rules have to be given before they decide.
	missing []string
}

// Do runs a command: it decides, appends what was decided, and answers what is in the log of it. The command's Now, Seed and
// Cited are filled in where they are not set.
//
// A *protocol.Error is a refusal and answers the command's key. ErrBusy, with the context's error where time ran out, and any
// other error are nobody's fault: there is no answer, the command may be in the log or not, and it may be sent again.
func (g *Engine) Do(ctx context.Context, ws string, cmd workspace.Command) (Outcome, error) {
	a, err := g.attempt(ctx, ws, cmd)
	if err != nil {
		return Outcome{}, noAnswer(ctx, err)
	}
	w := g.workspace(ws)
	for asked := 0; ; {
		v := w.submit(a)
		if v.err != nil {
			return Outcome{}, noAnswer(ctx, v.err)
		}
		if v.commit != nil {
			return a.outcome(*v.commit)
		}
		if len(v.missing) > 0 {
			if asked++; asked > g.o.Tries {
				return Outcome{}, fmt.Errorf("%w: other messages were asked for each time", ErrBusy)
			}
			if a.cmd.Cited, err = g.cited(ctx, ws, v.missing, a.cmd.Cited); err != nil {
				return Outcome{}, noAnswer(ctx, err)
			}
			continue
		}
		c, ok, err := w.find(ctx, a, v.found)
		switch {
		case err != nil:
			return Outcome{}, noAnswer(ctx, err)
		case ok:
			return a.outcome(c)
		case v.refusal != nil:
			return Outcome{}, v.refusal
		case v.nothing:
			return Outcome{key: a.key.key, head: v.head}, nil
		}
	}
}

// attempt prepares a command.
func (g *Engine) attempt(ctx context.Context, ws string, cmd workspace.Command) (*attempt, error) {
	a := &attempt{ctx: ctx, cmd: cmd, verdict: make(chan verdict, 1)}
	var err error
	if a.payload, err = payload(cmd.Draft); err != nil {
		return nil, fmt.Errorf("hash %s: %w", cmd.Draft.Type, err)
	}
	if key := cmd.Draft.IdempotencyKey; key != "" {
		a.key = keyID{cmd.By.ID, key}
	}
	rand.Read(a.nonce[:])
	if a.cmd.Seed == [16]byte{} {
		rand.Read(a.cmd.Seed[:])
	}
	if a.cmd.Cited == nil {
		a.cmd.Cited, err = g.cited(ctx, ws, workspace.Cites(cmd.Draft), nil)
	}
	return a, err
}

// cited reads events of messages, beside those that were read before. One that is in no log is the zero Event.
func (g *Engine) cited(ctx context.Context, ws string, ids []string, before map[string]protocol.Event) (map[string]protocol.Event, error) {
	if len(ids) == 0 {
		return before, nil
	}
	events := maps.Clone(before)
	if events == nil {
		events = map[string]protocol.Event{}
	}
	for _, id := range ids {
		e, _, err := g.Event(ctx, ws, id)
		if err != nil {
			return nil, err
		}
		events[id] = e
	}
	return events, nil
}

// outcome is what a commit that holds the attempt's key, or its nonce, says of it.
func (a *attempt) outcome(c Commit) (Outcome, error) {
	o := Outcome{Commit: c, Events: a.events, key: a.key.key}
	if c.Nonce != a.nonce {
		o.Duplicate, o.Differs = true, c.Payload != a.payload
	}
	if c.Nonce != a.nonce || c.First != a.commit.First || !c.same(a.commit) {
		var err error
		if o.Events, err = c.Decode(); err != nil {
			return Outcome{}, fmt.Errorf("log of %s: commit at %d: %w", c.Workspace, c.First, err)
		}
	}
	return o, nil
}

// noAnswer is err as Do answers it.
func noAnswer(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w: %w", ErrBusy, context.Cause(ctx), err)
	case errors.Is(err, ErrThrottled) && !errors.Is(err, ErrBusy):
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// find looks the attempt's key up and answers the commit that holds it. first is the commit's, where it is known; else it may be
// among those remembered, or the claim and the log after it say. What is learnt on the way stays with the attempt.
func (w *warm) find(ctx context.Context, a *attempt, first int64) (Commit, bool, error) {
	if a.key.key == "" {
		return Commit{}, false, nil
	}
	from := int64(0)
	if first == 0 {
		first, from = w.recall(a.key)
	}
	if first > 0 {
		c, ok, err := w.engine.commitAt(ctx, w.id, first)
		if err == nil && (!ok || c.Sender != a.key.sender || c.Key != a.key.key) {
			err = fmt.Errorf("log of %s: the commit at %d changed", w.id, first)
		}
		return c, ok, err
	}
	if from == 0 { // everything there is is remembered
		return Commit{}, false, nil
	}
	if a.claim == nil {
		c, ok, err := w.engine.table.ReadClaim(ctx, w.id, a.key.sender, a.key.key)
		if err != nil {
			return Commit{}, false, fmt.Errorf("read claim: %w", err)
		}
		if !ok {
			return Commit{}, false, nil
		}
		a.claim, a.clear = &c, c.After
	}
	return w.scan(ctx, a)
}

// scan reads the log from where it is not known to be clear of the attempt's key, to its end.
func (w *warm) scan(ctx context.Context, a *attempt) (Commit, bool, error) {
	for {
		commits, err := w.engine.table.Commits(ctx, w.id, a.clear+1, pageCommits)
		if err != nil {
			return Commit{}, false, fmt.Errorf("read log of %s: %w", w.id, err)
		}
		before := a.clear
		for _, c := range commits {
			if c.Sender == a.key.sender && c.Key == a.key.key {
				return c, true, nil
			}
			a.clear = max(a.clear, c.Last())
		}
		if a.clear == before {
			return Commit{}, false, nil
		}
	}
}

// recall answers the first seq of the remembered commit with a key, 0 for none; and the seq after which all keys are remembered, -1
// where nothing is.
func (w *warm) recall(id keyID) (first, from int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == nil {
		return 0, -1
	}
	return w.keys.first[id], w.keys.from
}
