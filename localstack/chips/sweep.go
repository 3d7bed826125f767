package main

import (
	"context"
	"time"

	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/settings"
	"github.com/chipschat/chips-aws/shared/sweep"
)

// newSweep is what the sweep function does, with what DynamoDB does by itself, and says how often it is done. Where the gateway sends
// no pings, the sweep does.
func (s *stack) newSweep(set settings.Settings, pings bool) (*sweep.Sweep, time.Duration) {
	every := 20 * time.Second
	beside := []func(context.Context) error{s.purge}
	if pings {
		every = min(every, set.Ping)
		beside = append(beside, session.NewKeepalive(s.sessions, session.KeepaliveConfig{
			Hearing: s.gateway, Every: set.Ping, Silent: set.Silent, Missed: 2 * every,
		}).Run)
	}
	return sweep.New(sweep.Config{
		Rows: s.table,
		Due: map[string]sweep.Handler{
			"X#":                  s.sessions.Overdue,
			deadline.RowPrefix:    s.keeper.Sweep,
			attachment.UploadRows: s.files.SweepUpload,
			attachment.BytesRows:  s.files.SweepBytes,
			managed.Rows:          s.managed.Sweep,
		},
		Beside: beside,
		Now:    time.Now,
		Log:    s.log,
	}), every
}

// sweep does from time to time what nobody else came to do.
func (s *stack) sweep() {
	ticks := time.NewTicker(s.sweepEvery)
	defer ticks.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-ticks.C:
		}
		if err := s.sweeper.Run(s.life); err != nil && s.life.Err() == nil {
			s.log.Error("a sweep failed", "error", err)
		}
	}
}

// purge deletes rows past their time, as DynamoDB does by itself.
func (s *stack) purge(ctx context.Context) error {
	_, err := s.table.Purge(ctx, time.Now())
	return err
}
