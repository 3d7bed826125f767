package functions_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	// heading is one of an alarm, code what stands in code in a paragraph, and set a parameter given a value, in code or commands.
	heading = regexp.MustCompile(`(?m)^### (\w+)$`)
	code    = regexp.MustCompile("`([A-Z][a-z]+[A-Z]\\w+)`")
	set     = regexp.MustCompile(`\b([A-Z][a-z]+[A-Za-z]*)=[\w"]`)
	asked   = regexp.MustCompile(`\b(res|out) ([A-Z]\w+)`)
	test    = regexp.MustCompile("`(Test\\w+)`")
)

// names are what is named in the mappings under a section of a template.
func (tp template) names(section string) []string {
	m, _ := tp.root[section].(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

// The runbook names what there is: each alarm has its paragraph, and no parameter, output, resource or metric is made up.
func TestRunbook(t *testing.T) {
	raw, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	book := string(raw)
	tp := readTemplate(t)
	nested, _ := readNested(t, "infra/alarms.yaml")
	alarms := slices.Sorted(maps.Keys(nested.resources("AWS::CloudWatch::Alarm")))
	var told []string
	for _, m := range heading.FindAllStringSubmatch(book, -1) {
		told = append(told, m[1])
	}
	slices.Sort(told)
	if diff := cmp.Diff(alarms, told); diff != "" {
		t.Errorf("alarms of the template against those of the runbook: %s", diff)
	}
	known := slices.Concat(tp.names("Parameters"), tp.names("Outputs"), ownMetrics(), strings.Fields(strings.Join(slices.Collect(maps.Values(awsMetrics)), " ")))
	known = append(known, "DDBStreamBatchInfo", "TestSnapshotsMayBeDeleted")
	for _, m := range code.FindAllStringSubmatch(book, -1) {
		if !slices.Contains(known, m[1]) {
			t.Errorf("there is no %s", m[1])
		}
	}
	restored := readTemplateFile(t, "../infra/restored-table.yaml")
	for _, m := range set.FindAllStringSubmatch(book, -1) {
		if !slices.Contains(slices.Concat(tp.names("Parameters"), []string{"ParameterKey", "ParameterValue", "OutputKey"}), m[1]) {
			t.Errorf("there is no parameter %s to be set", m[1])
		}
	}
	if !slices.Equal(restored.names("Parameters"), []string{"TableName"}) {
		t.Errorf("the import takes %v", restored.names("Parameters"))
	}
	for _, m := range asked.FindAllStringSubmatch(book, -1) {
		section := map[string]string{"res": "Resources", "out": "Outputs"}[m[1]]
		if !slices.Contains(tp.names(section), m[2]) {
			t.Errorf("%s has no %s", section, m[2])
		}
	}
	for _, m := range test.FindAllStringSubmatch(book, -1) {
		if src, err := os.ReadFile("../shared/engine/snapshot_test.go"); err != nil || !strings.Contains(string(src), "func "+m[1]+"(") {
			t.Errorf("there is no %s: %v", m[1], err)
		}
	}
}
