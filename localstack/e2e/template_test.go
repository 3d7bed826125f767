package main

import (
	"os"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// The changes all find their places in the template as it is, and leave nothing over that is meant for AWS.
func TestAdapt(t *testing.T) {
	raw, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	adapted, err := adapt(string(raw), changes("http://127.0.0.1:1", "x86_64"))
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"CodeUri: functions/", "BuildMethod", "arm64", "RouteResponse:", `CHIPS_PUSH_ENDPOINT: !Sub "https:`, "VisibilityTimeout: 360"} {
		if strings.Contains(adapted, left) {
			t.Errorf("%q is still there", left)
		}
	}
	read := func(s string) map[string]any {
		var doc struct {
			Resources map[string]any `yaml:"Resources"`
		}
		if err := yaml.Unmarshal([]byte(s), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Resources
	}
	before, after := read(string(raw)), read(adapted)
	for name := range before {
		if _, ok := after[name]; !ok && name != "DefaultRouteResponse" {
			t.Errorf("%s is left out too", name)
		}
	}
	if want := len(before) - 1 + 2; len(after) != want {
		t.Errorf("%d resources, want %d", len(after), want)
	}
	if _, err := adapt("Resources: {}", changes("", "")); err == nil {
		t.Error("a change that finds nothing is no error")
	}
}
