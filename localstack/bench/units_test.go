package main

import (
	"strings"
	"testing"
)

// Units are exact, so their goals are a test.
func TestUnitsGoals(t *testing.T) {
	c, err := newCloud(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.emulator.Close)
	bills, size, err := c.bills(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	goals := 0
	for _, b := range bills {
		cells := strings.Join(b.cells(), " | ")
		if strings.Contains(cells, "MISSED") {
			t.Error(cells)
		}
		if b.goal.WRU > 0 {
			goals++
		}
	}
	if goals != 3 {
		t.Errorf("%d of the operations have a goal, want a message, a step and fan-out", goals)
	}
	if size > 1024 {
		t.Errorf("a message of 300 characters is an item of %d bytes, want 1,024 at most", size)
	}
}
