package managed

import (
	"context"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// tell writes the outcomes of a row into the log that it does not have yet, each once under the change's id, and notes that it has them.
func (s *Service) tell(ctx context.Context, p place, r row) error {
	told := map[string]bool{}
	for _, c := range r.Changes {
		if c.State == protocol.ChangeWaiting || c.Told {
			continue
		}
		e := &protocol.ManagedAnswered{Kind: p.kind.Capability, State: c.State, Message: c.Message, Reason: c.Reason, AskedBy: c.AskedBy}
		if protocol.PrefixOf(c.ID) == protocol.PrefixEdit {
			e.EditID = c.ID
		} else {
			e.ChangeID = c.ID
		}
		if !p.kind.OfHarness {
			e.AgentID = p.subject
		}
		if err := s.c.Log.Read(ctx, p.ws, func(st *workspace.State) error { e.HarnessID = st.HarnessOf(p.subject); return nil }); err != nil {
			return err
		}
		if err := s.system(ctx, p.ws, c.ID, e); err != nil {
			return err
		}
		told[c.ID] = true
	}
	if len(told) == 0 {
		return nil
	}
	_, err := s.update(ctx, p, func(r *row) (bool, error) {
		for i := range r.Changes {
			r.Changes[i].Told = r.Changes[i].Told || told[r.Changes[i].ID]
		}
		r.forget()
		return true, nil
	})
	return err
}

// settle decides the changes of a copy that nobody has answered in their time, and tells what is untold.
func (s *Service) settle(ctx context.Context, p place) error {
	r, err := s.update(ctx, p, func(r *row) (missed bool, err error) {
		now := s.c.Now()
		for i := range r.Changes {
			if c := &r.Changes[i]; c.State == protocol.ChangeWaiting && !c.open(now) {
				c.State, missed = protocol.ChangeMissed, true
			}
		}
		return missed, nil
	})
	if err != nil {
		return err
	}
	return s.tell(ctx, p, r)
}

// Sweep settles a copy's row that is due; row is one that Rows.Due answered, its pk with Rows.
func (s *Service) Sweep(ctx context.Context, due engine.Row) error {
	p, ok := placeOf(due)
	if !ok {
		return nil
	}
	return s.settle(ctx, p)
}

func placeOf(from engine.Row) (place, bool) {
	ws, subject, _ := strings.Cut(strings.TrimPrefix(from.PK, Rows), "#")
	p := place{ws, subject, kindOf(subject, from.SK)}
	return p, p.kind != nil
}

// FireOr is what rings alarms: those of changes are settled here, all others go to fire.
func (s *Service) FireOr(fire func(context.Context, deadline.Alarm) error) func(context.Context, deadline.Alarm) error {
	return func(ctx context.Context, a deadline.Alarm) error {
		if a.Kind != AlarmKind {
			return fire(ctx, a)
		}
		left := a.Due.Sub(s.c.Now())
		if left > deadline.Early { // a queue holds nothing back for so long
			return s.c.Alarms.Set(ctx, a)
		}
		if err := deadline.WaitOut(ctx, left); err != nil {
			return err
		}
		subject, path, _ := strings.Cut(a.ID, "/")
		if p := (place{a.WorkspaceID, subject, kindOf(subject, path)}); p.kind != nil {
			return s.settle(ctx, p)
		}
		return nil
	}
}

// Rearm sets the alarms anew of all changes that wait, where alarms end with the process.
func (s *Service) Rearm(ctx context.Context) error {
	for shard := range engine.DueShards {
		rows, err := s.c.Rows.Due(ctx, shard, s.c.Now().Add(24*time.Hour), 1000)
		if err != nil {
			return err
		}
		for _, due := range rows {
			p, ok := placeOf(due)
			if !ok || !strings.HasPrefix(due.PK, Rows) {
				continue
			}
			r, err := decodeRow(due)
			if err != nil {
				return err
			}
			for _, c := range r.Changes {
				if !c.Told {
					s.arm(ctx, p, c)
				}
			}
		}
	}
	return nil
}
