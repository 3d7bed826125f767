package emf

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Metric is the name of one metric; alarms and the dashboard go by it.
type Metric string

// The metrics.
const (
	// Appends are commits written.
	Appends Metric = "Appends"
	// Conflicts are commits that found their slot taken by another's; 0 where an append was tried.
	Conflicts Metric = "Conflicts"
	// Deliveries are frames pushed.
	Deliveries Metric = "Deliveries"
	// PushesGone are frames that were answered 410; 0 where a push was tried.
	PushesGone Metric = "PushesGone"
	// PushesThrottled are frames that were answered 429; 0 where a push was tried.
	PushesThrottled Metric = "PushesThrottled"
	// LostPushes are frames of which it is not known whether they were sent.
	LostPushes Metric = "LostPushes"
	// DeliveryLag is how many milliseconds an event took at most to be sent to all who are live.
	DeliveryLag Metric = "DeliveryLag"
	// DeadlineLag is how many milliseconds after it was due a deadline fired at most.
	DeadlineLag Metric = "DeadlineLag"
	// Replays are runs of a catch-up.
	Replays Metric = "Replays"
	// Swept are rows about which something was due that nobody else had done.
	Swept Metric = "Swept"
	// TableFaults are calls of the table that it throttled, or that failed by its fault.
	TableFaults Metric = "TableFaults"
	// NearTimeout are invocations that took most of the time a function has.
	NearTimeout Metric = "NearTimeout"
)

// Metrics are all of them.
func Metrics() []Metric {
	return []Metric{
		Appends, Conflicts, Deliveries, PushesGone, PushesThrottled, LostPushes, DeliveryLag, DeadlineLag, Replays, Swept, TableFaults, NearTimeout,
	}
}

// Meter keeps the counts of an invocation. It is for any number of goroutines; what is counted after an invocation's end is in the next line.
type Meter struct {
	out       io.Writer
	namespace string
	now       func() time.Time

	mu     sync.Mutex
	counts map[Metric]int64
	// workspace is whose lag was the largest, or else whose append was the first.
	workspace string
}

// New makes a Meter that writes to out under a namespace of CloudWatch; "" writes nothing.
func New(out io.Writer, namespace string, now func() time.Time) *Meter {
	return &Meter{out: out, namespace: namespace, now: now, counts: map[Metric]int64{}}
}

// add counts n more of a metric, which may be 0 of it.
func (m *Meter) add(name Metric, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[name] += n
}

// most keeps n of a metric if it is the most so far, and whose it is.
func (m *Meter) most(name Metric, n int64, workspace string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if have, ok := m.counts[name]; !ok || n > have {
		m.counts[name], m.workspace = n, workspace
	}
}

// about names a workspace where no slow one is named.
func (m *Meter) about(workspace string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.workspace == "" {
		m.workspace = workspace
	}
}

// flush writes what was counted, and begins anew.
func (m *Meter) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.counts) > 0 && m.namespace != "" {
		_, _ = m.out.Write(m.line()) // there is nobody to tell that it failed
	}
	clear(m.counts)
	m.workspace = ""
}

// line is what CloudWatch reads: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func (m *Meter) line() []byte {
	type definition struct {
		Name Metric
		Unit string `json:",omitzero"`
	}
	type directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}
	var line struct {
		AWS struct {
			Timestamp         int64
			CloudWatchMetrics []directive
		} `json:"_aws"`
		Workspace string           `json:"workspace_id,omitzero"`
		Values    map[Metric]int64 `json:",embed"`
	}
	d := directive{Namespace: m.namespace, Dimensions: [][]string{{}}}
	for _, name := range Metrics() {
		if _, ok := m.counts[name]; ok {
			d.Metrics = append(d.Metrics, definition{name, units[name]})
		}
	}
	line.AWS.Timestamp, line.AWS.CloudWatchMetrics = m.now().UnixMilli(), []directive{d}
	line.Workspace, line.Values = m.workspace, m.counts
	raw, err := json.Marshal(&line, json.Deterministic(true))
	if err != nil {
		return nil // a workspace's id is text, and the rest are numbers
	}
	return append(raw, '\n')
}

// units are those of metrics that are no counts.
var units = map[Metric]string{DeliveryLag: "Milliseconds", DeadlineLag: "Milliseconds"}

// Handler is what the Lambda runtime calls: lambda.Handler.
type Handler interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

type each struct {
	m    *Meter
	next Handler
}

// Each writes the line after each invocation, however that ends.
func (m *Meter) Each(next Handler) Handler { return each{m, next} }

// nearly is how much of its time an invocation may take before it is NearTimeout. What is given more than atOnce uses it up as a matter
// of course.
const (
	nearly = 0.8
	atOnce = time.Minute
)

// Invoke calls the handler.
func (e each) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	defer e.m.flush()
	start := e.m.now()
	if deadline, ok := ctx.Deadline(); ok && deadline.Sub(start) <= atOnce {
		defer func() {
			if used := e.m.now().Sub(start); used.Seconds() > nearly*deadline.Sub(start).Seconds() {
				e.m.add(NearTimeout, 1)
			}
		}()
	}
	return e.next.Invoke(ctx, payload)
}
