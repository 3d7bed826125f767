package main

import (
	"os"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

const theTemplate = "../../template.yaml"

func resources(t *testing.T, template string) map[string]any {
	t.Helper()
	var doc struct {
		Resources map[string]any `yaml:"Resources"`
	}
	if err := yaml.Unmarshal([]byte(template), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Resources
}

// For each target the changes all find their places in the template as it is, and leave nothing over that is meant for AWS, nor anything out
// that is not said.
func TestPrepare(t *testing.T) {
	raw, err := os.ReadFile(theTemplate)
	if err != nil {
		t.Fatal(err)
	}
	before := resources(t, string(raw))
	for name, known := range targets {
		prepared, err := prepare(options{template: theTemplate}, known.plan())
		if err != nil {
			t.Fatal(err)
		}
		for _, left := range []string{"CodeUri: functions/", "TemplateURL: infra/", "BuildMethod", "arm64", `CHIPS_PUSH_ENDPOINT: !Sub "https:`, "VisibilityTimeout: 360"} {
			if strings.Contains(prepared, left) {
				t.Errorf("%s: %q is still there", name, left)
			}
		}
		after := resources(t, prepared)
		for id := range before {
			if _, ok := after[id]; !ok && (name != "ministack" || id != "DefaultRouteResponse") {
				t.Errorf("%s: %s is left out", name, id)
			}
		}
		added := map[string]int{"ministack": 1, "localstack": 0}[name] // two for one
		if len(after) != len(before)+added {
			t.Errorf("%s: %d resources of %d", name, len(after), len(before))
		}
	}
	if _, err := adapt("Resources: {}", changes("", "")); err == nil {
		t.Error("a change that finds nothing is no error")
	}
}

// Each parameter that is given is one of the template's.
func TestParameters(t *testing.T) {
	raw, err := os.ReadFile(theTemplate)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Parameters map[string]any `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for _, p := range parameters {
		if doc.Parameters[p.name] == nil {
			t.Errorf("the template has no %s", p.name)
		}
	}
}
