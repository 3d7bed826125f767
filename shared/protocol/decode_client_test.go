package protocol

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

// covers: ENV-10
func TestDecodeClientReadsOnlyWhatIsTheClients(t *testing.T) {
	raw := `{
		"v": 7, "id": "evt_mine", "ts": 5, "seq": "x", "workspace_id": ["ws"], "new": {"deep": [1, 2.5e9]}, "STATUS": "failed",
		"type": "step.log", "space_id": "spc_1", "run_id": "run_1", "idempotency_key": "scout-run-5-step-2",
		"actor": {"kind": "agent", "id": "agt_1", "harness_id": "hrn_mine", "name": "x"},
		"step_id": "stp_2", "status": "done", "summary": "Read the PO"}`
	got, err := DecodeClient([]byte(raw))
	want := Event{
		Envelope: Envelope{V: 1, Type: "step.log", SpaceID: "spc_1", RunID: "run_1", IdempotencyKey: "scout-run-5-step-2", Actor: Actor{Kind: KindAgent, ID: "agt_1"}},
		Data:     &StepLog{StepID: "stp_2", Status: "done", Summary: "Read the PO"},
	}
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestDecodeClientMessages(t *testing.T) {
	for body, want := range map[string]*MessagePost{
		`"text":"hi"`: {Text: "hi"},
		`"text":"hi","to":null,"upload_ids":null`:   {Text: "hi"},
		`"text":"hi","to":"all"`:                    {Text: "hi", To: To{All: true}},
		`"text":"hi","to":[]`:                       {Text: "hi", To: To{IDs: []string{}}},
		`"text":"hi","to":["agt_1"]`:                {Text: "hi", To: To{IDs: []string{"agt_1"}}},
		`"text":null,"upload_ids":["att_1"]`:        {UploadIDs: []string{"att_1"}},
		`"Text":"no","replaces":{"att_1":"att_2"}`:  {Replaces: map[string]string{"att_1": "att_2"}},
		`"text":"\u0000\ud83d\ude80 <b>","TO":"no"`: {Text: "\x00🚀 <b>"},
	} {
		got, err := DecodeClient([]byte(`{"type":"message.post","idempotency_key":"k",` + body + `}`))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if d := cmp.Diff(want, got.Data); d != "" {
			t.Errorf("%s: %s", body, d)
		}
	}
}

// An event whose key cannot be read in it is no event at all, and its error can name no key. Case BR-25 is among these.
//
// covers: WRT-3
func TestDecodeClientInvalidFrame(t *testing.T) {
	for raw, says := range map[string]string{
		``: "not JSON", `{`: "not JSON", `[]`: "not a JSON object", `null`: "not a JSON object", `"x"`: "not a JSON object", `7`: "not a JSON object",
		`{"type":"run.paused","idempotency_key":"k"} x`:                      "not JSON in UTF-8, from byte 44",
		"\xef\xbb\xbf" + `{"type":"run.paused","idempotency_key":"k"}`:       "not JSON",
		`{"type":"run.paused","idempotency_key":"k","x":NaN}`:                "not JSON",
		"{\"type\":\"run.paused\",\"idempotency_key\":\"k\",\"x\":\"\xff\"}": "not JSON in UTF-8",
		`{"type":"run.paused","idempotency_key":"k","x":"\ud800"}`:           "not JSON in UTF-8",
		`{"type":"run.paused","idempotency_key":"k","idempotency_key":"k"}`:  "names idempotency_key twice",
		`{"type":"run.paused","type":"run.paused","idempotency_key":"k"}`:    "names type twice",
		`{"type":"run.paused","idempotency_key":"k","\u0074ype":"x"}`:        "names type twice",
		`{"type":"run.paused","idempotency_key":"k","x":{"y":1,"y":1}}`:      "names x.y twice",
		`{"type":"message.post","text":"x"}`:                                 "idempotency_key is missing",
		`{"type":"message.post","text":"x","Idempotency_Key":"k0"}`:          "idempotency_key is missing",
		`{"type":"message.post","text":"x","idempotency_key":null}`:          "idempotency_key must be text",
		`{"type":"message.post","text":"x","idempotency_key":5}`:             "idempotency_key must be text",
		`{"type":"message.post","text":"x","idempotency_key":""}`:            "idempotency_key has 0 bytes: it takes 1 to 255",
		`{"idempotency_key":"` + strings.Repeat("é", 128) + `"}`:             "idempotency_key has 256 bytes: it takes 1 to 255",
		`{"idempotency_key":"","type":5}`:                                    "idempotency_key",
		`{"x":` + strings.Repeat("[", 200_000):                               "not JSON",
	} {
		e, err := DecodeClient([]byte(raw))
		if err == nil || err.Code != InvalidFrame || !strings.Contains(err.Message, says) || e.IdempotencyKey != "" {
			t.Errorf("%.80q: key %q, %v; want invalid_frame with %q", raw, e.IdempotencyKey, err, says)
		}
	}
}

func TestDecodeClientInvalidEvent(t *testing.T) {
	for body, says := range map[string]string{
		`"x":1`:                                                      "type must be",
		`"type":null`:                                                "type must be",
		`"type":5`:                                                   "type must be",
		`"type":["step.log"]`:                                        "type must be",
		`"type":""`:                                                  `no event type is called ""`,
		`"type":"step.logged"`:                                       `no event type is called "step.logged"`,
		`"Type":"step.log"`:                                          "type must be",
		`"type":"STEP.LOG"`:                                          `no event type is called "STEP.LOG"`,
		`"type":"message.hidden"`:                                    `no event type is called "message.hidden"`,
		`"type":"step.log","step_id":1`:                              "step_id must be text",
		`"type":"step.log","run_id":{}`:                              "run_id must be text",
		`"type":"step.log","space_id":["x"]`:                         "space_id must be text",
		`"type":"step.log","actor":"agt_1"`:                          "actor must be an object",
		`"type":"step.log","actor":{"kind":1}`:                       "actor.kind must be text",
		`"type":"step.log","actor":{"id":true}`:                      "actor.id must be text",
		`"type":"message.post","text":["x"]`:                         "text must be text",
		`"type":"message.post","upload_ids":"att_1"`:                 "upload_ids must be a list",
		`"type":"message.post","upload_ids":["att_1",7]`:             "upload_ids.1 must be text",
		`"type":"message.post","replaces":{"att_1":7}`:               "replaces.att_1 must be text",
		`"type":"message.post","replaces":["att_1"]`:                 "replaces must be an object",
		`"type":"message.post","to":7`:                               `to must be a list of ids or "all"`,
		`"type":"message.post","to":"agt_1"`:                         `to must be a list of ids or "all"`,
		`"type":"message.post","to":{"all":true}`:                    `to must be a list of ids or "all"`,
		`"type":"message.post","to":["agt_1",{}]`:                    `to.1 must be text`,
		`"type":"space.deleted","delete_agents":"yes"`:               "delete_agents must be true or false",
		`"type":"exchange.settings_set","stop":1.5`:                  "stop must be a whole number",
		`"type":"exchange.settings_set","stop":"16"`:                 "stop must be a whole number",
		`"type":"exchange.settings_set","stop":99999999999999999999`: "stop must be a whole number",
		`"type":"harness.budget_set","limit_usd":"5"`:                "limit_usd must be a number",
		`"type":"harness.budget_set","limit_usd":1e999`:              "limit_usd must be a number",
		`"type":"harness.policy_set","rules":[{"match":"x","when":{"risk":"legal"}}]`: "rules.0.when.risk must be a list",
		`"type":"harness.policy_set","rules":[{"made_at":"now"}]`:                     "rules.0.made_at must be a time",
	} {
		e, err := DecodeClient([]byte(`{"idempotency_key":"k",` + body + `}`))
		if err == nil || err.Code != InvalidEvent || !strings.Contains(err.Message, says) || e.IdempotencyKey != "k" {
			t.Errorf("%s: key %q, %v; want invalid_event with %q", body, e.IdempotencyKey, err, says)
		}
		if known := strings.Contains(says, "must be") && !strings.HasPrefix(says, "type"); known != (e.Type != "") {
			t.Errorf("%s: the event has type %q beside its error", body, e.Type)
		}
	}
}

// The limits count the decoded text, and the event as Chips writes it (contract U-68, U-147; case BR-19).
func TestDecodeClientLimits(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	escaped := func(n int) string { return strings.Repeat(`\u0078`, n) }
	for _, c := range []struct{ name, body, says string }{
		{"text of 64 KB", `"type":"message.post","text":"` + x(MaxText) + `"`, ""},
		{"text of 64 KB in escapes", `"type":"message.post","text":"` + escaped(MaxText/6) + x(MaxText-MaxText/6) + `"`, ""},
		{"text of 64 KB, all escaped", `"type":"message.post","text":"` + escaped(MaxText) + `"`, ""},
		{"a byte more", `"type":"message.post","text":"` + x(MaxText+1) + `"`, "text has 65537 bytes: 65536 at most"},
		{"a byte more in two-byte letters", `"type":"message.post","text":"x` + strings.Repeat("é", MaxText/2) + `"`, "text has 65537 bytes"},
		{"a summary", `"type":"step.log","summary":"` + x(MaxText+1) + `"`, "summary has 65537 bytes"},
		{"a run's summary", `"type":"run.completed","summary":"` + x(MaxText+1) + `"`, "summary has 65537 bytes"},
		{"a run's error", `"type":"run.failed","error":"` + x(MaxText+1) + `"`, "error has 65537 bytes"},
		{"a run's title", `"type":"run.started","title":"` + x(MaxText+1) + `"`, "title has 65537 bytes"},
		{"a step's title", `"type":"step.started","title":"` + x(MaxText+1) + `"`, "title has 65537 bytes"},
		{"text that grows as it is written", `"type":"message.post","text":"` + strings.Repeat(`\u0001`, MaxText/2) + `"`, "bytes as Chips writes it: 98304 at most"},
		{"text that grows within the limit", `"type":"message.post","text":"` + strings.Repeat(`\u0001`, 15_000) + `"`, ""},
		{"much that is dropped", `"type":"message.post","text":"x","more":"` + x(MaxEvent) + `"`, ""},
		{"97 KB of ids", `"type":"message.post","text":"x","upload_ids":["` + strings.Repeat(x(30)+`","`, 97<<10/33) + `"]`, "98304 at most"},
		{"a type of 1 MB", `"type":"` + x(1<<20) + `"`, "no event type is called"},
		{"a field of a name of 1 MB", `"type":"message.post","replaces":{"` + x(1<<20) + `":5}`, "replaces.xxx"},
	} {
		e, err := DecodeClient([]byte(`{"idempotency_key":"k",` + c.body + `}`))
		if e.IdempotencyKey != "k" || (err == nil) != (c.says == "") {
			t.Errorf("%s: key %q, %v", c.name, e.IdempotencyKey, err)
		}
		if err != nil && (err.Code != InvalidEvent || !strings.Contains(err.Message, c.says) || len(err.Message) > 200) {
			t.Errorf("%s: %v; want %q", c.name, err, c.says)
		}
	}
}

func TestShort(t *testing.T) {
	for n := range 10 {
		s := strings.Repeat("x", n) + strings.Repeat("日", 100)
		if got := short(s); len(got) > 100 || !utf8.ValidString(got) || !strings.HasPrefix(s, strings.TrimSuffix(got, "…")) {
			t.Errorf("%q", got)
		}
	}
}

func FuzzDecodeClient(f *testing.F) {
	for _, raw := range goldens(f) {
		f.Add(raw)
	}
	f.Add([]byte(`{"type":"message.post","to":"all","idempotency_key":"k","text":"\u0001"}`))
	f.Add([]byte(`{"type":"message.post","to":[5],"idempotency_key":"k"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := DecodeClient(raw)
		if err != nil {
			checkRefusal(t, err, InvalidFrame, InvalidEvent)
			if err.Code == InvalidFrame && e.IdempotencyKey != "" || err.Code == InvalidEvent && e.IdempotencyKey == "" {
				t.Fatalf("%v beside key %q", err, e.IdempotencyKey)
			}
			return
		}
		if e.ID != "" || e.Seq != 0 || e.WorkspaceID != "" || !e.TS.IsZero() || e.Actor.HarnessID != "" || e.Type != e.Data.EventType() ||
			e.IdempotencyKey == "" || len(e.IdempotencyKey) > MaxKey {
			t.Fatalf("%+v", e.Envelope)
		}
		kept, werr := e.AppendStored(nil)
		if werr != nil || len(kept) > MaxEvent {
			t.Fatalf("%d bytes, %v", len(kept), werr)
		}
		if _, err := DecodeStored(kept); err != nil {
			t.Fatalf("%s is kept and cannot be read: %v", kept, err)
		}
	})
}

// checkRefusal holds an error to being safe to show.
func checkRefusal(t *testing.T, err *Error, codes ...Code) {
	t.Helper()
	known := false
	for _, c := range codes {
		known = known || err.Code == c
	}
	if !known || err.Message == "" || len(err.Message) > 250 || !utf8.ValidString(err.Message) {
		t.Fatalf("refused with %q", err)
	}
	if _, werr := json.Marshal(NewErrorFrame(err, "")); werr != nil {
		t.Fatalf("%q cannot be sent: %v", err, werr)
	}
}

func BenchmarkDecodeClient(b *testing.B) {
	for _, size := range []int{20, 300, 60_000} {
		raw := []byte(fmt.Sprintf(`{"type":"message.post","space_id":"spc_01K4ZQPX000000000000000002","text":%q,"idempotency_key":"scout-run-5-step-2"}`, strings.Repeat("x", size)))
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := DecodeClient(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
