package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/centrifugal/centrifuge-go"
)

const (
	centrifugoVersion = "v6.9.1"
	centrifugoName    = "Centrifugo " + centrifugoVersion + ", memory engine (not durable)"
	historyPage       = 1000
)

// centrifugo measures Centrifugo.
func centrifugo(ctx context.Context, o options, cache, dir string) ([]result, error) {
	program, err := install(ctx, cache, "centrifugo", "github.com/centrifugal/centrifugo/v6", centrifugoVersion)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	room := map[string]any{
		"name": "room", "history_size": 200_000, "history_ttl": "1h", "force_recovery": true,
		"allow_publish_for_client": true, "allow_subscribe_for_client": true, "allow_history_for_client": true,
		"allow_publish_for_anonymous": true, "allow_subscribe_for_anonymous": true, "allow_history_for_anonymous": true,
	}
	config, err := json.Marshal(map[string]any{
		"http_server": map[string]any{"address": "127.0.0.1", "port": port},
		"log":         map[string]any{"level": "warn"},
		"usage_stats": map[string]any{"disabled": true},
		"client":      map[string]any{"allow_anonymous_connect_without_token": true, "allowed_origins": []string{"*"}, "history_max_publication_limit": historyPage},
		"channel":     map[string]any{"namespaces": []any{room}},
	})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "centrifugo.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	c := &centrifugoPeer{o: o, url: fmt.Sprintf("ws://127.0.0.1:%d/connection/websocket", port)}
	defer c.hangUp()
	err = with(ctx, port, filepath.Join(dir, "centrifugo.log"), func() error {
		for _, step := range []func(context.Context) error{c.deliver1, c.deliver100, c.oneChannel, c.manyChannels, c.replay} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}, program, "-c", file)
	return c.results, err
}

type centrifugoPeer struct {
	o       options
	url     string
	conns   []*centrifuge.Client
	results []result
}

func (p *centrifugoPeer) hangUp() {
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// connect opens a connection and waits until it stands.
func (p *centrifugoPeer) connect(ctx context.Context) (*centrifuge.Client, error) {
	c := centrifuge.NewJsonClient(p.url, centrifuge.Config{MaxServerPingDelay: time.Minute})
	p.conns = append(p.conns, c)
	done := make(chan struct{})
	c.OnConnected(func(centrifuge.ConnectedEvent) { close(done) })
	if err := c.Connect(); err != nil {
		return nil, err
	}
	return c, wait(ctx, done, "a connection")
}

func wait(ctx context.Context, done <-chan struct{}, what string) error {
	select {
	case <-done:
		return nil
	case <-time.After(10 * time.Second):
		return errors.New(what + " did not come about")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func publishIn(c *centrifuge.Client, channel string) func(context.Context, []byte) error {
	return func(ctx context.Context, data []byte) error {
		_, err := c.Publish(ctx, channel, data)
		return err
	}
}

func (p *centrifugoPeer) deliver1(ctx context.Context) error   { return p.deliver(ctx, 1) }
func (p *centrifugoPeer) deliver100(ctx context.Context) error { return p.deliver(ctx, 100) }

func (p *centrifugoPeer) deliver(ctx context.Context, subscribers int) error {
	defer p.hangUp()
	channel := fmt.Sprintf("room:deliver%d", subscribers)
	writer, err := p.connect(ctx)
	if err != nil {
		return err
	}
	l := &loop{publish: publishIn(writer, channel), subscribers: subscribers, got: make(chan receipt, 2*subscribers)}
	for range subscribers {
		c, err := p.connect(ctx)
		if err != nil {
			return err
		}
		sub, err := c.NewSubscription(channel)
		if err != nil {
			return err
		}
		done := make(chan struct{})
		sub.OnSubscribed(func(centrifuge.SubscribedEvent) { close(done) })
		sub.OnPublication(func(e centrifuge.PublicationEvent) { l.take(e.Data) })
		if err := sub.Subscribe(); err != nil {
			return err
		}
		if err := wait(ctx, done, "a subscription"); err != nil {
			return err
		}
	}
	results, err := l.measure(ctx, p.o, centrifugoName)
	p.results = append(p.results, results...)
	return err
}

func (p *centrifugoPeer) oneChannel(ctx context.Context) error {
	return p.append(ctx, "append, 64 publishers on one log", func(int) string { return "room:one" })
}

func (p *centrifugoPeer) manyChannels(ctx context.Context) error {
	return p.append(ctx, "append, 64 publishers over 64 logs", func(i int) string { return fmt.Sprintf("room:many%d", i) })
}

func (p *centrifugoPeer) append(ctx context.Context, measure string, channel func(int) string) error {
	defer p.hangUp()
	var publish []func(context.Context, []byte) error
	for i := range 64 {
		c, err := p.connect(ctx)
		if err != nil {
			return err
		}
		publish = append(publish, publishIn(c, channel(i)))
	}
	r, err := publishers(ctx, p.o, centrifugoName, measure, publish)
	p.results = append(p.results, r)
	return err
}

func (p *centrifugoPeer) replay(ctx context.Context) error {
	defer p.hangUp()
	c, err := p.connect(ctx)
	if err != nil {
		return err
	}
	sub, err := c.NewSubscription("room:replay")
	if err != nil {
		return err
	}
	done := make(chan struct{})
	sub.OnSubscribed(func(centrifuge.SubscribedEvent) { close(done) })
	if err := sub.Subscribe(); err != nil {
		return err
	}
	if err := wait(ctx, done, "a subscription"); err != nil {
		return err
	}
	for i := range p.o.replay {
		if _, err := sub.Publish(ctx, payload(i)); err != nil {
			return err
		}
	}
	r := result{Peer: centrifugoName, Measure: "replay"}
	for i := range p.o.reps + 1 {
		start := time.Now()
		if err := p.pages(ctx, sub); err != nil {
			return err
		}
		if i > 0 {
			r.Values = append(r.Values, float64(p.o.replay)/time.Since(start).Seconds())
		}
	}
	p.results = append(p.results, r)
	return nil
}

// pages reads the history from its beginning to its end.
func (p *centrifugoPeer) pages(ctx context.Context, sub *centrifuge.Subscription) error {
	end, err := sub.History(ctx)
	if err != nil {
		return err
	}
	since := centrifuge.StreamPosition{Epoch: end.Epoch}
	for next := 0; next < p.o.replay; {
		h, err := sub.History(ctx, centrifuge.WithHistorySince(&since), centrifuge.WithHistoryLimit(historyPage))
		if err != nil {
			return err
		}
		if len(h.Publications) == 0 {
			return fmt.Errorf("history ends at %d of %d", next, p.o.replay)
		}
		for _, pub := range h.Publications {
			if got, err := numberOf(pub.Data); err != nil || got != next {
				return fmt.Errorf("history: message %d came where %d was due (%v)", got, next, err)
			}
			next++
			since.Offset = pub.Offset
		}
	}
	return nil
}
