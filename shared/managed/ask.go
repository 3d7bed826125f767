package managed

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// maxWaiting is how many changes of one copy may wait at once.
const maxWaiting = 16

// Asked is the answer to a change that waits: its id, under the name that it goes by.
type Asked struct {
	EditID   string `json:"edit_id,omitzero"`
	ChangeID string `json:"change_id,omitzero"`
}

// Ask has a person's change wait, and sends the harness its frame. of is what the path names, a job, "" where it names nothing. No socket
// took the frame: then it is refused, and nothing waits.
func (s *Service) Ask(ctx context.Context, by workspace.Caller, subject, path, askPath, of string, body []byte) (Asked, error) {
	p := place{by.Workspace, subject, kindOf(subject, path)}
	ask := p.kind.Asks[slices.IndexFunc(p.kind.Asks, func(a Ask) bool { return a.Path == askPath })]
	harness, granted, err := s.grant(ctx, p, func(st *workspace.State) *protocol.Error { return st.MayChangeManaged(by, subject) })
	if err != nil {
		return Asked{}, err
	}
	if !granted {
		return Asked{}, protocol.Refuse(protocol.InvalidRequest, "the harness was not granted %s", p.kind.Capability)
	}
	wish, err := clean(ask.wish, body)
	if err != nil {
		return Asked{}, err
	}
	if listens, err := s.c.Sockets.Listens(ctx, p.ws, harness, p.kind.Accepts); err != nil || !listens {
		return Asked{}, orAway(err)
	}
	now := s.c.Now()
	c := change{ID: s.newID(ask.prefix), AskedBy: by.ID, Due: protocol.At(now.Add(s.c.Log.Waits().Managed)), State: protocol.ChangeWaiting}
	if _, err := s.update(ctx, p, func(r *row) (bool, error) {
		if err := s.offers(ctx, p, r, ask, wish, of); err != nil {
			return false, err
		}
		r.forget()
		if r.untold() >= maxWaiting {
			return false, protocol.Refuse(protocol.InvalidRequest, "%d changes wait already, the most at once", maxWaiting)
		}
		r.Changes = append(r.Changes, c)
		return true, nil
	}); err != nil {
		return Asked{}, err
	}
	frame, err := ask.frame(p, c, wish, of, protocol.At(now))
	if err != nil {
		return Asked{}, err
	}
	took, err := s.c.Sockets.Tell(ctx, p.ws, harness, p.kind.Accepts, frame)
	if err != nil || took == 0 {
		if uerr := s.unask(ctx, p, c.ID); uerr != nil {
			return Asked{}, uerr
		}
		return Asked{}, orAway(err)
	}
	s.arm(ctx, p, c)
	if ask.prefix == protocol.PrefixEdit {
		return Asked{EditID: c.ID}, nil
	}
	return Asked{ChangeID: c.ID}, nil
}

// orAway refuses what would go nowhere, unless something went wrong.
func orAway(err error) error {
	if err != nil {
		return err
	}
	return protocol.Refuse(protocol.InvalidRequest, "the harness is away: no socket of it listens")
}

// offers refuses what the copy does not offer.
func (s *Service) offers(ctx context.Context, p place, r *row, ask Ask, wish map[string]any, of string) error {
	body, err := s.copyOf(ctx, p, r)
	if err != nil {
		return err
	}
	if body == nil {
		return protocol.Refuse(protocol.InvalidRequest, "the harness has not said yet what there is to change")
	}
	var copy map[string]any
	if err := json.Unmarshal(body, &copy); err != nil {
		return fmt.Errorf("read the copy %s of %s: %w", p.kind.Path, p.subject, err)
	}
	if err := ask.allow(copy, wish, of); err != nil {
		return err
	}
	return nil
}

// frame is what the harness is sent.
func (a Ask) frame(p place, c change, wish map[string]any, of string, at protocol.Time) ([]byte, error) {
	f := map[string]any{"frame": a.Frame, idField(a.prefix): c.ID, "asked_by": c.AskedBy, "asked_at": at}
	maps.Copy(f, wish)
	if !p.kind.OfHarness {
		f["agent_id"] = p.subject
	}
	if of != "" {
		f["job_id"] = of
	}
	return json.Marshal(f, json.Deterministic(true))
}

// unask takes a change back that no socket was sent.
func (s *Service) unask(ctx context.Context, p place, id string) error {
	ctx = context.WithoutCancel(ctx)
	_, err := s.update(ctx, p, func(r *row) (bool, error) {
		r.Changes = slices.DeleteFunc(r.Changes, func(c change) bool { return c.ID == id })
		return true, nil
	})
	return err
}

// arm has an alarm ring when a change's time is over. Where none can be set the row is found by when it is due.
func (s *Service) arm(ctx context.Context, p place, c change) {
	if s.c.Alarms == nil {
		return
	}
	a := deadline.Alarm{WorkspaceID: p.ws, Kind: AlarmKind, ID: p.subject + "/" + p.kind.Path, Due: c.Due.Time}
	if err := s.c.Alarms.Set(ctx, a); err != nil {
		s.c.Logger.WarnContext(ctx, "no alarm could be set for a change", "workspace_id", p.ws, "id", c.ID, "error", err)
	}
}

// View is a copy as it is shown.
type View struct {
	// Copy is nil before the first.
	Copy jsontext.Value `json:"copy"`
	// Away says that no socket of the harness listens.
	Away bool `json:"away"`
	// Change is the newest that was asked for.
	Change *Change `json:"change,omitzero"`
}

// Change is what became of a change.
type Change struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Message string `json:"message,omitzero"`
	Reason  string `json:"reason,omitzero"`
}

// Read answers a copy to who may see it. One that the harness is not granted is not there. The copy and its change are as they are now; who
// may see it, and whether somebody listens, is told as it was up to three seconds ago.
func (s *Service) Read(ctx context.Context, by workspace.Caller, subject, path string) (View, error) {
	v, _, err := s.read(ctx, by, place{by.Workspace, subject, kindOf(subject, path)})
	return v, err
}

func (s *Service) read(ctx context.Context, by workspace.Caller, p place) (v View, r row, err error) {
	var harness string
	err = s.c.Log.ReadRecent(ctx, p.ws, func(st *workspace.State) error {
		if err := st.MayReadManaged(by, p.subject); err != nil {
			return err
		}
		if harness = st.HarnessOf(p.subject); !st.Declares(harness, p.kind.Capability) {
			return protocol.Refuse(protocol.NotFound, "the harness was not granted %s", p.kind.Capability)
		}
		return nil
	})
	if err != nil {
		return v, r, err
	}
	if r, err = s.get(ctx, p); err != nil {
		return v, r, err
	}
	if v.Copy, err = s.copyOf(ctx, p, &r); err != nil {
		return v, r, err
	}
	if n := len(r.Changes); n > 0 {
		c := r.Changes[n-1]
		if v.Change = (&Change{c.ID, c.State, c.Message, c.Reason}); c.State == protocol.ChangeWaiting && !c.open(s.c.Now()) {
			v.Change.State = protocol.ChangeMissed
		}
	}
	v.Away, err = s.c.Sockets.Away(ctx, p.ws, harness, p.kind.Accepts)
	return v, r, err
}
