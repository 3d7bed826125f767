package main

import (
	"testing"

	"github.com/chipschat/chips-aws/shared/protocol"
)

func TestCutSeq(t *testing.T) {
	frame := []byte(`{"frame":"events","events":[{"v":1,"seq":7,"text":"say \"seq\":9"},{"v":1,"seq":8}]}`)
	var got []int64
	for seq, rest, ok := cutSeq(frame); ok; seq, rest, ok = cutSeq(rest) {
		got = append(got, seq)
	}
	if len(got) != 2 || got[0] != 7 || got[1] != 8 {
		t.Errorf("the seqs are %v, want 7 and 8", got)
	}
}

func TestMessage(t *testing.T) {
	frame := message("w0001-000001", "spc_01K4ZQPX000000000000000001", nil)
	if len(frame) != frameSize {
		t.Errorf("a message's frame has %d bytes, want %d", len(frame), frameSize)
	}
	_, f, bad := protocol.DecodeFrame(frame)
	if bad != nil {
		t.Fatal(bad)
	}
	if e, bad := protocol.DecodeClient(f.(protocol.EventFrame).Event); bad != nil || e.IdempotencyKey != "w0001-000001" {
		t.Fatalf("%v: %v", e, bad)
	}
}
