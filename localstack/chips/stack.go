package main

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/chipschat/chips-aws/localstack/gateway"
	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/fanout"
	"github.com/chipschat/chips-aws/shared/httpapi"
	"github.com/chipschat/chips-aws/shared/managed"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/settings"
	"github.com/chipschat/chips-aws/shared/sweep"
)

// stack is all of Chips in one process, wired as template.yaml wires it on AWS: the gateway in front of the functions' handlers, the
// table's feed in place of its stream, goroutines in place of the replay and sweep functions.
type stack struct {
	table    *embedded.Table
	feed     *embedded.Feed
	gateway  *gateway.Gateway
	sessions *session.Sessions
	fanout   *fanout.Fanout
	keeper   *deadline.Keeper
	files    *attachment.Service
	managed  *managed.Service
	timers   *embedded.Timers
	handler  http.Handler
	log      *slog.Logger

	sweeper    *sweep.Sweep
	sweepEvery time.Duration

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup
}

// newStack wires everything; start sets it going.
func newStack(table *embedded.Table, blobs *embedded.Blobs, url string, set settings.Settings, adminToken, mode string, log *slog.Logger) *stack {
	s := &stack{table: table, log: log}
	s.life, s.end = context.WithCancel(context.Background())

	front := gateway.Config{
		Log: log, Now: time.Now, Ping: set.Ping, Silent: set.Silent, BacklogFrames: set.BacklogFrames, Faithful: mode == "faithful",
	}
	if mode != "faithful" {
		front.BodyLimit = attachment.MaxBytes + 1 // one byte more is for the API to refuse
	}
	if mode == "shuffled" {
		seed := rand.Uint64()
		log.Info("frames are shuffled", "seed", seed)
		front.Shuffle = rand.New(rand.NewPCG(seed, 0))
	}
	s.gateway = gateway.New(front)

	core := engine.New(table, engine.Options{Now: time.Now, Waits: set.Waits, Prices: set.Prices})
	credentials := auth.New(auth.Config{
		Rows: table, AdminToken: adminToken, PersonKeys: set.PersonKeys, AcceptURLToken: set.AcceptURLToken,
		TicketTTL: set.TicketTTL, Now: time.Now, Log: log,
	})
	s.files = attachment.New(attachment.Config{
		Rows: table, Log: core, Blobs: blobs, Credentials: credentials, URL: func(context.Context) (string, error) { return url, nil },
		URLFor: set.AttachmentURL, Now: time.Now, Logger: log,
	})
	workspaces := s.files.Engine(core)
	s.timers = embedded.NewTimers(func(ctx context.Context, a deadline.Alarm) error { return s.managed.FireOr(s.keeper.Fire)(ctx, a) }, time.Now, log)
	watch := &deadline.Watch{Rows: table, Silent: set.Silent, Now: time.Now, Alarms: s.timers}
	s.sessions = session.New(session.Config{
		Engine: workspaces, Rows: table, Push: s.gateway, Replays: s, Credentials: credentials, Files: s.files,
		Limits:    session.Limits{EventsPerFrame: set.EventsPerFrame},
		Server:    protocol.Server{Name: settings.ServerName, Version: settings.Version()},
		Unordered: mode == "shuffled", PingFrames: front.Faithful, Left: watch.Left, Now: time.Now, Log: log,
	})
	s.keeper = deadline.New(deadline.Config{
		Log: workspaces, Rows: table, Alarms: s.timers, Watch: watch, Sockets: s.sessions, Now: time.Now, Logger: log,
	})
	s.managed = managed.New(managed.Config{Rows: table, Log: workspaces, Sockets: s.sessions, Alarms: s.timers, Now: time.Now, Logger: log})
	s.sweeper, s.sweepEvery = s.newSweep(set, front.Faithful)
	s.fanout = fanout.New(fanout.Config{
		Log: workspaces, Connections: s.sessions, Rows: table, Push: s.gateway, Deadlines: s.keeper, Files: s.files, Now: time.Now, Logger: log,
	})
	api := httpapi.New(httpapi.Config{
		Engine: workspaces, Auth: credentials, Sessions: s.sessions, Files: s.files, Managed: s.managed, Log: log, Now: time.Now,
		Version: settings.Version(), Origins: set.AllowedOrigins,
	})
	s.handler = s.gateway.Handler(gateway.Handlers{
		Authorize: apigw.Authorize(credentials, log),
		Socket:    apigw.Socket(s.sessions, log),
		HTTP:      apigw.HTTP(api),
	})
	s.feed = table.Feed()
	return s
}

// ringers is how many workspaces are fanned out side by side; a ring waits for the slowest socket of its workspace.
const ringers = 16

// start runs what runs beside requests.
func (s *stack) start() {
	s.running.Go(func() { s.feed.Run(s.life, ringers, s.ring) })
	s.running.Go(func() {
		s.rearm() // before anybody goes by rows that another process left
		s.sweep()
	})
}

// stop closes the sockets, lets what is under way finish as long as ctx goes, and ends the rest.
func (s *stack) stop(ctx context.Context) {
	if err := s.gateway.Stop(ctx); err != nil {
		s.log.Warn("some sockets did not close in time", "error", err)
	}
	s.end()
	s.running.Wait()
	s.timers.Stop()
}

// ring is the doorbell. A workspace whose ring fails is rung again until it is through: there is no stream that would.
func (s *stack) ring(ctx context.Context, c embedded.Change) {
	pause := 50 * time.Millisecond
	for commits := c.Commits; ; commits = nil {
		err := s.fanout.Ring(ctx, c.Workspace, commits)
		if err == nil || ctx.Err() != nil {
			return
		}
		s.log.Error("a workspace's fan-out failed and is tried again", "workspace_id", c.Workspace, "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(rand.N(pause)):
			pause = min(2*pause, 5*time.Second)
		}
	}
}

// rearm sets the timers of everything that was pending when the process ended last. It goes by the logs and not by the rows of deadlines:
// what was committed in the last moment has no row yet, and harnesses whose sockets ended with the process have their time to come back.
func (s *stack) rearm() {
	workspaces, err := s.table.Workspaces(s.life)
	if err != nil && s.life.Err() == nil {
		s.log.Error("deadlines could not be set anew", "error", err)
	}
	for _, ws := range workspaces {
		if err := s.keeper.Arm(s.life, ws, nil); err != nil && s.life.Err() == nil {
			s.log.Error("a workspace's deadlines could not be set anew", "workspace_id", ws, "error", err)
		}
	}
	if err := s.managed.Rearm(s.life); err != nil && s.life.Err() == nil {
		s.log.Error("the alarms of managed changes could not be set anew", "error", err)
	}
}

// Start runs a replay beside the frame that asked for it.
func (s *stack) Start(_ context.Context, job session.Job) error {
	s.running.Go(func() {
		if err := s.sessions.Replay(s.life, job); err != nil && s.life.Err() == nil {
			s.log.Error("a replay failed", "workspace_id", job.Workspace, "connection", job.Connection, "error", err)
		}
	})
	return nil
}
