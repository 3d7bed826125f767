package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	natsVersion = "v2.15.3"
	natsName    = "NATS JetStream " + natsVersion + ", file store, sync_interval: always"
)

// jetStream measures NATS JetStream.
func jetStream(ctx context.Context, o options, cache, dir string) (results []result, err error) {
	program, err := install(ctx, cache, "nats-server", "github.com/nats-io/nats-server/v2", natsVersion)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("listen: 127.0.0.1:%d\njetstream { store_dir: %q, sync_interval: always }\n", port, filepath.Join(dir, "jetstream"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	n := &natsPeer{o: o, url: fmt.Sprintf("nats://127.0.0.1:%d", port)}
	defer n.hangUp()
	err = with(ctx, port, filepath.Join(dir, "nats.log"), func() error {
		for _, step := range []func(context.Context) error{n.deliver1, n.deliver100, n.oneStream, n.manyStreams, n.replay} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	}, program, "-c", config)
	return n.results, err
}

type natsPeer struct {
	o       options
	url     string
	conns   []*nats.Conn
	results []result
}

func (n *natsPeer) hangUp() {
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
}

// connect opens a connection of its own.
func (n *natsPeer) connect() (jetstream.JetStream, error) {
	c, err := nats.Connect(n.url)
	if err != nil {
		return nil, err
	}
	n.conns = append(n.conns, c)
	return jetstream.New(c)
}

// stream makes a stream, and answers how to publish to it over a connection of its own.
func (n *natsPeer) stream(ctx context.Context, name string) (jetstream.JetStream, error) {
	js, err := n.connect()
	if err != nil {
		return nil, err
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}, Storage: jetstream.FileStorage})
	return js, err
}

func publishTo(js jetstream.JetStream, subject string) func(context.Context, []byte) error {
	return func(ctx context.Context, data []byte) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_, err := js.Publish(ctx, subject, data)
		return err
	}
}

func (n *natsPeer) deliver1(ctx context.Context) error   { return n.deliver(ctx, 1) }
func (n *natsPeer) deliver100(ctx context.Context) error { return n.deliver(ctx, 100) }

func (n *natsPeer) deliver(ctx context.Context, subscribers int) error {
	defer n.hangUp()
	name := fmt.Sprintf("deliver%d", subscribers)
	js, err := n.stream(ctx, name)
	if err != nil {
		return err
	}
	l := &loop{publish: publishTo(js, name+".room"), subscribers: subscribers, got: make(chan receipt, 2*subscribers)}
	for range subscribers {
		reader, err := n.connect()
		if err != nil {
			return err
		}
		c, err := reader.OrderedConsumer(ctx, name, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverNewPolicy})
		if err != nil {
			return err
		}
		going, err := c.Consume(func(m jetstream.Msg) { l.take(m.Data()) })
		if err != nil {
			return err
		}
		defer going.Stop()
	}
	time.Sleep(500 * time.Millisecond) // a consumer says nothing when it is there
	results, err := l.measure(ctx, n.o, natsName)
	n.results = append(n.results, results...)
	return err
}

func (n *natsPeer) oneStream(ctx context.Context) error {
	defer n.hangUp()
	if _, err := n.stream(ctx, "one"); err != nil {
		return err
	}
	var publish []func(context.Context, []byte) error
	for i := range 64 {
		js, err := n.connect()
		if err != nil {
			return err
		}
		publish = append(publish, publishTo(js, fmt.Sprintf("one.%d", i)))
	}
	r, err := publishers(ctx, n.o, natsName, "append, 64 publishers on one log", publish)
	n.results = append(n.results, r)
	return err
}

func (n *natsPeer) manyStreams(ctx context.Context) error {
	defer n.hangUp()
	var publish []func(context.Context, []byte) error
	for i := range 64 {
		name := fmt.Sprintf("many%d", i)
		js, err := n.stream(ctx, name)
		if err != nil {
			return err
		}
		publish = append(publish, publishTo(js, name+".room"))
	}
	r, err := publishers(ctx, n.o, natsName, "append, 64 publishers over 64 logs", publish)
	n.results = append(n.results, r)
	return err
}

func (n *natsPeer) replay(ctx context.Context) error {
	defer n.hangUp()
	js, err := n.stream(ctx, "replay")
	if err != nil {
		return err
	}
	for i := range n.o.replay {
		if _, err := js.PublishAsync("replay.room", payload(i)); err != nil {
			return err
		}
		if i%256 == 255 {
			<-js.PublishAsyncComplete()
		}
	}
	<-js.PublishAsyncComplete()
	r := result{Peer: natsName, Measure: "replay"}
	for i := range n.o.reps + 1 {
		perSecond, err := n.replayOnce(ctx, js)
		if err != nil {
			return err
		}
		if i > 0 {
			r.Values = append(r.Values, perSecond)
		}
	}
	n.results = append(n.results, r)
	return nil
}

func (n *natsPeer) replayOnce(ctx context.Context, js jetstream.JetStream) (float64, error) {
	start := time.Now()
	c, err := js.OrderedConsumer(ctx, "replay", jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	next := 0
	going, err := c.Consume(func(m jetstream.Msg) {
		if got, err := numberOf(m.Data()); err != nil || got != next {
			select {
			case done <- fmt.Errorf("replay: message %d came where %d was due (%v)", got, next, err):
			default:
			}
		}
		if next++; next == n.o.replay {
			select {
			case done <- nil:
			default:
			}
		}
	})
	if err != nil {
		return 0, err
	}
	defer going.Stop()
	select {
	case err := <-done:
		return float64(n.o.replay) / time.Since(start).Seconds(), err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}
