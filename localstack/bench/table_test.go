package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCells(t *testing.T) {
	for _, tt := range []struct {
		row  row
		want []string
	}{
		{row{what: "a time", unit: millis, values: []float64{0.7, 0.5, 3}, goal: 1}, []string{"a time", "0.70 ms", "0.50 to 3.00 (3)", "<= 1.00 ms", "0.70 ok", ""}},
		{row{what: "late", unit: millis, values: []float64{1.5}, goal: 1}, []string{"late", "1.50 ms", "", "<= 1.00 ms", "1.50 MISSED", ""}},
		{row{what: "a rate", unit: rate, values: []float64{5400}, goal: 5000, atLeast: true}.against("it", 2700), []string{"a rate", "5,400/s", "", ">= 5,000/s", "1.08 ok", "2.00 x it"}},
		{row{what: "slow", unit: rate, values: []float64{499}, goal: 1000, atLeast: true}, []string{"slow", "499/s", "", ">= 1,000/s", "0.50 MISSED", ""}},
		{row{what: "no goal", unit: mega, values: []float64{57.24}}, []string{"no goal", "57.2 MB", "", "", "", ""}},
	} {
		if d := cmp.Diff(tt.want, tt.row.cells()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.row.what, d)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	var ds []time.Duration
	for i := 101; i > 0; i-- {
		ds = append(ds, time.Duration(i))
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 101} {
		if got := quantile(ds, q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if quantile(nil, 0.5) != 0 {
		t.Error("nothing has a quantile")
	}
}
