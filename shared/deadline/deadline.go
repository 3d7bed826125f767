package deadline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Alarm brings a deadline back when it is due: the message of a queue and the payload of a schedule alike.
type Alarm struct {
	WorkspaceID string `json:"workspace_id"`
	Kind        string `json:"kind"`
	ID          string `json:"id"`
	// Due is when it is to ring.
	Due time.Time `json:"due"`
}

// Alarms keep alarms until they are due. shared/porttest holds every adapter to this.
type Alarms interface {
	// Set has the alarm ring (Fire) at its Due or within a second after, at once where that is past. It may ring twice, or early: it is
	// set again then. It is to survive the process where the process may end before it rings. Setting one that is set already is no
	// error and need not ring twice. An error leaves unknown whether it is set.
	Set(ctx context.Context, a Alarm) error
}

// Log is what firing reads and writes; *engine.Engine is one, and says what these do.
type Log interface {
	Do(ctx context.Context, ws string, cmd workspace.Command) (engine.Outcome, error)
	Read(ctx context.Context, ws string, fn func(*workspace.State) error) error
	Waits() workspace.Waits
}

// Config is what a Keeper is made of.
type Config struct {
	Log    Log
	Rows   engine.Rows
	Alarms Alarms
	Now    func() time.Time
	Logger *slog.Logger
	// Late, where there is one, is told of each deadline that fired how long after it was due.
	Late func(workspace string, lag time.Duration)
	// Watch is how harnesses come to be looked at that may be away, and Sockets who is not; nil where nobody is looked at.
	Watch   *Watch
	Sockets Sockets
}

// Keeper arms deadlines and fires them, and looks who is away. It is for any number of goroutines, and any number of keepers may share a table.
type Keeper struct{ c Config }

// New makes a Keeper of its parts.
func New(c Config) *Keeper { return &Keeper{c} }

// RowPrefix is what the pk of a deadline's row starts with.
const RowPrefix = "D#"

func rowKey(a Alarm) (pk, sk string) { return RowPrefix + a.WorkspaceID, a.Kind + "#" + a.ID }

// Arm sees to it that the deadlines fire which commits of a workspace have set and which are still pending, or all that are pending
// where there are no commits. It may be called again, and out of order. After an error it has to be.
func (k *Keeper) Arm(ctx context.Context, ws string, commits []engine.Commit) error {
	var from, to int64
	for _, c := range commits {
		sets, err := k.maySet(ctx, c)
		if err != nil {
			return fmt.Errorf("arm deadlines of %s: %w", ws, err)
		}
		if !sets {
			continue
		}
		if from == 0 || c.First < from {
			from = c.First
		}
		to = max(to, c.Last())
	}
	if len(commits) > 0 && to == 0 {
		return nil
	}
	var pending []workspace.Deadline
	var present []string
	err := k.c.Log.Read(ctx, ws, func(s *workspace.State) error {
		if len(commits) == 0 {
			present = s.Present()
		}
		for _, d := range s.Deadlines(k.c.Log.Waits()) {
			if len(commits) == 0 || from <= d.Set && d.Set <= to {
				pending = append(pending, d)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("arm deadlines of %s: %w", ws, err)
	}
	for _, d := range pending {
		if err := k.set(ctx, ws, d); err != nil {
			return err
		}
	}
	return k.watchAll(ctx, ws, present)
}

// maySet says whether a commit can set deadlines. The harnesses that may be away by it are watched.
func (k *Keeper) maySet(ctx context.Context, c engine.Commit) (sets bool, err error) {
	events, err := c.Decode()
	if err != nil {
		return false, fmt.Errorf("commit at %d: %w", c.First, err)
	}
	for _, e := range events {
		sets = sets || workspace.MaySetDeadline(e)
		if id := workspace.MayBeAway(e); id != "" && k.c.Watch != nil {
			if err := k.c.Watch.Left(ctx, c.Workspace, id); err != nil {
				return false, err
			}
		}
	}
	return sets, nil
}

// set writes a deadline's row, and then sets its alarm.
func (k *Keeper) set(ctx context.Context, ws string, d workspace.Deadline) error {
	a := Alarm{WorkspaceID: ws, Kind: d.Kind, ID: d.ID, Due: d.Due}
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	pk, sk := rowKey(a)
	if _, err := k.c.Rows.Put(ctx, engine.Row{PK: pk, SK: sk, Body: body, Due: d.Due}, engine.Always); err != nil {
		return fmt.Errorf("keep %s %s of %s: %w", d.Kind, d.ID, ws, err)
	}
	if err := k.c.Alarms.Set(ctx, a); err != nil {
		return fmt.Errorf("set an alarm for %s %s of %s: %w", d.Kind, d.ID, ws, err)
	}
	return nil
}

// Early is by how much an alarm may ring before its time and be waited for (WaitOut). Queues count whole seconds.
const Early = time.Second

// Fire does what comes of a deadline that is due, and nothing of one that is not, or not pending any more. After an error it has to be
// called again.
func (k *Keeper) Fire(ctx context.Context, a Alarm) error {
	if err := WaitOut(ctx, a.Due.Sub(k.c.Now())); err != nil {
		return err
	}
	if a.Kind == away || a.Kind == workspace.DueRestart { // of a harness that is not waited for any more is said what is true then (RST-9)
		if err := k.look(ctx, a.WorkspaceID); err != nil || a.Kind == away {
			return err
		}
	}
	pk, sk := rowKey(a)
	row, kept, err := k.c.Rows.Get(ctx, pk, sk)
	if err != nil {
		return fmt.Errorf("fire %s %s of %s: %w", a.Kind, a.ID, a.WorkspaceID, err)
	}
	before := k.c.Now()
	out, err := k.c.Log.Do(ctx, a.WorkspaceID, workspace.OfChips(a.WorkspaceID, &workspace.FireDraft{Kind: a.Kind, ID: a.ID}))
	if err != nil {
		return fmt.Errorf("fire %s %s of %s: %w", a.Kind, a.ID, a.WorkspaceID, err)
	}
	if !out.NothingToDo() {
		lag := out.Commit.TS.Sub(a.Due)
		k.c.Logger.InfoContext(ctx, "a deadline fired", "workspace_id", a.WorkspaceID, "kind", a.Kind, "id", a.ID,
			"seq", out.Commit.First, "late_ms", lag.Milliseconds())
		if k.c.Late != nil {
			k.c.Late(a.WorkspaceID, lag)
		}
	}
	var pending bool
	var d workspace.Deadline
	err = k.c.Log.Read(ctx, a.WorkspaceID, func(s *workspace.State) error {
		d, pending = s.Deadline(k.c.Log.Waits(), a.Kind, a.ID)
		return nil
	})
	if err != nil {
		return err
	}
	if pending {
		partly := !out.NothingToDo() && d.Set >= out.Commit.First // the rest is due at once
		if !partly && !d.Due.After(before) {                      // or it would ring at once, for ever
			return fmt.Errorf("fire %s %s of %s: it is due and still pending afterwards", a.Kind, a.ID, a.WorkspaceID)
		}
		// This was early, it was moved, or more is left than one decision does.
		return k.set(ctx, a.WorkspaceID, d)
	}
	if !kept {
		return nil
	}
	if _, err := k.c.Rows.Delete(ctx, pk, sk, engine.IfRev(row.Rev)); err != nil && !errors.Is(err, engine.ErrCondition) {
		return fmt.Errorf("forget %s %s of %s: %w", a.Kind, a.ID, a.WorkspaceID, err)
	}
	return nil
}

// WaitOut waits out what is left of the time until something is due, where that is Early at most.
func WaitOut(ctx context.Context, left time.Duration) error {
	if left <= 0 || left > Early {
		return nil
	}
	if !engine.Sleep(ctx, left) {
		return ctx.Err()
	}
	return nil
}

// Sweep fires a deadline that is due by its row and whose alarm did not ring; row is one that Rows.Due answered, its pk with RowPrefix.
func (k *Keeper) Sweep(ctx context.Context, row engine.Row) error {
	var a Alarm
	if err := json.Unmarshal(row.Body, &a); err != nil {
		return fmt.Errorf("read the deadline %s of %s: %w", row.SK, row.PK, err)
	}
	return k.Fire(ctx, a)
}
