package protocol

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table is contract U-7's, with the statuses of the codes that it does not name.
func TestHTTPStatus(t *testing.T) {
	want := map[Code]int{
		"invalid_frame": 400, "invalid_event": 400, "invalid_request": 400, "unsupported_protocol": 400,
		"unauthorized": 401, "forbidden": 403, "not_found": 404, "method_not_allowed": 405,
		"stale_file": 409, "which_agent": 409, "agent_elsewhere": 409, "room_closed": 409, "lead_room": 409, "locked": 409,
		"too_large": 413, "range_not_satisfiable": 416, "too_far_behind": 429, "internal": 500, "busy": 503,
	}
	if d := cmp.Diff(want, statuses); d != "" {
		t.Error(d)
	}
	for c, status := range want {
		if got := HTTPStatus(c); got != status {
			t.Errorf("%s goes with %d, not %d", c, got, status)
		}
	}
	if got := HTTPStatus("no_such_code"); got != 500 {
		t.Errorf("an unknown code goes with %d", got)
	}
}

// Every Code that errors.go declares has a status.
func TestEveryCodeHasAStatus(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != "Code" {
			return true
		}
		code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if _, ok := statuses[Code(code)]; !ok || err != nil {
			t.Errorf("%s has no status", spec.Names[0])
		}
		found++
		return true
	})
	if found != len(statuses) {
		t.Errorf("%d codes are declared and %d have a status", found, len(statuses))
	}
}
