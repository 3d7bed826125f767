package protocol

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// goldens are the events of testdata/events by type: one realistic event each with all of its fields, as it is in logs for good.
func goldens(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/events/*.json")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		v := jsontext.Value(raw)
		if err := v.Compact(); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out[strings.TrimSuffix(filepath.Base(f), ".json")] = v
	}
	return out
}

func TestEveryTypeHasOneGolden(t *testing.T) {
	var names []string
	for name := range goldens(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	want := slices.Clone(Types)
	slices.Sort(want)
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("types and files of testdata/events (-types +files):\n%s", d)
	}
	if len(slices.Compact(want)) != len(Types) {
		t.Error("two types have one name")
	}
	for _, name := range Types {
		if got := NewData(name).EventType(); got != name {
			t.Errorf("NewData(%q) is of %s", name, got)
		}
	}
	if d := NewData("message.posted"); d != nil {
		t.Errorf("an unknown type has %T", d)
	}
}

// covers: ENV-1, ENV-3, ENV-6, ENV-7, ENV-8, HEV-2, HEV-11
func TestGoldens(t *testing.T) {
	for name, raw := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			e, err := Decode(raw)
			if err != nil {
				t.Fatal(err)
			}
			if e.Type != name || e.V != Version || !ValidID(PrefixEvent, e.ID) || !ValidID(PrefixWorkspace, e.WorkspaceID) || e.Actor.ID == "" {
				t.Errorf("envelope %+v", e.Envelope)
			}
			got, err := e.Append([]byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff("before"+string(raw), string(got)); d != "" {
				t.Errorf("written again (-golden +got):\n%s", d)
			}
			kept, err := e.AppendStored(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{`"v"`, `"id":"evt_`, `"ts"`, `"workspace_id"`, `"seq"`, `"idempotency_key"`} {
				if strings.Contains(string(kept[:min(len(kept), 100)]), name) {
					t.Errorf("what a commit keeps has %s: %s", name, kept)
				}
			}
			back, err := DecodeStored(kept)
			if err != nil {
				t.Fatal(err)
			}
			back.ID, back.TS, back.WorkspaceID, back.Seq, back.IdempotencyKey = e.ID, e.TS, e.WorkspaceID, e.Seq, e.IdempotencyKey
			if d := cmp.Diff(e, back); d != "" {
				t.Errorf("kept and read again:\n%s", d)
			}
		})
	}
}

// Decode knows the type wherever it stands, and takes nothing that is not an event.
func TestDecode(t *testing.T) {
	e, err := Decode([]byte(` { "step_id": "stp_2", "new": {"x": 1}, "type": "step.log", "actor": {"id": "system", "kind": "system"} } `))
	if d, ok := e.Data.(*StepLog); err != nil || !ok || d.StepID != "stp_2" || e.Actor != System {
		t.Errorf("%+v, %v", e, err)
	}
	for _, raw := range []string{
		``, `{`, `[]`, `null`, `"x"`, `{"type":5}`, `{"type":"step.log","type":"step.log"}`, `{"type":"step.log","step_id":1}`,
		`{"type":"step.log","step_id":"a","step_id":"b"}`, `{"type":"step.log"} x`, "{\"type\":\"step.log\",\"step_id\":\"\xff\"}",
	} {
		if e, err := Decode([]byte(raw)); err == nil || errors.Is(err, ErrUnknownType) != (raw == "null") {
			t.Errorf("%q is read as %+v, %v", raw, e, err)
		}
		if e, err := DecodeStored([]byte(raw)); err == nil {
			t.Errorf("%q is read as %+v", raw, e)
		}
	}
	for _, raw := range []string{`{"type":"step.logged"}`, `{"v":1,"type":"Step.log"}`, `{"TYPE":"step.log"}`, `{}`} {
		if _, err := Decode([]byte(raw)); !errors.Is(err, ErrUnknownType) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	bad := Event{Envelope: Envelope{Type: "step.log", Actor: System}, Data: &StepLog{Summary: "\xff"}}
	if got, err := bad.Append([]byte("x")); err == nil || string(got[:1]) != "x" {
		t.Errorf("%s, %v", got, err)
	}
	bad = Event{Envelope: Envelope{Type: "step.log", IdempotencyKey: "\xff", Actor: System}, Data: &StepLog{}}
	if got, err := bad.Append(nil); err == nil {
		t.Errorf("%s", got)
	}
	bare := Event{Envelope: Envelope{Type: "run.paused", RunID: "run_1", Actor: System}}
	if got, err := bare.AppendStored(nil); err != nil || string(got) != `{"type":"run.paused","run_id":"run_1","actor":{"kind":"system","id":"system"}}` {
		t.Errorf("%s, %v", got, err)
	}
}

// An event is written in one way: a replay is the live delivery byte for byte, and a write's payload is known by its hash.
func TestAppendIsDeterministic(t *testing.T) {
	e := Event{Envelope: Envelope{Type: "message.post", Actor: System}, Data: &MessagePost{Replaces: map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}}}
	first, err := e.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, err := e.Append(nil); err != nil || string(again) != string(first) {
			t.Fatalf("%s\nthen\n%s, %v", first, again, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, raw := range goldens(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := Decode(raw)
		if err != nil {
			return
		}
		first, err := e.Append(nil)
		if err != nil {
			t.Fatalf("%s is read and cannot be written: %v", raw, err)
		}
		back, err := Decode(first)
		if err != nil {
			t.Fatalf("%s is written and cannot be read: %v", first, err)
		}
		second, err := back.Append(nil)
		if err != nil || string(second) != string(first) {
			t.Fatalf("%s is written again as %s, %v", first, second, err)
		}
	})
}
