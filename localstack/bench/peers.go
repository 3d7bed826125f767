package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// peersModule is where the peers' side is, from the project's root.
const peersModule = "localstack/bench/peers"

// comparison is what is measured of Chips and its peers alike, by the name both sides give it.
type comparison struct {
	measure string
	unit    unit
	better  string
}

var comparisons = []comparison{
	{"ack p50, 1 subscriber", millis, "lower"},
	{"deliver p50, 1 subscriber", millis, "lower"},
	{"ack p50, 100 subscribers", millis, "lower"},
	{"deliver p50, 100 subscribers", millis, "lower"},
	{"append, 64 publishers over 64 logs", rate, "higher"},
	{"append, 64 publishers on one log", rate, "higher"},
	{"replay", rate, "higher"},
}

// peerResult is a line that the peers' program prints.
type peerResult struct {
	Peer    string    `json:"peer"`
	Measure string    `json:"measure"`
	Values  []float64 `json:"values"`
}

// comparePeers measures the peers by the same loops and prints what Chips is beside each.
func (b *bench) comparePeers(ctx context.Context) error {
	if !b.peers {
		return nil
	}
	for _, need := range []struct {
		measure string
		run     func(context.Context) error
	}{{"append, 64 publishers on one log", b.write}, {"deliver p50, 1 subscriber", b.deliver}, {"replay", b.replay}} {
		if _, ok := b.ours[need.measure]; ok {
			continue
		}
		if err := need.run(ctx); err != nil {
			return err
		}
	}
	results, err := b.runPeers(ctx)
	if err != nil {
		return err
	}
	var peers []string
	for _, r := range results {
		if !slices.Contains(peers, r.Peer) {
			peers = append(peers, r.Peer)
		}
	}
	for _, peer := range peers {
		var lines [][]string
		for _, c := range comparisons {
			i := slices.IndexFunc(results, func(r peerResult) bool { return r.Peer == peer && r.Measure == c.measure })
			if i < 0 {
				return fmt.Errorf("%s: %q was not measured", peer, c.measure)
			}
			ours, theirs := b.ours[c.measure], row{unit: c.unit, values: results[i].Values}
			lines = append(lines, []string{c.measure, c.unit.format(ours), c.unit.format(theirs.median()), theirs.cells()[2], ratio(ours / theirs.median()), c.better})
		}
		printTable(b.out, "Chips beside "+peer, "The same loops over loopback on the same cores: messages of 600 B, one in flight a publisher, each client a connection of its own with\n"+
			"the peer's own Go client. A log is a workspace, a stream, a channel.",
			[]string{"measured", "Chips", "peer", "peer's spread", "Chips / peer", "better is"}, lines)
	}
	return nil
}

// runPeers builds the peers' program and runs it.
func (b *bench) runPeers(ctx context.Context) ([]peerResult, error) {
	cache, err := filepath.Abs(b.cache)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(cache, "bench-peers")
	build := exec.CommandContext(ctx, "go", "build", "-C", peersModule, "-o", program, ".")
	if said, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", peersModule, err, said)
	}
	args := []string{"-cache", cache}
	if b.quick {
		args = append(args, "-quick")
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it stops its servers
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("measure the peers: %w", err)
	}
	var results []peerResult
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var r peerResult
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("the peers' program said %q: %w", lines.Text(), err)
		}
		results = append(results, r)
	}
	if len(results) == 0 {
		return nil, errors.New("the peers' program measured nothing: " + strings.TrimSpace(string(out)))
	}
	return results, nil
}
