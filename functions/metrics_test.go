package functions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// counted adds up the metrics that a function wrote, by name, and says how many lines they came in.
func counted(t *testing.T, f *function) (sum map[string]float64, lines int) {
	t.Helper()
	sum = map[string]float64{}
	for line := range strings.Lines(f.log.String()) {
		if !strings.Contains(line, `"_aws"`) {
			continue
		}
		lines++
		var all map[string]any
		if err := json.Unmarshal([]byte(line), &all); err != nil {
			t.Errorf("%s: no line of JSON: %s", f.name, line)
			continue
		}
		directive := at(all, "_aws", "CloudWatchMetrics", 0)
		if at(directive, "Namespace") != "Chips/chips" {
			t.Errorf("%s: the namespace of %s", f.name, line)
		}
		defined, _ := at(directive, "Metrics").([]any)
		for _, d := range defined {
			name, _ := at(d, "Name").(string)
			value, ok := all[name].(float64)
			if !ok {
				t.Errorf("%s: no %s in %s", f.name, name, line)
			}
			sum[name] += value
		}
	}
	return sum, lines
}

// counts compares some of what a function counted: exactly, or "more than none" where -1 is wanted. What it writes comes through a pipe, and so may
// come after its answer.
func counts(t *testing.T, f *function, atMostLines int, want map[string]float64) {
	t.Helper()
	var wrong []string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		wrong = nil
		got, lines := counted(t, f)
		if lines > atMostLines {
			t.Fatalf("%s: %d lines of metrics, want %d at most", f.name, lines, atMostLines)
		}
		for name, n := range want {
			if value, ok := got[name]; !ok || value != n && (n != -1 || value <= 0) {
				wrong = append(wrong, fmt.Sprintf("%s is %v, want %v", name, value, n))
			}
		}
		if wrong == nil {
			return
		}
	}
	t.Errorf("%s: %s", f.name, wrong)
}
