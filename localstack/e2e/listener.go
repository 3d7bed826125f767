package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/client"
)

// patience is how long anything may take: a cold start of several functions on a small machine, mostly.
const patience = 30 * time.Second

// listener is a participant with a socket who keeps what comes.
type listener struct {
	*client.Client
	name string

	mu     sync.Mutex
	events []client.Event
	lost   error
	change chan struct{} // closed and replaced whenever something came
}

// listen opens a socket that hears everything after since, nil for what comes from now on, and waits until it has asked for it.
func listen(ctx context.Context, web *http.Client, name string, who client.Credential, since *int64) (*listener, error) {
	l := &listener{name: name, change: make(chan struct{})}
	subscribed := make(chan struct{})
	var once sync.Once
	l.Client = client.New(client.Config{
		URL: host, Credential: who, Name: "e2e", Accepts: []string{"events"}, Since: since, HTTP: web,
		OnEvent: func(_ context.Context, e client.Event) { l.note(func() { l.events = append(l.events, e) }) },
		OnState: func(s client.State, err error) {
			switch s {
			case client.Subscribed:
				once.Do(func() { close(subscribed) })
			case client.Lost:
				l.note(func() { l.lost = err })
			}
		},
	})
	l.API.HTTP = web
	go func() {
		if err := l.Run(ctx); err != nil {
			l.note(func() { l.lost = err })
		}
	}()
	select {
	case <-subscribed:
		return l, nil
	case <-time.After(patience):
		l.mu.Lock()
		defer l.mu.Unlock()
		return nil, fmt.Errorf("%s has no subscription: %w", name, l.lost)
	}
}

func (l *listener) note(what func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what()
	close(l.change)
	l.change = make(chan struct{})
}

// await waits for the event with a seq.
func (l *listener) await(ctx context.Context, seq int64) (client.Event, error) {
	return l.find(ctx, fmt.Sprint(seq), func(e client.Event) bool { return e.Seq == seq })
}

// find waits for the first event that is the one.
func (l *listener) find(ctx context.Context, what string, is func(client.Event) bool) (client.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		l.mu.Lock()
		change, lost := l.change, l.lost
		i := slices.IndexFunc(l.events, is)
		var found client.Event
		if i >= 0 {
			found = l.events[i]
		}
		l.mu.Unlock()
		if i >= 0 {
			return found, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return found, fmt.Errorf("%s was not sent %s: %w", l.name, what, errors.Join(ctx.Err(), lost))
		}
	}
}

// seqs are those of all that came.
func (l *listener) seqs() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []int64
	for _, e := range l.events {
		all = append(all, e.Seq)
	}
	return all
}
