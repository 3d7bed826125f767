package protocol

import (
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func TestDecodeFrame(t *testing.T) {
	num := func(n int) *int { return &n }
	seq := func(n int64) *int64 { return &n }
	hello := ClientHello{Frame: "hello", Protocol: Range{1, 1}}
	scout := hello
	scout.Protocol, scout.Client, scout.Accepts = Range{0, 3}, ClientName{"scout", "0.1.0"}, []string{"events", "new word"}
	scout.Context = &ContextBudget{Lines: num(0), Chars: num(32000)}
	half := hello
	half.Context = &ContextBudget{Lines: num(7)}
	for raw, want := range map[string]any{
		`{"frame":"hello","protocol":{"min":1,"max":1}}`: hello,
		` {"frame":"hello","protocol":{"min":0,"max":3},"client":{"name":"scout","version":"0.1.0","os":1},"accepts":["events","new word"],
		   "context":{"lines":0,"chars":32000},"harnesses":[1],"since":-5,"new":{}} `: scout,
		`{"frame":"hello","protocol":{"min":1,"max":1},"accepts":null,"context":null}`:      hello,
		`{"frame":"hello","protocol":{"min":1,"max":1},"context":{"lines":7,"chars":null}}`: half,
		`{"frame":"subscribe","workspace_id":"ws_1"}`:                                       Subscribe{"subscribe", "ws_1", nil},
		`{"frame":"subscribe","workspace_id":"ws_1","since":0}`:                             Subscribe{"subscribe", "ws_1", seq(0)},
		`{"frame":"subscribe","workspace_id":"ws_1","since":41,"Since":7}`:                  Subscribe{"subscribe", "ws_1", seq(41)},
		`{"frame":"subscribe","workspace_id":"ws_1","since":5,"SINCE":0}`:                   Subscribe{"subscribe", "ws_1", seq(5)}, // case BR-25
		`{"frame":"subscribe","workspace_id":"ws_1","SINCE":0}`:                             Subscribe{"subscribe", "ws_1", nil},
		`{"frame":"subscribe","workspace_id":"ws_1","since":9223372036854775808}`:           Subscribe{"subscribe", "ws_1", seq(math.MaxInt64)},
		`{"frame":"subscribe","workspace_id":"ws_1","since":99999999999999999999999}`:       Subscribe{"subscribe", "ws_1", seq(math.MaxInt64)},
		`{"frame":"event","event":{"type":5, "idempotency_key":"k"},"idempotency_key":"b"}`: EventFrame{"event", jsontext.Value(`{"type":5, "idempotency_key":"k"}`)},
		`{"frame":"event","event":{},"type":"step.log"}`:                                    EventFrame{"event", jsontext.Value(`{}`)},
		`{"frame":"ping"}`:          PingFrame{"ping"},
		`{"frame":"pong","at":"x"}`: PingFrame{"pong"},
	} {
		frame, got, err := DecodeFrame([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", raw, d)
		}
		if name := strings.Split(raw, `"`)[3]; frame != name {
			t.Errorf("%s is called %q", raw, frame)
		}
	}
}

// covers: WRT-2, WRT-3
func TestAKeyBesideTheEventIsNotRead(t *testing.T) {
	_, v, err := DecodeFrame([]byte(`{"frame":"event","idempotency_key":"k","event":{"type":"run.paused","run_id":"run_1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	e, err := DecodeClient(v.(EventFrame).Event)
	if err == nil || err.Code != InvalidFrame || e.IdempotencyKey != "" {
		t.Errorf("the event is read as %+v, %v", e, err)
	}
}

func TestDecodeFrameRefuses(t *testing.T) {
	for raw, says := range map[string]string{
		``: "the frame is not JSON", `hello`: "the frame is not JSON", `[]`: "not a JSON object", `null`: "not a JSON object", `"ping"`: "not a JSON object",
		`{"frame":"ping"}{"frame":"ping"}`:                                      "not JSON",
		"{\"frame\":\"ping\",\"x\":\"\xc0\"}":                                   "not JSON in UTF-8",
		`{"frame":"ping","frame":"ping"}`:                                       "names frame twice",
		`{"frame":"event","event":{"idempotency_key":"k","x":[{"y":1,"y":2}]}}`: "names event.x.0.y twice",
		`{}`:               "frame must be the name",
		`{"frame":5}`:      "frame must be the name",
		`{"frame":null}`:   "frame must be the name",
		`{"Frame":"ping"}`: "frame must be the name",
		`{"frame":""}`:     `called ""`,
		`{"frame":"PING"}`: `called "PING"`,
		`{"frame":"ack"}`:  `called "ack"`,
		`{"frame":"` + strings.Repeat("x", 1<<17) + `"}`: `called "xxx`,
		`{"frame":"event"}`:                                                         "event must be an object",
		`{"frame":"event","event":null}`:                                            "event must be an object",
		`{"frame":"event","event":[]}`:                                              "event must be an object",
		`{"frame":"event","event":"{}"}`:                                            "event must be an object",
		`{"frame":"event","Event":{}}`:                                              "event must be an object",
		`{"frame":"subscribe"}`:                                                     "workspace_id is missing",
		`{"frame":"subscribe","workspace_id":""}`:                                   "workspace_id is missing",
		`{"frame":"subscribe","workspace_id":5}`:                                    "workspace_id must be text",
		`{"frame":"subscribe","workspace_id":"ws_1","since":-1}`:                    "since must be a whole number from 0",
		`{"frame":"subscribe","workspace_id":"ws_1","since":1.5}`:                   "since must be a whole number from 0",
		`{"frame":"subscribe","workspace_id":"ws_1","since":1e2}`:                   "since must be a whole number from 0",
		`{"frame":"subscribe","workspace_id":"ws_1","since":"41"}`:                  "since must be a whole number from 0",
		`{"frame":"subscribe","workspace_id":"ws_1","since":null}`:                  "since must be a whole number from 0",
		`{"frame":"subscribe","workspace_id":"ws_1","since":true}`:                  "since must be a whole number from 0",
		`{"frame":"subscribe","workspace_id":"ws_1","since":-9223372036854775809}`:  "since must be a whole number from 0",
		`{"frame":"hello"}`:                                                         "protocol must be a range",
		`{"frame":"hello","protocol":null}`:                                         "protocol must be a range",
		`{"frame":"hello","protocol":1}`:                                            "protocol must be an object",
		`{"frame":"hello","protocol":{}}`:                                           "protocol must be a range",
		`{"frame":"hello","protocol":{"min":1}}`:                                    "protocol must be a range",
		`{"frame":"hello","protocol":{"max":1}}`:                                    "protocol must be a range",
		`{"frame":"hello","protocol":{"min":2,"max":1}}`:                            "protocol must be a range",
		`{"frame":"hello","protocol":{"min":"1","max":1}}`:                          "protocol.min must be a whole number",
		`{"frame":"hello","protocol":{"min":1,"max":1.5}}`:                          "protocol.max must be a whole number",
		`{"frame":"hello","protocol":{"min":1,"max":1},"client":"x"}`:               "client must be an object",
		`{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":5}}`:        "client.name must be text",
		`{"frame":"hello","protocol":{"min":1,"max":1},"accepts":"events"}`:         "accepts must be a list",
		`{"frame":"hello","protocol":{"min":1,"max":1},"accepts":["events",5]}`:     "accepts.1 must be text",
		`{"frame":"hello","protocol":{"min":1,"max":1},"context":5}`:                "context must be an object",
		`{"frame":"hello","protocol":{"min":1,"max":1},"context":{"lines":-1}}`:     "context.lines must be a whole number",
		`{"frame":"hello","protocol":{"min":1,"max":1},"context":{"chars":-1}}`:     "context.chars must be a whole number",
		`{"frame":"hello","protocol":{"min":1,"max":1},"context":{"lines":1.5}}`:    "context.lines must be a whole number",
		`{"frame":"hello","protocol":{"min":1,"max":1},"context":{"chars":"many"}}`: "context.chars must be a whole number",
	} {
		_, v, err := DecodeFrame([]byte(raw))
		if err == nil {
			t.Errorf("%.80s is read as %+v", raw, v)
			continue
		}
		checkRefusal(t, err, InvalidFrame)
		if !strings.Contains(err.Message, says) {
			t.Errorf("%.80s: %v; want %q", raw, err, says)
		}
	}
}

func FuzzDecodeFrame(f *testing.F) {
	f.Add([]byte(`{"frame":"hello","protocol":{"min":1,"max":1},"accepts":["events"],"context":{"lines":1}}`))
	f.Add([]byte(`{"frame":"subscribe","workspace_id":"ws_1","since":41}`))
	f.Add([]byte(`{"frame":"event","event":{"type":"step.log","idempotency_key":"k"}}`))
	f.Add([]byte(`{"frame":"ping"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		frame, v, err := DecodeFrame(raw)
		if err != nil {
			checkRefusal(t, err, InvalidFrame)
			return
		}
		switch v := v.(type) {
		case ClientHello:
			if frame != FrameHello || v.Protocol.Min > v.Protocol.Max {
				t.Fatalf("%+v", v)
			}
		case Subscribe:
			if frame != FrameSubscribe || v.WorkspaceID == "" || v.Since != nil && *v.Since < 0 {
				t.Fatalf("%+v", v)
			}
		case EventFrame:
			if _, err := DecodeClient(v.Event); err != nil {
				checkRefusal(t, err, InvalidFrame, InvalidEvent)
			}
		case PingFrame:
		default:
			t.Fatalf("%s is %T", frame, v)
		}
	})
}
