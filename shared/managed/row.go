package managed

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
)

const (
	// inline is how long a copy may be in its own row, in bytes: a row of 4 KB is read for one unit, and written whole for each change.
	inline = 3 << 10
	// part is how long one of the parts is that a longer copy is split into.
	part = 300 << 10
	// abandoned is when parts that were announced and do not count yet are nobody's any more: no request takes so long.
	abandoned = 2 * time.Minute
)

// row is a copy and what is asked of it.
type row struct {
	// Copy is the copy, as JSON, where it is short. Else it is in Parts.
	Copy  jsontext.Value `json:"copy,omitzero"`
	Parts *parts         `json:"parts,omitzero"`
	// Hash is the copy's, "" before the first.
	Hash string `json:"hash,omitzero"`
	// Announced are parts that are being written.
	Announced []parts `json:"announced,omitzero"`
	// Changes are those that wait or are untold, and the newest.
	Changes []change `json:"changes,omitzero"`
	// Compacted is when the context was compacted last, as the copy says.
	Compacted *protocol.Time `json:"compacted,omitzero"`
	// Stays are the stays of the copy's jobs, by job_id.
	Stays map[string]string `json:"stays,omitzero"`

	rev int64
}

// parts are rows that hold a copy, compressed.
type parts struct {
	Name  string        `json:"name"`
	Count int           `json:"count"`
	At    protocol.Time `json:"at"`
}

// change is something a person asked for.
type change struct {
	ID      string        `json:"id"`
	AskedBy string        `json:"asked_by"`
	Due     protocol.Time `json:"due"`
	State   string        `json:"state"`
	Message string        `json:"message,omitzero"`
	Reason  string        `json:"reason,omitzero"`
	// Told says that the log has the outcome.
	Told bool `json:"told,omitzero"`
}

// open says whether the change can still be answered.
func (c *change) open(now time.Time) bool {
	return c.State == protocol.ChangeWaiting && now.Before(c.Due.Time)
}

// forget leaves of the changes those that wait or are untold, and the newest.
func (r *row) forget() {
	last := len(r.Changes) - 1
	i := -1
	r.Changes = slices.DeleteFunc(r.Changes, func(c change) bool { i++; return c.Told && i < last })
}

// untold is how many changes wait, or are not in the log yet.
func (r *row) untold() (n int) {
	for _, c := range r.Changes {
		if !c.Told {
			n++
		}
	}
	return n
}

// due is when something is to be done about the row; zero for never.
func (r *row) due() (at time.Time) {
	for _, c := range r.Changes {
		if !c.Told && (at.IsZero() || c.Due.Before(at)) {
			at = c.Due.Time
		}
	}
	return at
}

func decodeRow(from engine.Row) (r row, err error) {
	if err := json.Unmarshal(from.Body, &r); err != nil {
		return r, fmt.Errorf("read the copy %s of %s: %w", from.SK, from.PK, err)
	}
	r.rev = from.Rev
	return r, nil
}

// get reads a copy's row; the zero row where there is none.
func (s *Service) get(ctx context.Context, p place) (row, error) {
	from, ok, err := s.c.Rows.Get(ctx, p.pk(), p.kind.Path)
	if err != nil || !ok {
		return row{}, err
	}
	return decodeRow(from)
}

// put writes a copy's row over the revision that was read, and fails with engine.ErrCondition where somebody else did.
func (s *Service) put(ctx context.Context, p place, r *row) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	cond := engine.Absent
	if r.rev > 0 {
		cond = engine.IfRev(r.rev)
	}
	r.rev, err = s.c.Rows.Put(ctx, engine.Row{PK: p.pk(), SK: p.kind.Path, Body: body, Due: r.due()}, cond)
	return err
}

// update changes a copy's row as do says, which is called again where somebody else wrote it meanwhile; false leaves it as it is.
func (s *Service) update(ctx context.Context, p place, do func(*row) (bool, error)) (row, error) {
	for try := range tries {
		if try > 0 {
			engine.Pause(ctx, try)
		}
		r, err := s.get(ctx, p)
		if err != nil {
			return r, err
		}
		if write, err := do(&r); err != nil || !write {
			return r, err
		}
		if err := s.put(ctx, p, &r); !errors.Is(err, engine.ErrCondition) {
			return r, err
		}
	}
	return row{}, fmt.Errorf("the copy %s of %s: %w", p.kind.Path, p.subject, engine.ErrBusy)
}

// copyOf answers the copy of a row, nil for none. Where its parts have gone it is read again with the row.
func (s *Service) copyOf(ctx context.Context, p place, r *row) (jsontext.Value, error) {
	for range tries {
		if r.Parts == nil {
			return r.Copy, nil
		}
		prefix := partsPrefix(p, r.Parts.Name)
		rows, err := s.c.Rows.Query(ctx, p.pk(), prefix, r.Parts.Count)
		if err != nil {
			return nil, err
		}
		var all []byte
		for _, row := range rows {
			if strings.HasPrefix(row.SK, prefix) {
				all = append(all, row.Body...)
			}
		}
		copy, err := io.ReadAll(flate.NewReader(bytes.NewReader(all)))
		if err == nil {
			return copy, nil
		}
		name := r.Parts.Name
		if *r, err = s.get(ctx, p); err != nil {
			return nil, err
		}
		if r.Parts != nil && r.Parts.Name == name {
			return nil, fmt.Errorf("the copy %s of %s cannot be read from its parts", p.kind.Path, p.subject)
		}
	}
	return nil, fmt.Errorf("the copy %s of %s: %w", p.kind.Path, p.subject, engine.ErrBusy)
}

func partsPrefix(p place, name string) string { return p.kind.Path + "/" + name + "/" }

// split compresses a copy and writes it in parts, after their name is in the row.
func (s *Service) split(ctx context.Context, p place, copy []byte) (parts, error) {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err == nil {
		_, err = w.Write(copy)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return parts{}, err
	}
	chunks := slices.Collect(slices.Chunk(packed.Bytes(), part))
	now := s.c.Now()
	in := parts{Name: s.newID("prt"), Count: len(chunks), At: protocol.At(now)}
	var left []parts
	_, err = s.update(ctx, p, func(r *row) (bool, error) {
		left = left[:0]
		r.Announced = slices.DeleteFunc(r.Announced, func(a parts) bool {
			old := now.Sub(a.At.Time) > abandoned
			if old {
				left = append(left, a)
			}
			return old
		})
		r.Announced = append(r.Announced, in)
		return true, nil
	})
	if err != nil {
		return in, err
	}
	for i, chunk := range chunks {
		if _, err := s.c.Rows.Put(ctx, engine.Row{PK: p.pk(), SK: partsPrefix(p, in.Name) + strconv.Itoa(100+i), Body: chunk}, engine.Absent); err != nil {
			return in, fmt.Errorf("write a part of the copy %s of %s: %w", p.kind.Path, p.subject, err)
		}
	}
	for _, a := range left {
		s.drop(ctx, p, a)
	}
	return in, nil
}

// drop deletes parts that do not count any more. What cannot be deleted is in nobody's way.
func (s *Service) drop(ctx context.Context, p place, gone parts) {
	for i := range gone.Count {
		if _, err := s.c.Rows.Delete(ctx, p.pk(), partsPrefix(p, gone.Name)+strconv.Itoa(100+i), engine.Always); err != nil {
			s.c.Logger.WarnContext(ctx, "a part of an old copy could not be deleted", "subject", p.subject, "kind", p.kind.Path, "error", err)
		}
	}
}
