package protocol

import (
	"strings"
	"testing"
	"time"
)

// benchEvents are the two types that most of a log is.
func benchEvents() []Event {
	at := At(time.Date(2026, 9, 2, 14, 22, 15, 4e6, time.UTC))
	env := Envelope{V: 1, ID: "evt_01K4ZQPX000000000000000073", TS: at, WorkspaceID: "ws_01K4ZQPX000000000000000001",
		SpaceID: "spc_01K4ZQPX000000000000000002", RunID: "run_01K4ZQPX000000000000000005", Seq: 123456, IdempotencyKey: "scout-run-5-step-2",
		Actor: Actor{Kind: KindAgent, ID: "agt_01K4ZQPX000000000000000A1", HarnessID: "hrn_01K4ZQPX000000000000000004"}}
	step, post := env, env
	step.Type, post.Type = "step.log", "message.post"
	return []Event{
		{Envelope: step, Data: &StepLog{StepID: "stp_2", Status: "done", Summary: "Read the PO"}},
		{Envelope: post, Data: &MessagePost{Text: strings.Repeat("Northwind want the PO. ", 13), AddressedTo: []string{"agt_01K4ZQPX000000000000000A2"}}},
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, e := range benchEvents() {
		b.Run(e.Type, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			var err error
			for b.Loop() {
				if buf, err = e.Append(buf[:0]); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkDecodeStored(b *testing.B) {
	for _, e := range benchEvents() {
		raw, err := e.AppendStored(nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(e.Type, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := DecodeStored(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, e := range benchEvents() {
		raw, err := e.Append(nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(e.Type, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := Decode(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
