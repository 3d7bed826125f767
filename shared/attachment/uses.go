package attachment

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
)

func bytesPK(sum string) string { return BytesRows + sum }

// generation is which storing of some bytes is in use.
type generation struct {
	N int `json:"n,omitzero"`
	// Ended says that nothing uses it and nothing ever will.
	Ended bool `json:"ended,omitzero"`
}

// key is where the bytes of a generation are.
func (g generation) key(sum string) string {
	if g.N == 0 {
		return "files/" + sum
	}
	return "files/" + sum + "." + strconv.Itoa(g.N)
}

// endedFor is how long it is remembered that a generation ended: longer than any delete of its bytes can be on its way.
const endedFor = 30 * 24 * time.Hour

// readGeneration reads the generation of some bytes, and its row.
func (s *Service) readGeneration(ctx context.Context, sum string) (g generation, row engine.Row, ok bool, err error) {
	row, ok, err = s.c.Rows.Get(ctx, bytesPK(sum), only)
	if err != nil {
		return g, row, false, fmt.Errorf("read bytes %s: %w", sum, err)
	}
	if ok {
		if err := json.Unmarshal(row.Body, &g); err != nil {
			return g, row, false, fmt.Errorf("decode bytes %s: %w", sum, err)
		}
	}
	return g, row, ok, nil
}

func (s *Service) putGeneration(ctx context.Context, sum string, g generation, due, expires time.Time, cond engine.Cond) (int64, error) {
	body, err := json.Marshal(g)
	if err != nil {
		return 0, err
	}
	rev, err := s.c.Rows.Put(ctx, engine.Row{PK: bytesPK(sum), SK: only, Body: body, Due: due, Expires: expires}, cond)
	if err != nil {
		return 0, fmt.Errorf("write bytes %s: %w", sum, err)
	}
	return rev, nil
}

// keep stores bytes for a use, and answers their key. When it fails the use may stand; it is taken away by release.
func (s *Service) keep(ctx context.Context, sum, use string, body []byte) (string, error) {
	if _, err := s.c.Rows.Put(ctx, engine.Row{PK: bytesPK(sum), SK: use, Body: []byte("{}")}, engine.Always); err != nil {
		return "", fmt.Errorf("write use of bytes %s: %w", sum, err)
	}
	for try := range tries {
		if try > 0 {
			engine.Pause(ctx, try)
		}
		g, row, ok, err := s.readGeneration(ctx, sum)
		if err != nil {
			return "", err
		}
		cond := engine.Absent
		if ok {
			cond = engine.IfRev(row.Rev)
		}
		if g.Ended {
			// Who ended it may have died before its bytes were gone; after this nobody knows of them.
			if !row.Due.IsZero() {
				if err := s.c.Blobs.Delete(ctx, g.key(sum)); err != nil {
					return "", fmt.Errorf("delete bytes %s: %w", g.key(sum), err)
				}
			}
			g = generation{N: g.N + 1}
		}
		// Also where nothing changes: whoever is about to end it finds it touched.
		_, err = s.putGeneration(ctx, sum, g, time.Time{}, time.Time{}, cond)
		if errors.Is(err, engine.ErrCondition) {
			continue
		}
		if err != nil {
			return "", err
		}
		if err := s.c.Blobs.Put(ctx, g.key(sum), body); err != nil {
			return "", fmt.Errorf("store bytes %s: %w", g.key(sum), err)
		}
		return g.key(sum), nil
	}
	return "", fmt.Errorf("bytes %s: %w", sum, engine.ErrBusy)
}

// release takes a use away, and the bytes where it was the last. It may be called again, however far it came.
func (s *Service) release(ctx context.Context, sum, use string) error {
	if _, err := s.c.Rows.Delete(ctx, bytesPK(sum), use, engine.Always); err != nil {
		return fmt.Errorf("delete use of bytes %s: %w", sum, err)
	}
	for try := range tries {
		if try > 0 {
			engine.Pause(ctx, try)
		}
		g, row, ok, err := s.readGeneration(ctx, sum)
		if err != nil || !ok || g.Ended {
			return err
		}
		others, err := s.c.Rows.Query(ctx, bytesPK(sum), only, 1)
		if err != nil {
			return fmt.Errorf("read uses of bytes %s: %w", sum, err)
		}
		if len(others) > 0 {
			return nil
		}
		g.Ended = true
		rev, err := s.putGeneration(ctx, sum, g, s.c.Now(), time.Time{}, engine.IfRev(row.Rev))
		if errors.Is(err, engine.ErrCondition) {
			continue
		}
		if err != nil {
			return err
		}
		return s.bury(ctx, sum, g, rev)
	}
	return fmt.Errorf("bytes %s: %w", sum, engine.ErrBusy)
}

// bury deletes the bytes of an ended generation, and notes that they are gone.
func (s *Service) bury(ctx context.Context, sum string, g generation, rev int64) error {
	if err := s.c.Blobs.Delete(ctx, g.key(sum)); err != nil {
		return fmt.Errorf("delete bytes %s: %w", g.key(sum), err)
	}
	_, err := s.putGeneration(ctx, sum, g, time.Time{}, s.c.Now().Add(endedFor), engine.IfRev(rev))
	if errors.Is(err, engine.ErrCondition) { // the next generation began meanwhile
		return nil
	}
	return err
}
