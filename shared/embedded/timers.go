package embedded

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
)

// Timers are deadline.Alarms within the process. They end with it; at the next start they are set anew by what the logs say is pending.
type Timers struct {
	fire func(context.Context, deadline.Alarm) error
	now  func() time.Time
	log  *slog.Logger
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	timers  map[timer]*time.Timer
	running sync.WaitGroup
	stopped bool
}

// timer is an alarm that can be compared.
type timer struct {
	workspace, kind, id string
	due                 int64
}

// NewTimers makes Timers that call fire; what fails is tried again.
func NewTimers(fire func(context.Context, deadline.Alarm) error, now func() time.Time, log *slog.Logger) *Timers {
	t := &Timers{fire: fire, now: now, log: log, timers: map[timer]*time.Timer{}}
	t.life, t.end = context.WithCancel(context.Background())
	return t
}

// Set has an alarm ring when it is due.
func (t *Timers) Set(ctx context.Context, a deadline.Alarm) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return errors.New("the timers are stopped")
	}
	key := timer{a.WorkspaceID, a.Kind, a.ID, a.Due.UnixNano()}
	if t.timers[key] != nil {
		return nil
	}
	t.timers[key] = time.AfterFunc(a.Due.Sub(t.now()), func() { t.ring(key, a) })
	return nil
}

// ring fires an alarm until it is through.
func (t *Timers) ring(key timer, a deadline.Alarm) {
	t.mu.Lock()
	delete(t.timers, key) // what is set from here on is to ring again
	if t.stopped {
		t.mu.Unlock()
		return
	}
	t.running.Add(1)
	t.mu.Unlock()
	defer t.running.Done()
	for pause := time.Second; ; pause = min(2*pause, 20*time.Second) {
		err := t.fire(t.life, a)
		if err == nil || t.life.Err() != nil {
			return
		}
		t.log.Error("a deadline did not fire and is tried again", "workspace_id", a.WorkspaceID, "kind", a.Kind, "id", a.ID, "error", err)
		select {
		case <-t.life.Done():
			return
		case <-time.After(pause):
		}
	}
}

// Stop lets nothing ring any more and waits for what does.
func (t *Timers) Stop() {
	t.mu.Lock()
	t.stopped = true
	for _, timer := range t.timers {
		timer.Stop()
	}
	t.mu.Unlock()
	t.end()
	t.running.Wait()
}
