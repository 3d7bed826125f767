package protocol

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "write the schemas anew")

// schemaOf is the JSON Schema of an event type, made from the Go types and narrowed by what they cannot say. It leaves room for
// fields that are added later, since events are added to and never changed.
func schemaOf(t *testing.T, typ string) *jsonschema.Schema {
	t.Helper()
	opts := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Time](): {Type: "string", Pattern: `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`},
		reflect.TypeFor[To](): {OneOf: []*jsonschema.Schema{
			{Const: jsonschema.Ptr[any]("all")},
			{Type: "array", Items: &jsonschema.Schema{Type: "string", Pattern: idPattern(PrefixAgent, PrefixHarness, PrefixPerson)}},
		}},
		reflect.TypeFor[ActorKind](): oneOf(KindPerson, KindHarness, KindAgent, KindSystem),
		reflect.TypeFor[Role]():      oneOf(Owner, Admin, Member, Guest),
	}}
	s, err := jsonschema.For[Envelope](opts)
	if err != nil {
		t.Fatal(err)
	}
	data, err := jsonschema.ForType(reflect.TypeOf(NewData(typ)).Elem(), opts)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range data.Properties {
		if s.Properties[name] != nil {
			t.Errorf("%s: %s is in the envelope too", typ, name)
		}
		s.Properties[name] = p
	}
	s.Required = append(s.Required, data.Required...)
	s.PropertyOrder = append(s.PropertyOrder, data.PropertyOrder...)
	narrow("", s)
	if typ == (*ExchangeSet)(nil).EventType() { // not an agent's state
		s.Properties["state"].Enum = oneOf("paused", "going").Enum
	}
	if typ == (*ManagedAnswered)(nil).EventType() {
		s.Properties["state"].Enum = oneOf(ChangeDone, ChangeRefused, ChangeMissed).Enum
	}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", typ
	s.Properties["v"].Const = jsonschema.Ptr[any](Version)
	s.Properties["type"].Const = jsonschema.Ptr[any](typ)
	s.Properties["id"].Pattern = idPattern(PrefixEvent)
	s.Properties["seq"].Minimum = jsonschema.Ptr(1.0)
	s.Properties["idempotency_key"].MinLength, s.Properties["idempotency_key"].MaxLength = jsonschema.Ptr(1), jsonschema.Ptr(MaxKey)
	return s
}

// narrow goes through a schema and what is below it: a list is never null, nor is a field that may be left out, and ids, words and
// numbers have their forms.
func narrow(path string, s *jsonschema.Schema) {
	if more := s.AdditionalProperties; more != nil && more.Not != nil {
		s.AdditionalProperties = nil
	} else if more != nil {
		narrow(path+"{}", more)
	}
	notNull := func(p *jsonschema.Schema) {
		if len(p.Types) == 2 {
			p.Type, p.Types = p.Types[1], nil
		}
	}
	if len(s.Types) == 2 && s.Types[1] == "array" {
		notNull(s)
	}
	for name, p := range s.Properties {
		if !slices.Contains(s.Required, name) {
			notNull(p)
		}
		narrow(strings.TrimPrefix(path+"."+name, "."), p)
	}
	if s.Items != nil {
		narrow(path+"[]", s.Items)
	}
	for _, f := range forms {
		if path == f.path || strings.HasSuffix(path, "."+f.path) {
			f.set(s)
			return
		}
	}
}

type form struct {
	path string
	set  func(*jsonschema.Schema)
}

// forms are what fields hold, by their path's end; the first that fits is taken.
var forms = []form{
	ids("workspace_id", PrefixWorkspace), ids("space_id", PrefixSpace), ids("run_id", PrefixRun), ids("agent_id", PrefixAgent),
	ids("harness_id", PrefixHarness), ids("person_id", PrefixPerson), ids("owner_id", PrefixPerson), ids("message_id", PrefixMessage),
	ids("attachment_id", PrefixAttachment), ids("participant_id", PrefixPerson, PrefixAgent, PrefixHarness),
	ids("participant_ids[]", PrefixPerson, PrefixAgent, PrefixHarness), ids("upload_ids[]", PrefixAttachment),
	ids("addressed_to[]", PrefixAgent, PrefixHarness), ids("for[]", PrefixAgent, PrefixHarness), ids("lanes[]", PrefixRun),
	ids("parent_run_id", PrefixRun), ids("for_message", PrefixMessage), ids("reply_to", PrefixMessage), ids("asked_of", PrefixHarness),
	ids("to_space_id", PrefixSpace), ids("moved_to", PrefixSpace), ids("spaces[]", PrefixSpace), ids("attachments[].replaces", PrefixAttachment), ids("replaces{}", PrefixAttachment), ids("room", PrefixSpace),
	ids("by", PrefixPerson), ids("name_by", PrefixPerson), ids("made_by", PrefixPerson), ids("asked_by", PrefixPerson),
	ids("change_id", PrefixChange), ids("edit_id", PrefixEdit),
	words("from.role", string(Owner), string(Admin), string(Member), string(Guest), "lead"),
	words("state", "active", "archived"), words("scope", "job", "harness"),
	words("rules[].decision", "allow", "ask", "deny"),
	words("when.risk[]", "external", "external_communication", "irreversible", "destructive", "financial", "credential", "privacy", "legal"),
	like("sha256", "^[0-9a-f]{64}$"),
	ids("approval_id", PrefixApproval), ids("question_id", PrefixQuestion), words("verdict.decision", "allow", "ask", "deny"),
	between("autonomy", 0, 3), between("max_autonomy", 0, 3), between("stop", 2, 1000), between("hold", 2, 1000),
	between("cost_usd", 0, 1e6), between("input_tokens", 0, 1<<53), between("output_tokens", 0, 1<<53), between("ceiling_usd", 0.25, 100),
	between("limit_usd", 0, 1e6), between("spent_usd", 0, 1e12), between("byte_size", 0, 1<<53), between("held", 0, 1<<53),
}

func idPattern(prefixes ...string) string {
	one := strings.Join(prefixes, "|")
	if len(prefixes) > 1 {
		one = "(" + one + ")"
	}
	return "^" + one + "_[0-7][0-9A-HJKMNP-TV-Z]{25}$"
}

func ids(path string, prefixes ...string) form { return like(path, idPattern(prefixes...)) }

func like(path, pattern string) form {
	return form{path, func(s *jsonschema.Schema) { s.Pattern = pattern }}
}

func words(path string, list ...string) form {
	return form{path, func(s *jsonschema.Schema) { s.Enum = oneOf(list...).Enum }}
}

func between(path string, least, most float64) form {
	return form{path, func(s *jsonschema.Schema) {
		if s.Type != "boolean" { // held is a number in hello, and a word of the referee on a message
			s.Minimum, s.Maximum = &least, &most
		}
	}}
}

func oneOf[T ~string](words ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range words {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}

// checkedIn is the schema of a type as schemas/ has it.
func checkedIn(t *testing.T, typ string) *jsonschema.Resolved {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("schemas", typ+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The schemas are what the types say: after a change of a type, go test ./shared/protocol -run TestSchemas -update.
func TestSchemas(t *testing.T) {
	for _, typ := range Types {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(schemaOf(t, typ)); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("schemas", typ+".json")
		if *update {
			if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(want.String(), string(got)); d != "" {
			t.Errorf("%s is not what the types say; -update writes it anew:\n%s", file, d)
		}
	}
	files, err := filepath.Glob("schemas/*.json")
	if err != nil || len(files) != len(Types) {
		t.Errorf("%d schemas for %d types, %v", len(files), len(Types), err)
	}
}

// Every golden is valid, and none is without a field it must have or with one of another kind.
//
// covers: ENV-1, ENV-2, ENV-3, ENV-5, ENV-6, ENV-12, ENV-13
func TestGoldensAndSchemas(t *testing.T) {
	for typ, raw := range goldens(t) {
		schema := checkedIn(t, typ)
		event := func() (e map[string]any) {
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			return e
		}
		if err := schema.Validate(event()); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
		later := event()
		later["field_of_a_later_version"] = true
		if err := schema.Validate(later); err != nil {
			t.Errorf("%s with a new field: %v", typ, err)
		}
		for name := range event() {
			broken := event()
			broken[name] = []any{map[string]any{}}
			if schema.Validate(broken) == nil {
				t.Errorf("%s is valid with %s an odd list", typ, name)
			}
			if slices.Contains(schema.Schema().Required, name) {
				broken = event()
				delete(broken, name)
				if schema.Validate(broken) == nil {
					t.Errorf("%s is valid without %s", typ, name)
				}
			}
		}
		for _, name := range []string{"v", "type", "id", "ts", "workspace_id", "actor"} {
			if !slices.Contains(schema.Schema().Required, name) {
				t.Errorf("%s does not require %s", typ, name)
			}
		}
	}
}

// What a golden leaves out nobody looks at: each uses every field of its type.
func TestGoldensUseEveryField(t *testing.T) {
	for typ, raw := range goldens(t) {
		var e any
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		usedPaths("", e, used)
		for _, path := range schemaPaths("", checkedIn(t, typ).Schema()) {
			ofSome := slices.Contains([]string{"space_id", "run_id", "seq", "idempotency_key", "actor.harness_id"}, path) ||
				typ == "budget.warning" && path == "harness_id" || // a harness's own has no room
				strings.HasPrefix(path, "catch_up.spend") // an agent that joins is given no turn
			if !used[path] && !ofSome {
				t.Errorf("the golden of %s has no %s", typ, path)
			}
		}
	}
}

func usedPaths(path string, v any, used map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			p := strings.TrimPrefix(path+"."+name, ".")
			used[p] = true
			usedPaths(p, inner, used)
		}
	case []any:
		for _, inner := range v {
			usedPaths(path, inner, used)
		}
	}
}

func schemaPaths(path string, s *jsonschema.Schema) (paths []string) {
	for name, p := range s.Properties {
		inner := strings.TrimPrefix(path+"."+name, ".")
		paths = append(append(paths, inner), schemaPaths(inner, p)...)
	}
	if s.Items != nil {
		paths = append(paths, schemaPaths(path, s.Items)...)
	}
	return paths
}

// The documents' own example of a hello (spec/hello.txt) is valid and is read whole.
//
// covers: HEV-2, HEV-3, HEV-5, HEV-9, HEV-10, HEV-21, HEV-25, HEV-28, HEV-29, HEV-34
func TestHelloOfTheDocuments(t *testing.T) {
	raw, err := os.ReadFile("testdata/hello-spec.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if err := checkedIn(t, "hello").Validate(want); err != nil {
		t.Error(err)
	}
	e, err := Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	written, err := e.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(written, &got); err != nil {
		t.Fatal(err)
	}
	// A field that may be left out is left out when it is false.
	delete(want["harnesses"].([]any)[0].(map[string]any), "ephemeral")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("written again (-example +got):\n%s", d)
	}
}

// The schemas hold the words and ranges of the hello's fields.
//
// covers: HEV-3, HEV-5, HEV-9, HEV-16, HEV-17, HEV-21, HEV-26, HEV-28
func TestHelloSchema(t *testing.T) {
	schema := checkedIn(t, "hello")
	raw := goldens(t)["hello"]
	for _, c := range []struct{ from, to string }{
		{`"type":"hello"`, `"type":"helo"`}, {`"v":1`, `"v":2`}, {`"min":1`, `"least":1`}, {`"name":"chipsd",`, ``}, {`"version":"0.0.0"`, `"version":0`},
		{`"harnesses":[`, `"others":[`}, {`"owner_id":"usr_`, `"owner_id":"hrn_`}, {`"display_name":"Scout",`, ``}, {`"key":"main",`, ``},
		{`"agent_id":"agt_`, `"agent_id":"hrn_`}, {`"lead":true,`, ``}, {`"state":"archived"`, `"state":"gone"`}, {`"spaces":["spc_`, `"spaces":["ws_`},
		{`"autonomy":2`, `"autonomy":4`}, {`"autonomy":2,`, ``}, {`"destructive"`, `"dangerous"`}, {`"decision":"ask"`, `"decision":"maybe"`},
		{`"spent_usd":1.47`, `"spent_usd":"1.47"`}, {`"workspace":{"name":"Northwind"}`, `"workspace":{}`},
	} {
		broken := strings.Replace(string(raw), c.from, c.to, 1)
		if broken == string(raw) {
			t.Errorf("the golden has no %s", c.from)
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(broken), &e); err != nil {
			t.Fatal(err)
		}
		if schema.Validate(e) == nil {
			t.Errorf("valid with %s for %s", c.to, c.from)
		}
	}
}
