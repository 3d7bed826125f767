package embedded_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/porttest"
)

var quiet = slog.New(slog.DiscardHandler)

func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rung := make(chan deadline.Alarm, 100)
		timers := embedded.NewTimers(func(_ context.Context, a deadline.Alarm) error {
			rung <- a
			return nil
		}, time.Now, quiet)
		defer timers.Stop()
		if late := porttest.Alarms(t, timers, rung); late > 0 {
			t.Errorf("%v late on a clock that waits for nobody", late)
		}
	})
}

// What fails is tried again, later each time; one that is stopped rings no more and leaves nothing running.
func TestTimersTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		timers := embedded.NewTimers(func(ctx context.Context, a deadline.Alarm) error {
			at = append(at, time.Since(began))
			if len(at) < 3 {
				return errors.New("busy")
			}
			return nil
		}, time.Now, quiet)
		set := func(id string, in time.Duration) error {
			return timers.Set(t.Context(), deadline.Alarm{WorkspaceID: "ws_1", Kind: "fork", ID: id, Due: began.Add(in)})
		}
		if err := errors.Join(set("evt_1", time.Minute), set("evt_1", time.Minute), set("evt_2", time.Hour)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(at) != 3 || at[0] != time.Minute || at[1] != 61*time.Second || at[2] != 63*time.Second {
			t.Errorf("fired at %v", at)
		}
		// It rang, so it may be set anew.
		if err := set("evt_1", time.Minute); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		timers.Stop()
		time.Sleep(2 * time.Hour)
		if len(at) != 4 {
			t.Errorf("fired %d times", len(at))
		}
		if set("evt_3", 0) == nil {
			t.Error("set though it is stopped")
		}
	})
}
