package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// bench is one run of the program.
type bench struct {
	out          io.Writer
	quick, peers bool
	// chips is the program, functions the folder of the functions, and cache that of the peers.
	chips, functions, cache string
	// dir is a folder of its own for data, on the disk that is measured.
	dir string
	// disk is the raw sync's median in milliseconds, once it was measured; ours what the peers are compared with.
	disk float64
	ours map[string]float64
}

// line is one thing that is measured; -only names it.
type line struct {
	name string
	run  func(*bench, context.Context) error
}

var lines = []line{
	{"write", (*bench).write},
	{"deliver", (*bench).deliver},
	{"replay", (*bench).replay},
	{"idle", (*bench).idle},
	{"depth", (*bench).depth},
	{"room", (*bench).room},
	{"cold", (*bench).cold},
	{"handlers", (*bench).handlers},
	{"peers", (*bench).comparePeers},
}

func names() []string {
	var all []string
	for _, l := range lines {
		all = append(all, l.name)
	}
	return all
}

func choose(only string) ([]line, error) {
	if only == "" {
		return lines, nil
	}
	var chosen []line
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(lines, func(l line) bool { return l.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no %q to measure: %s", name, strings.Join(names(), ", "))
		}
		chosen = append(chosen, lines[i])
	}
	return chosen, nil
}

// machine says what it is measured on, and whether anything else was going on there.
func (b *bench) machine() {
	fmt.Fprintf(b.out, "%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		minute, _, _ := strings.Cut(string(load), " ")
		fmt.Fprintf(b.out, ", load of the last minute %s", minute)
	}
	fmt.Fprintln(b.out)
}

// reps is how often a thing is measured.
func (b *bench) reps() int { return b.pick(5, 3) }

// pick is full, or short in a quick run.
func (b *bench) pick(full, short int) int {
	if b.quick {
		return short
	}
	return full
}

// stretch is how long one repetition under load lasts.
func (b *bench) stretch() time.Duration {
	return time.Duration(b.pick(2000, 500)) * time.Millisecond
}

// folder makes a new folder for data.
func (b *bench) folder(name string) (string, error) {
	return os.MkdirTemp(b.dir, name+"-")
}

// remember keeps a row's median for the comparison with the peers.
func (b *bench) remember(name string, r row) {
	if b.ours == nil {
		b.ours = map[string]float64{}
	}
	b.ours[name] = r.median()
}

// rawSync measures what a write costs on this disk at the least, where it was not measured before.
func (b *bench) rawSync() (row, error) {
	r := row{what: "raw: append 2 KB, fdatasync, p50", unit: millis}
	for range b.reps() {
		took, err := syncs(filepath.Join(b.dir, "raw"), b.pick(300, 100))
		if err != nil {
			return r, err
		}
		r.values = append(r.values, ms(quantile(took, 0.5)))
	}
	b.disk = r.median()
	return r, nil
}

// syncs appends 2 KB to a new file and has them written to the disk, n times.
func syncs(path string, n int) (took []time.Duration, err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	block := make([]byte, 2048)
	for range n {
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return nil, err
		}
		if err := dataSync(f); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
	return took, nil
}
