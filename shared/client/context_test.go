package client_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

var update = flag.Bool("update", false, "write the golden files")

// Each context of testdata as the text of its golden file.
// covers: CTX-36
func TestRenderContext(t *testing.T) {
	files, err := filepath.Glob("testdata/context/*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c protocol.Context
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got, golden := client.RenderContext(&c)+"\n", strings.TrimSuffix(file, ".json")+".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
	for _, c := range []*protocol.Context{nil, {}, {Lines: []protocol.Line{}, Truncated: true, Before: 7}} {
		if got := client.RenderContext(c); got != "" {
			t.Errorf("of nothing: %q", got)
		}
	}
}
