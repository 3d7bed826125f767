package protocol

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// The schema of message.held: who said it and what are always there; files, what is known of images and sound, and what was said in a voice
// note, where there are such.
//
// covers: HLD-1, HLD-2, HLD-3, HLD-4, HLD-5, HLD-6, HLD-9, HLD-11, HLD-12, HLD-14
func TestHeldSchema(t *testing.T) {
	schema := checkedIn(t, "message.held")
	valid := func(drop string, in bool) bool {
		t.Helper()
		var e map[string]any
		if err := json.Unmarshal(goldens(t)["message.held"], &e); err != nil {
			t.Fatal(err)
		}
		from := e
		if in {
			from = e["attachments"].([]any)[0].(map[string]any)
		}
		if _, there := from[drop]; drop != "" && !there {
			t.Fatalf("the golden has no %s", drop)
		}
		delete(from, drop)
		return schema.Validate(e) == nil
	}
	if !valid("", false) {
		t.Fatal("the golden is not valid")
	}
	for _, c := range []struct {
		fields   string
		in, need bool
	}{
		{"v type id ts workspace_id actor agent_id text", false, true},
		{"attachments", false, false},
		{"attachment_id filename mime_type byte_size sha256", true, true},
		{"width height duration_ms transcript replaces", true, false},
	} {
		for field := range strings.FieldsSeq(c.fields) {
			if got := valid(field, c.in); got == c.need {
				t.Errorf("without %s it is valid: %v", field, got)
			}
		}
	}
}
