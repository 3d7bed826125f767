package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// aim sets the claim that is put with the attempt's commit. It says no more than that no commit up to the seq it was decided at
// holds the key, which stays true whatever becomes of the chain the commit is in. A claim that was found standing is moved up; one
// of the attempt's own stays where it is.
func (a *attempt) aim() {
	a.move = nil
	if a.key.key == "" || a.claim != nil && (a.claim.After >= a.clear || a.claim.After >= a.decided) {
		return
	}
	a.move = &Claim{Workspace: a.commit.Workspace, Sender: a.key.sender, Key: a.key.key, After: a.decided}
}

// appends are what is asked of the table for a chain.
func appends(chain []*attempt) []Append {
	all := make([]Append, len(chain))
	for i, a := range chain {
		all[i] = Append{Commit: a.commit, Claim: a.move, Replaces: -1}
		if a.claim != nil {
			all[i].Replaces = a.claim.After
		}
	}
	return all
}

// putDown appends a chain. While an outcome is unknown the same is asked again and nothing else, until it is known or nobody waits any
// more. It answers those that lost their slots, to be decided again, and whether any was written just now.
func (w *warm) putDown(ctx context.Context, chain []*attempt) (lost []*attempt, written bool) {
	for failures := 0; len(chain) > 0; failures++ {
		results, err := w.engine.table.Append(ctx, appends(chain))
		for _, r := range results {
			a := chain[0]
			switch w.became(a, r) {
			case isIn:
				chain, written, failures = chain[1:], written || r.Written, 0
				continue
			case isInOtherwise:
				w.dropAhead()
				return chain[1:], written
			case isOut:
				w.dropAhead()
				return chain, written
			case isClaimed:
				w.dropAhead()
				a.verdict <- verdict{look: true}
				return chain[1:], written
			case isToRepeat:
			}
			break
		}
		if err == nil && len(results) == 0 {
			err = errNoResult
		}
		if failures >= w.engine.o.Tries || err != nil && !Pause(ctx, failures) {
			w.dropAhead()
			for _, a := range chain {
				a.verdict <- verdict{err: fmt.Errorf("append to %s: outcome unknown: %w", w.id, cmp.Or(err, ErrBusy))}
			}
			return nil, written
		}
	}
	return nil, written
}

var errNoResult = errors.New("the table answered nothing")

// fate is what the table's answer means for an attempt.
type fate int

const (
	isIn          fate = iota // its commit is in the log
	isInOtherwise             // so it is, as an earlier version of it, and what was decided after it does not follow
	isOut                     // another's commit has its slot
	isClaimed                 // its key was claimed before, and has to be looked up
	isToRepeat                // nothing was done that it knows of
)

// became takes in what the table answered of an attempt.
func (w *warm) became(a *attempt, r Result) fate {
	if r.Claimed && a.move != nil {
		a.claim, a.clear, a.move = a.move, a.move.After, nil
	}
	switch {
	case r.Written:
		w.land(a, a.commit)
		return isIn
	case r.Winner != nil && r.Winner.Nonce == a.nonce: // by a call whose answer was lost
		w.land(a, *r.Winner)
		if !r.Winner.same(a.commit) {
			return isInOtherwise
		}
		return isIn
	case r.Taken != nil:
		if a.settle(*r.Taken) {
			return isToRepeat
		}
		return isClaimed
	}
	return isOut
}

// settle takes note of a claim that stood in the way, and says whether it is known that nothing after it holds the key: where all
// those keys were remembered when the attempt was decided, its own was not among them.
func (a *attempt) settle(standing Claim) bool {
	a.claim, a.clear = &standing, standing.After
	if standing.After < a.decided {
		if standing.After < a.recalled {
			return false
		}
		a.clear = a.decided
	}
	a.aim()
	return true
}

// land folds in an attempt's commit, which is in the log, and tells so.
func (w *warm) land(a *attempt, c Commit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// What cannot be folded throws the state away; the commit is in the log for all that.
	if err := w.take(c); err == nil && w.ahead != nil && w.ahead.Seq < c.First {
		if _, err := w.engine.advance(w.ahead, c); err != nil {
			w.ahead = nil
		}
	}
	a.verdict <- verdict{commit: &c}
}

func (w *warm) dropAhead() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead = nil
}

// same says whether two commits at one slot are of the same events.
func (c Commit) same(o Commit) bool {
	return c.TS.Equal(o.TS) && slices.EqualFunc(c.Events, o.Events, bytes.Equal)
}
