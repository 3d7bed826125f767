package engine_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/chipschat/chips-aws/shared/engine"
)

func TestPackEvents(t *testing.T) {
	noise := make([]byte, 200<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	text := bytes.Repeat([]byte("the same words over and over "), 100)
	tests := []struct {
		name   string
		events [][]byte
		atMost int
	}{
		{"one short", [][]byte{[]byte(`{"type":"x"}`)}, 15},
		{"an empty one", [][]byte{{}, []byte("a")}, 5},
		{"a hundred", slicesRepeat([]byte(`{"type":"step.log","summary":"ran the tests"}`), 100), 300},
		{"text", [][]byte{text}, 200},
		{"noise does not grow", [][]byte{noise}, len(noise) + 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pack := engine.PackEvents([]byte("before"), tt.events)
			if !bytes.HasPrefix(pack, []byte("before")) {
				t.Fatal("what stood before is gone")
			}
			pack = pack[len("before"):]
			if len(pack) > tt.atMost {
				t.Errorf("packed into %d bytes, want at most %d", len(pack), tt.atMost)
			}
			got, err := engine.UnpackEvents(pack)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(tt.events) {
				t.Fatalf("%d events, want %d", len(got), len(tt.events))
			}
			for i := range got {
				if !bytes.Equal(got[i], tt.events[i]) {
					t.Errorf("event %d is %.40q, want %.40q", i, got[i], tt.events[i])
				}
			}
		})
	}
}

func slicesRepeat(e []byte, n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = e
	}
	return all
}

func FuzzUnpackEvents(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add(engine.PackEvents(nil, [][]byte{[]byte("a"), []byte("b")}))
	f.Add(engine.PackEvents(nil, slicesRepeat([]byte("some text"), 200)))
	f.Fuzz(func(t *testing.T, pack []byte) {
		events, err := engine.UnpackEvents(pack)
		if err != nil {
			return
		}
		again, err := engine.UnpackEvents(engine.PackEvents(nil, events))
		if err != nil || len(again) != len(events) {
			t.Fatalf("packed again: %d events of %d, %v", len(again), len(events), err)
		}
		for i := range events {
			if !bytes.Equal(events[i], again[i]) {
				t.Fatalf("event %d is %q, want %q", i, again[i], events[i])
			}
		}
	})
}
