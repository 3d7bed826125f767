package protocol

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const ulidA = "01K4ZQPX0000000000000000A1"

// covers: ENV-3, ENV-6
func TestValidID(t *testing.T) {
	for id, ok := range map[string]bool{
		"run_" + ulidA: true, "run_7ZZZZZZZZZZZZZZZZZZZZZZZZZ": true,
		"": false, "run": false, "run_": false, ulidA: false, "spc_" + ulidA: false, "run-" + ulidA: false, "RUN_" + ulidA: false,
		"run_" + strings.ToLower(ulidA): false, "run_" + ulidA + "0": false, "run_" + ulidA[1:]: false, "run__" + ulidA[1:]: false,
		"run_8ZZZZZZZZZZZZZZZZZZZZZZZZZ": false, "run_" + "U" + ulidA[1:]: false, "run_" + "0I" + ulidA[2:]: false, " run_" + ulidA: false,
	} {
		if ValidID(PrefixRun, id) != ok {
			t.Errorf("ValidID(%q) is %v", id, !ok)
		}
	}
	if got := NewID(PrefixSpace, time.UnixMilli(0), [10]byte{}); got != "spc_00000000000000000000000000" || !ValidID(PrefixSpace, got) {
		t.Error(got)
	}
	for id, want := range map[string]string{"usr_" + ulidA: "usr", "system": "", "": "", "_x": "", "a_b_c": "a"} {
		if got := PrefixOf(id); got != want {
			t.Errorf("PrefixOf(%q) = %q", id, got)
		}
	}
}

// maxSeq is the greatest seq an id holds: 40 bits.
const maxSeq = 1<<40 - 1

func randomEvent(r *rand.Rand) (at time.Time, seq int64, random [5]byte) {
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	return time.UnixMilli(r.Int64N(1 << 47)), r.Int64N(maxSeq + 1), random
}

func TestEventIDsNameTheirSeq(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 10_000 {
		at, seq, random := randomEvent(r)
		if i < 2 {
			seq = []int64{0, maxSeq}[i]
		}
		id := EventID(at, seq, random)
		if !ValidID(PrefixEvent, id) {
			t.Fatalf("%s is not an id", id)
		}
		if got, ok := SeqOf(id); !ok || got != seq {
			t.Fatalf("SeqOf(%s) = %d, %v; want %d", id, got, ok, seq)
		}
		m := MessageID(id)
		if !ValidID(PrefixMessage, m) || m[4:] != id[4:] || EventIDOf(m) != id {
			t.Fatalf("%s is the message %s", id, m)
		}
		if got, ok := SeqOf(m); !ok || got != seq {
			t.Fatalf("SeqOf(%s) = %d, %v; want %d", m, got, ok, seq)
		}
	}
	for _, id := range []string{"", "evt_", ulidA, "run_" + ulidA, "evt_" + ulidA[1:], "msg_" + ulidA + "1", "evt_" + strings.ToLower(ulidA)} {
		if seq, ok := SeqOf(id); ok {
			t.Errorf("SeqOf(%q) = %d", id, seq)
		}
	}
}

// Ids sort as the log does: by time, and within a millisecond by seq, whatever the commit drew.
func TestEventIDsSortAsTheLog(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	at, seq, random := randomEvent(r)
	at, seq = at.Truncate(time.Hour), seq/2
	last := EventID(at, seq, random)
	for range 10_000 {
		_, _, random = randomEvent(r)
		at = at.Add(time.Duration(r.IntN(3)) * time.Millisecond)
		seq += 1 + r.Int64N(100)
		id := EventID(at, seq, random)
		if id <= last {
			t.Fatalf("%s (%v, %d) does not sort after %s", id, at, seq, last)
		}
		last = id
	}
}

func FuzzSeqOf(f *testing.F) {
	for _, id := range []string{"evt_" + ulidA, "msg_" + ulidA, "evt_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "", "evt_", "run_" + ulidA} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		seq, ok := SeqOf(id)
		if ok != (ValidID(PrefixEvent, id) || ValidID(PrefixMessage, id)) || seq < 0 || seq > maxSeq || !ok && seq != 0 {
			t.Fatalf("SeqOf(%q) = %d, %v", id, seq, ok)
		}
	})
}
