package deadline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Sockets say who has a socket; *session.Sessions is one.
type Sockets interface {
	// Holders are the people and harnesses of a workspace that have a socket.
	Holders(ctx context.Context, workspace string) (map[string]bool, error)
}

// Watch sees to it that somebody looks whether a harness is away.
type Watch struct {
	Rows engine.Rows
	// Silent is how long a harness may have no socket before it reads away.
	Silent time.Duration
	Now    func() time.Time
	// Alarms, where there are any, ring in time. Without them the sweep comes, which looks once a minute.
	Alarms Alarms
}

// away is the kind of the rows and alarms of harnesses that may be away. Such a row is of one harness and such an alarm of a workspace, so
// that many that leave at once are one alarm, and are looked at together.
const away = "away"

// tick is to what the time of a look is rounded up.
const tick = 100 * time.Millisecond

// page is how many harnesses are said to be away at once, and writes how many of their rows are written at once.
const page, writes = 100, 16

// Left has a harness looked at once Silent from now, and no sooner, since somebody has just seen it: a socket of it is about to go, or it
// may have none. Called before the connection's row goes, whoever finds no connection finds this row.
func (w *Watch) Left(ctx context.Context, ws, harness string) error {
	due := w.Now().Add(w.Silent)
	if t := due.Truncate(tick); t.Before(due) {
		due = t.Add(tick)
	}
	return w.put(ctx, ws, harness, due, engine.Always)
}

func (w *Watch) put(ctx context.Context, ws, harness string, due time.Time, cond engine.Cond) error {
	a := Alarm{WorkspaceID: ws, Kind: away, Due: due}
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = w.Rows.Put(ctx, engine.Row{PK: RowPrefix + ws, SK: away + "#" + harness, Body: body, Due: due}, cond)
	if err == nil && w.Alarms != nil {
		err = w.Alarms.Set(ctx, a)
	}
	if err != nil {
		return fmt.Errorf("watch harness %s of %s: %w", harness, ws, err)
	}
	return nil
}

// watchAll watches the harnesses that read ok and have no socket, as after a process that saw theirs go and could tell nobody.
func (k *Keeper) watchAll(ctx context.Context, ws string, present []string) error {
	if k.c.Watch == nil || len(present) == 0 {
		return nil
	}
	held, err := k.c.Sockets.Holders(ctx, ws)
	if err != nil {
		return err
	}
	present = slices.DeleteFunc(present, func(id string) bool { return held[id] })
	return engine.Beside(len(present), writes, func(i int) error { return k.c.Watch.Left(ctx, ws, present[i]) })
}

// look says of a workspace's harnesses that are due to be looked at which are away. It asks for the sockets once they are due, and before it
// reads the rows: one that left in between has a newer row by then. And it asks for them again after it has written: a socket that opens
// has its row first and reads how its harness is afterwards, so one of the two sees the other.
func (k *Keeper) look(ctx context.Context, ws string) error {
	if k.c.Watch == nil {
		return nil
	}
	for after, more := away+"#", true; more; {
		var due []engine.Row
		now := k.c.Now()
		held, err := k.c.Sockets.Holders(ctx, ws)
		if err != nil {
			return err
		}
		rows, err := k.c.Rows.Query(ctx, RowPrefix+ws, after, page)
		if err != nil {
			return fmt.Errorf("read who may be away of %s: %w", ws, err)
		}
		more = len(rows) == page
		for _, row := range rows {
			if after = row.SK; !strings.HasPrefix(row.SK, away+"#") {
				more = false
				break
			}
			if !row.Due.After(now) {
				due = append(due, row)
			}
		}
		if err := k.lookAt(ctx, ws, due, held); err != nil {
			return err
		}
	}
	return nil
}

// lookAt looks at the harnesses of rows that are due, and has the rows go: last of all, and only where nobody wrote them meanwhile. One that
// has a socket and reads away is one of a look that was cut short.
func (k *Keeper) lookAt(ctx context.Context, ws string, due []engine.Row, held map[string]bool) error {
	if len(due) == 0 {
		return nil
	}
	var gone, back []string
	awaited := map[string]time.Time{}
	err := k.c.Log.Read(ctx, ws, func(s *workspace.State) error {
		for _, row := range due {
			id := harnessOf(row)
			switch until := s.Awaited(id, k.c.Log.Waits()); {
			case held[id]:
				if h := s.Harness(id); h != nil && h.Status == workspace.StatusAway {
					back = append(back, id)
				}
			case until.After(k.c.Now()):
				awaited[id] = until
			default:
				gone = append(gone, id)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(gone) > 0 {
		if err := k.sayAway(ctx, ws, gone); err != nil {
			return err
		}
	}
	if err := k.sayBack(ctx, ws, back); err != nil {
		return err
	}
	return engine.Beside(len(due), writes, func(i int) (err error) {
		row := due[i]
		if until := awaited[harnessOf(row)]; until.IsZero() {
			_, err = k.c.Rows.Delete(ctx, row.PK, row.SK, engine.IfRev(row.Rev))
		} else { // once its restart is not waited for any more, what is true then is said
			err = k.c.Watch.put(ctx, ws, harnessOf(row), until, engine.IfRev(row.Rev))
		}
		if err != nil && !errors.Is(err, engine.ErrCondition) {
			return fmt.Errorf("forget %s of %s: %w", row.SK, ws, err)
		}
		return nil
	})
}

func harnessOf(row engine.Row) string { return strings.TrimPrefix(row.SK, away+"#") }

// sayAway writes that harnesses are away, and takes it back of those that have a socket after all.
func (k *Keeper) sayAway(ctx context.Context, ws string, ids []string) error {
	out, err := k.c.Log.Do(ctx, ws, workspace.OfChips(ws, &workspace.AwayDraft{HarnessIDs: ids}))
	if err != nil {
		return fmt.Errorf("say who is away of %s: %w", ws, err)
	}
	if out.NothingToDo() {
		return nil
	}
	k.c.Logger.InfoContext(ctx, "harnesses are away", "workspace_id", ws, "number", len(out.Events), "seq", out.Commit.First)
	held, err := k.c.Sockets.Holders(ctx, ws)
	if err != nil {
		return err
	}
	var back []string
	for _, e := range out.Events {
		if d, ok := e.Data.(*protocol.HarnessStatusSet); ok && held[d.HarnessID] {
			back = append(back, d.HarnessID)
		}
	}
	return k.sayBack(ctx, ws, back)
}

// sayBack takes back that harnesses are away, of those that read so.
func (k *Keeper) sayBack(ctx context.Context, ws string, ids []string) error {
	for _, id := range ids {
		if _, err := k.c.Log.Do(ctx, ws, workspace.OfChips(ws, &workspace.BackDraft{HarnessID: id})); err != nil {
			return fmt.Errorf("say that harness %s of %s is back: %w", id, ws, err)
		}
	}
	return nil
}
