// Package functions_test checks the mains against what is deployed of them: the template, the payloads and the runtime.
package functions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/yaml.v3"

	"github.com/chipschat/chips-aws/shared/settings"
)

// node is a value of the template: map[string]any, []any or a scalar. !Ref x is {"Ref": x}, !Sub x {"Fn::Sub": x}, and so on.
type template struct{ root map[string]any }

func readTemplate(t *testing.T) template {
	t.Helper()
	return readTemplateFile(t, "../template.yaml")
}

func readTemplateFile(t *testing.T, file string) template {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	root, ok := plain(doc.Content[0]).(map[string]any)
	if !ok {
		t.Fatal("the template is no mapping")
	}
	return template{root}
}

func plain(n *yaml.Node) any {
	var v any
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(n.Content[i+1])
		}
		v = m
	case yaml.SequenceNode:
		s := []any{}
		for _, c := range n.Content {
			s = append(s, plain(c))
		}
		v = s
	default:
		v = n.Value
	}
	switch {
	case n.Tag == "!Ref":
		return map[string]any{"Ref": v}
	case strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!"):
		return map[string]any{"Fn::" + n.Tag[1:]: v}
	}
	return v
}

// at follows keys and indexes into a value; nil where there is nothing.
func at(v any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			s, _ := v.([]any)
			if key >= len(s) {
				return nil
			}
			v = s[key]
		}
	}
	return v
}

func (tp template) resources(kind string) map[string]map[string]any {
	found := map[string]map[string]any{}
	all, _ := tp.root["Resources"].(map[string]any)
	for id, r := range all {
		if at(r, "Type") == kind {
			found[id] = r.(map[string]any)
		}
	}
	return found
}

// functions are the function resources by the folder they are built from.
func (tp template) functions(t *testing.T) map[string]map[string]any {
	t.Helper()
	byFolder := map[string]map[string]any{}
	for id, f := range tp.resources("AWS::Serverless::Function") {
		uri, _ := at(f, "Properties", "CodeUri").(string)
		folder, ok := strings.CutPrefix(strings.TrimSuffix(uri, "/"), "functions/")
		if !ok {
			t.Errorf("%s: CodeUri %q is not a folder of functions/", id, uri)
		}
		if byFolder[folder] != nil {
			t.Errorf("functions/%s is deployed twice", folder)
		}
		byFolder[folder] = f
	}
	return byFolder
}

func folders(t *testing.T) []string {
	t.Helper()
	mains, err := filepath.Glob("*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("no mains: %v", err)
	}
	for i := range mains {
		mains[i] = filepath.Dir(mains[i])
	}
	return mains
}

func TestEachFolderIsOneFunction(t *testing.T) {
	tp := readTemplate(t)
	functions := tp.functions(t)
	if diff := cmp.Diff(folders(t), slices.Sorted(maps.Keys(functions))); diff != "" {
		t.Error(diff)
	}
	for folder, f := range functions {
		if at(f, "Metadata", "BuildMethod") != "go1.x" {
			t.Errorf("%s: sam would not build it as Go", folder)
		}
		logs, _ := at(f, "Properties", "LoggingConfig", "LogGroup", "Ref").(string)
		if at(tp.root, "Resources", logs, "Properties", "RetentionInDays") == nil {
			t.Errorf("%s: its log is kept for ever", folder)
		}
	}
	want := map[string]any{"Runtime": "provided.al2023", "Handler": "bootstrap", "Architectures": []any{"arm64"}}
	for key, value := range want {
		if diff := cmp.Diff(value, at(tp.root, "Globals", "Function", key)); diff != "" {
			t.Errorf("Globals.Function.%s: %s", key, diff)
		}
	}
}

var envName = regexp.MustCompile(`^(CHIPS|FORK|NEW_AGENT)_[A-Z0-9_]+$`)

// reads are the environment names a main reads, by the string literals in it and in what it begins with, and by what settings read for it.
func reads(t *testing.T, folder string) []string {
	t.Helper()
	names := map[string]bool{}
	for _, s := range settings.Names() {
		names[s] = true
	}
	for _, source := range []string{filepath.Join(folder, "main.go"), filepath.Join("..", "shared", "boot", "boot.go")} {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n, ok := n.(*ast.BasicLit); ok {
				if s, err := strconv.Unquote(n.Value); err == nil && envName.MatchString(s) {
					names[s] = true
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(names))
}

func TestEnvironmentIsWhatTheMainsRead(t *testing.T) {
	tp := readTemplate(t)
	everywhere, _ := at(tp.root, "Globals", "Function", "Environment", "Variables").(map[string]any)
	readAnywhere := map[string]bool{"GOMAXPROCS": true, "GOMEMLIMIT": true} // by Go itself
	for folder, f := range tp.functions(t) {
		own, _ := at(f, "Properties", "Environment", "Variables").(map[string]any)
		names := reads(t, folder)
		for _, name := range names {
			readAnywhere[name] = true
			if own[name] == nil && everywhere[name] == nil {
				t.Errorf("%s reads %s, which is not set", folder, name)
			}
		}
		for name := range own {
			if !slices.Contains(names, name) {
				t.Errorf("%s is given %s and does not read it", folder, name)
			}
		}
	}
	for name := range everywhere {
		if !readAnywhere[name] {
			t.Errorf("%s is set and nothing reads it", name)
		}
	}
}

// What a deployment has that sets nothing is what Chips has that sets nothing, but for the time between pings, which are metered on AWS.
func TestParametersDefaultToTheSettings(t *testing.T) {
	tp := readTemplate(t)
	got, err := settings.FromEnv(func(name string) string {
		parameter, _ := at(tp.root, "Globals", "Function", "Environment", "Variables", name, "Ref").(string)
		if parameter == "" {
			t.Errorf("%s is no parameter", name)
		}
		value, _ := at(tp.root, "Parameters", parameter, "Default").(string)
		return value
	})
	if err != nil {
		t.Fatal(err)
	}
	want := settings.Default()
	want.Ping = 8 * time.Minute
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// statements are the IAM statements of a function's policies.
func statements(f map[string]any) []any {
	var all []any
	policies, _ := at(f, "Properties", "Policies").([]any)
	for _, p := range policies {
		list, _ := at(p, "Statement").([]any)
		all = append(all, list...)
	}
	return all
}

// list is a value that may be one or several.
func list(v any) []any {
	if s, ok := v.([]any); ok {
		return s
	}
	return []any{v}
}

// The table that is deployed is the one the adapter makes where it makes one itself.
func TestTableIsTheAdapters(t *testing.T) {
	asked := map[string]map[string]any{} // by action
	target, err := url.Parse(emulator().URL)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(raw))
		_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		var in map[string]any
		_ = json.Unmarshal(raw, &in)
		asked[action] = in
		forward.ServeHTTP(w, r)
	}))
	defer server.Close()
	createTable(t, server.URL, "another")

	table := at(readTemplate(t).root, "Resources", "Table", "Properties")
	for _, key := range []string{"KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes", "BillingMode"} {
		if diff := cmp.Diff(asked["CreateTable"][key], at(table, key), sortedByName); diff != "" {
			t.Errorf("%s, adapter against template: %s", key, diff)
		}
	}
	imported := at(readTemplateFile(t, "../infra/restored-table.yaml").root, "Resources", "Table")
	if diff := cmp.Diff(at(readTemplate(t).root, "Resources", "Table"), imported, cmpopts.IgnoreMapEntries(func(key string, _ any) bool {
		return slices.Contains([]string{
			"TableName", "DeletionProtectionEnabled", "Tags", "PointInTimeRecoverySpecification", "TimeToLiveSpecification", "StreamSpecification",
		}, key) // what a table does not have when it was just restored
	})); diff != "" {
		t.Errorf("a restored table, template against import: %s", diff)
	}
	if view := at(asked["CreateTable"], "StreamSpecification", "StreamViewType"); view == nil || view != at(table, "StreamSpecification", "StreamViewType") {
		t.Errorf("stream of %v by the adapter, %v by the template", view, at(table, "StreamSpecification", "StreamViewType"))
	}
	ttl := at(asked["UpdateTimeToLive"], "TimeToLiveSpecification", "AttributeName")
	if ttl == nil || ttl != at(table, "TimeToLiveSpecification", "AttributeName") || at(table, "TimeToLiveSpecification", "Enabled") != "true" {
		t.Errorf("rows end by %v for the adapter, by %v in the template", ttl, at(table, "TimeToLiveSpecification"))
	}
}

// sortedByName compares lists of indexes and of attribute definitions, and no key schemas, without their order.
var sortedByName = cmpopts.SortSlices(func(a, b any) bool {
	name := func(v any) string {
		if _, isKey := at(v, "KeyType").(string); isKey {
			return fmt.Sprint(at(v, "KeyType"))
		}
		return fmt.Sprint(at(v, "IndexName"), at(v, "AttributeName"))
	}
	return name(a) < name(b)
})

func TestStreamMappingAndSocket(t *testing.T) {
	tp := readTemplate(t)
	stream := at(tp.root, "Resources", "FanoutFunction", "Properties", "Events", "Stream", "Properties")
	for key, want := range map[string]any{
		"StartingPosition":           "TRIM_HORIZON",
		"ParallelizationFactor":      "1",
		"BisectBatchOnFunctionError": "true",
		"FunctionResponseTypes":      []any{"ReportBatchItemFailures"},
	} {
		if diff := cmp.Diff(want, at(stream, key)); diff != "" {
			t.Errorf("stream mapping, %s: %s", key, diff)
		}
	}
	for _, key := range []string{"MaximumRetryAttempts", "MaximumRecordAgeInSeconds"} {
		if n, err := strconv.Atoi(fmt.Sprint(at(stream, key))); err != nil || n < 1 {
			t.Errorf("stream mapping, %s: %v would hold up the shard for a day", key, at(stream, key))
		}
	}
	if at(stream, "DestinationConfig", "OnFailure", "Destination") == nil {
		t.Error("stream mapping: what is given up on is lost")
	}
	if at(tp.root, "Resources", "Table", "DeletionPolicy") != "Retain" || at(tp.root, "Resources", "Table", "UpdateReplacePolicy") != "Retain" {
		t.Error("the table goes with the stack")
	}
	for id, a := range tp.resources("AWS::ApiGatewayV2::Authorizer") {
		if sources, _ := at(a, "Properties", "IdentitySource").([]any); len(sources) > 0 {
			t.Errorf("%s: with identity sources, a request that lacks one is a 401 without a call", id)
		}
	}
	routes := map[any]any{}
	for id, r := range tp.resources("AWS::ApiGatewayV2::Route") {
		routes[at(r, "Properties", "RouteKey")] = id
	}
	answers := false
	for _, r := range tp.resources("AWS::ApiGatewayV2::RouteResponse") {
		answers = answers || at(r, "Properties", "RouteId", "Ref") == routes["$default"]
	}
	if routes["$connect"] == nil || routes["$disconnect"] == nil || !answers {
		t.Errorf("routes %v, $default answers: %v", routes, answers)
	}
}
