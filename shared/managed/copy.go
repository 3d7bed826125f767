package managed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// answer is what a copy says of changes that were asked.
type answer struct {
	Answers string `json:"answers"`
	Refuses *struct {
		EditID   string `json:"edit_id"`
		ChangeID string `json:"change_id"`
		Message  string `json:"message"`
		Reason   string `json:"reason"`
	} `json:"refuses"`
}

// fresh is a copy as it came and was cleaned.
type fresh struct {
	fields map[string]any
	body   []byte
	hash   string
	answer answer
}

// decode reads a copy and what it answers.
func (k *Kind) decode(body []byte) (f fresh, err error) {
	if err := readObject(body, &f.answer); err != nil {
		return f, err
	}
	if r := f.answer.Refuses; r != nil {
		switch {
		case (r.EditID == "") == (r.ChangeID == ""):
			return f, protocol.Refuse(protocol.InvalidRequest, "refuses names an edit_id or a change_id")
		case len(r.Message) > maxWords || len(r.Reason) > maxName:
			return f, protocol.Refuse(protocol.InvalidRequest, "refuses has %d bytes of message and %d of reason: %d and %d are the most", len(r.Message), len(r.Reason), maxWords, maxName)
		}
	}
	if f.fields, err = clean(k.copy, body); err != nil {
		return f, err
	}
	if k.agree != nil {
		if err := k.agree(f.fields); err != nil {
			return f, err
		}
	}
	f.body, err = json.Marshal(f.fields, json.Deterministic(true))
	sum := sha256.Sum256(f.body)
	f.hash = hex.EncodeToString(sum[:])
	return f, err
}

func readObject(body []byte, v any) error {
	if err := protocol.ReadObject(protocol.InvalidRequest, "the body", body, v); err != nil {
		return err
	}
	return nil
}

// clean reads a body as an object of a shape.
func clean(s shape, body []byte) (map[string]any, error) {
	var in map[string]any
	if len(body) == 0 {
		body = []byte("{}")
	}
	if err := readObject(body, &in); err != nil {
		return nil, err
	}
	out, bad := s("", in)
	if bad != nil {
		return nil, bad
	}
	return out.(map[string]any), nil
}

// Put keeps a harness's copy, whole, where it differs from the one before, and answers with it what it says it answers.
func (s *Service) Put(ctx context.Context, by workspace.Caller, subject, path string, body []byte) error {
	p := place{by.Workspace, subject, kindOf(subject, path)}
	if err := s.own(ctx, by, p); err != nil {
		return err
	}
	f, err := p.kind.decode(body)
	if err != nil {
		return err
	}
	before, err := s.get(ctx, p)
	if err != nil {
		return err
	}
	if err := s.sayCompacted(ctx, p, before, f.fields); err != nil {
		return err
	}
	var in *parts
	if len(f.body) > inline && before.Hash != f.hash {
		written, err := s.split(ctx, p, f.body)
		if err != nil {
			return err
		}
		in = &written
	}
	var old *parts
	r, err := s.update(ctx, p, func(r *row) (bool, error) {
		old = nil
		answered := r.take(f.answer, s.c.Now())
		if r.Hash == f.hash {
			return answered, nil
		}
		if in == nil && len(f.body) > inline { // another copy came meanwhile, and this one is the last word
			return false, fmt.Errorf("the copy %s of %s changed: %w", path, subject, engine.ErrBusy)
		}
		old = r.Parts
		r.Hash, r.Copy, r.Parts = f.hash, nil, in
		if in == nil {
			r.Copy = f.body
		} else {
			r.Announced = slices.DeleteFunc(r.Announced, func(a parts) bool { return a.Name == in.Name })
		}
		r.keepStays(f.fields, s)
		if at := lastCompaction(f.fields); at != nil {
			r.Compacted = at
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	if old != nil {
		s.drop(ctx, p, *old)
	}
	return s.tell(ctx, p, r)
}

// take decides the changes that a copy answers; false where it answers none that waits.
func (r *row) take(a answer, now time.Time) (some bool) {
	for i := range r.Changes {
		c := &r.Changes[i]
		switch refuses := a.Refuses; {
		case !c.open(now):
			continue
		case refuses != nil && (c.ID == refuses.EditID || c.ID == refuses.ChangeID):
			c.State, c.Message, c.Reason = protocol.ChangeRefused, refuses.Message, refuses.Reason
		case c.ID == a.Answers:
			c.State = protocol.ChangeDone
		default:
			continue
		}
		some = true
	}
	return some
}

// keepStays gives each job a stay that has none, and ends those of jobs that were left out.
func (r *row) keepStays(copy map[string]any, s *Service) {
	before := r.Stays
	r.Stays = nil
	for _, job := range objects(copy["jobs"]) {
		if r.Stays == nil {
			r.Stays = map[string]string{}
		}
		id := str(job, "job_id")
		if r.Stays[id] = before[id]; r.Stays[id] == "" {
			r.Stays[id] = s.newID("sty")
		}
	}
}

// lastCompaction is when a context was compacted last, nil where the copy does not say.
func lastCompaction(copy map[string]any) *protocol.Time {
	at, err := time.Parse(time.RFC3339, str(sub(copy, "last"), "at"))
	if err != nil {
		return nil
	}
	t := protocol.At(at)
	return &t
}

// sayCompacted has the agent's room say that its context was compacted, where there was a copy before and this one's last compaction is
// newer: once for each, by its time.
func (s *Service) sayCompacted(ctx context.Context, p place, before row, copy map[string]any) error {
	at := lastCompaction(copy)
	if at == nil || before.Hash == "" || before.Compacted != nil && !at.After(before.Compacted.Time) {
		return nil
	}
	last := sub(copy, "last")
	from, _ := last["from"].(float64)
	to, _ := last["to"].(float64)
	key := "compacted " + p.subject + " " + at.UTC().Format(time.RFC3339Nano)
	return s.system(ctx, p.ws, key, &workspace.CompactedDraft{AgentID: p.subject, From: int64(from), To: int64(to)})
}
