package embedded

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chipschat/chips-aws/shared/engine"
)

func FuzzDecodeCommit(f *testing.F) {
	c := engine.Commit{
		Workspace: "ws_1", First: 7, TS: time.UnixMilli(1_790_000_000_123).UTC(), Events: [][]byte{[]byte(`{"type":"a"}`), []byte(`{}`)},
		Sender: "usr_1", Key: "k", Payload: [16]byte{1}, Primary: 1, Nonce: [10]byte{2}, Connection: "c", Credential: "tok_1",
		Prev: map[string]int64{"spc_1": 3, "spc_2": 0}, Space: "spc_1",
	}
	f.Add([]byte{})
	f.Add(appendCommit(nil, c))
	c.Events = [][]byte{bytes.Repeat([]byte("words "), 1000)}
	c.Primary = 0
	f.Add(appendCommit(nil, c))
	f.Add(appendCommit(nil, engine.Commit{Events: [][]byte{{}}}))
	f.Fuzz(func(t *testing.T, v []byte) {
		c, err := decodeCommit("ws_1", 7, v)
		if err != nil {
			return
		}
		n, err := countEvents(v)
		if err != nil || n != int64(len(c.Events)) {
			t.Errorf("%d events are counted (%v), %d decoded", n, err, len(c.Events))
		}
		again, err := decodeCommit("ws_1", 7, appendCommit(nil, c))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("encoded again (-want +got):\n%s", diff)
		}
	})
}

func FuzzDecodeRow(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendRow(nil, engine.Row{Rev: 1}))
	f.Add(appendRow(nil, engine.Row{Rev: 300, Body: []byte("{}"), Expires: time.Unix(1_790_000_000, 1), Due: time.UnixMilli(1_790_000_000_123)}))
	f.Fuzz(func(t *testing.T, v []byte) {
		row, err := decodeRow("T#1", "1", v)
		if err != nil {
			return
		}
		again, err := decodeRow("T#1", "1", appendRow(nil, row))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("encoded again (-want +got):\n%s", diff)
		}
	})
}
