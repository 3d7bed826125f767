package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/client"
)

// replay fills the log, so that catching up is the replay function's work, and has two sockets catch up while it grows on.
func (t *town) replay(ctx context.Context) error {
	if err := t.crowd(ctx, "before", 4, 75); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var beginning int64
	heard := []*listener{t.listeners["Arjun"], t.listeners["Arjun again"], nil, nil}
	errs := make([]error, len(heard)+1)
	var all sync.WaitGroup
	for i := 2; i < len(heard); i++ {
		all.Go(func() { heard[i], errs[i] = listen(ctx, t.web, fmt.Sprint("replay ", i), t.asArjun, &beginning) })
	}
	all.Go(func() { errs[len(heard)] = t.crowd(ctx, "during", 2, 15) })
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	want, err := t.log(ctx)
	if err != nil {
		return err
	}
	for _, l := range heard {
		if _, err := l.await(ctx, want[len(want)-1]); err != nil {
			return err
		}
		got, expected := l.seqs(), want
		if l == t.listeners[l.name] { // who did not start from the beginning
			expected = want[slices.Index(want, got[0]):]
		}
		if !slices.Equal(got, expected) {
			return fmt.Errorf("%s was sent %d events that are not the log's %d: %v", l.name, len(got), len(expected), got)
		}
		if n := l.Repeats(); n != 0 {
			return fmt.Errorf("%s was sent %d events twice", l.name, n)
		}
	}
	return nil
}

// crowd has writers side by side write messages over HTTP.
func (t *town) crowd(ctx context.Context, name string, writers, each int) error {
	errs := make([]error, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := 0; i < each && errs[w] == nil; i++ {
				text := fmt.Sprintf("%s-%d-%d", name, w, i)
				message := map[string]string{"type": "message.post", "space_id": t.room, "text": text, "idempotency_key": text}
				errs[w] = t.as(t.asPriya).Do(ctx, http.MethodPost, "/v1/events", message, nil)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// log reads the seqs of all that Arjun may see.
func (t *town) log(ctx context.Context) (seqs []int64, err error) {
	for since := int64(0); ; {
		page, err := t.arjun().Events(ctx, client.EventsQuery{Since: since, Limit: 500})
		if err != nil || page.LastSeq <= since {
			return seqs, err
		}
		for _, raw := range page.Events {
			var e struct {
				Seq int64 `json:"seq"`
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				return nil, err
			}
			seqs = append(seqs, e.Seq)
		}
		since = page.LastSeq
	}
}
