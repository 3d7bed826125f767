package functions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chipschat/chips-aws/shared/emf"
)

// readNested reads a nested template, and what the template gives it as parameters.
func readNested(t *testing.T, file string) (tp template, given map[string]any) {
	t.Helper()
	for _, stack := range readTemplate(t).resources("AWS::CloudFormation::Stack") {
		if at(stack, "Properties", "TemplateURL") == file {
			given, _ = at(stack, "Properties", "Parameters").(map[string]any)
		}
	}
	if given == nil {
		t.Fatalf("%s is in no stack", file)
	}
	return readTemplateFile(t, "../"+file), given
}

func TestNestedTemplatesGetTheirParameters(t *testing.T) {
	stacks := readTemplate(t).resources("AWS::CloudFormation::Stack")
	if len(stacks) == 0 {
		t.Fatal("nothing is nested")
	}
	for id, stack := range stacks {
		file, _ := at(stack, "Properties", "TemplateURL").(string)
		nested, given := readNested(t, file)
		parameters, _ := nested.root["Parameters"].(map[string]any)
		for name, p := range parameters {
			if _, ok := given[name]; !ok && at(p, "Default") == nil {
				t.Errorf("%s: %s is not given its %s", id, file, name)
			}
		}
		for name := range given {
			if parameters[name] == nil {
				t.Errorf("%s: %s has no parameter %s", id, file, name)
			}
		}
	}
}

// awsMetrics are the names AWS has for what is looked at here.
var awsMetrics = map[string]string{
	"AWS/Lambda":     "Invocations Errors Throttles Duration IteratorAge",
	"AWS/SQS":        "ApproximateNumberOfMessagesVisible",
	"AWS/ApiGateway": "Count Latency 4xx 5xx ConnectCount MessageCount ClientError IntegrationError",
	"AWS/DynamoDB":   "ConsumedReadCapacityUnits ConsumedWriteCapacityUnits",
}

// ownMetrics are those that functions write, and Errors, which is made of their logs.
func ownMetrics() []string {
	names := []string{"Errors"}
	for _, m := range emf.Metrics() {
		names = append(names, string(m))
	}
	return names
}

// watched says what is wrong with a metric that an alarm or the dashboard looks at; dimension is a name and a value, or neither.
func watched(tp template, given map[string]any, namespace, name string, dimension ...string) error {
	if namespace == "Chips/${Stack}" {
		if !slices.Contains(ownMetrics(), name) || len(dimension) != 0 {
			return fmt.Errorf("no function counts %s by %v", name, dimension)
		}
		return nil
	}
	if !slices.Contains(strings.Fields(awsMetrics[namespace]), name) || len(dimension) != 2 {
		return fmt.Errorf("%s has no metric %s by %v", namespace, name, dimension)
	}
	value := dimension[1]
	kind := map[string]string{
		"FunctionName": "AWS::Serverless::Function", "QueueName": "AWS::SQS::Queue", "TableName": "AWS::DynamoDB::Table", "ApiId": "Api",
	}[dimension[0]]
	if kind == "AWS::Serverless::Function" {
		for _, f := range tp.resources(kind) {
			if at(f, "Properties", "FunctionName", "Fn::Sub") == strings.Replace(value, "${Stack}", "${AWS::StackName}", 1) {
				return nil
			}
		}
		return fmt.Errorf("no function is named %s", value)
	}
	parameter := strings.Trim(value, "${}")
	of, _ := at(given[parameter], "Ref").(string)
	if attribute, ok := at(given[parameter], "Fn::GetAtt").(string); ok {
		of = strings.TrimSuffix(attribute, ".QueueName")
	}
	if is, _ := at(tp.root, "Resources", of, "Type").(string); kind == "" || !strings.HasSuffix(is, kind) {
		return fmt.Errorf("%s %s is given %q, a %q", dimension[0], value, of, is)
	}
	return nil
}

func TestAlarms(t *testing.T) {
	tp := readTemplate(t)
	nested, given := readNested(t, "infra/alarms.yaml")
	alarms := nested.resources("AWS::CloudWatch::Alarm")
	if len(alarms) == 0 || len(alarms) > 10 {
		t.Errorf("%d alarms: the first ten metrics that an account's alarms look at are free", len(alarms))
	}
	for id, a := range alarms {
		p, _ := at(a, "Properties").(map[string]any)
		if at(p, "AlarmName", "Fn::Sub") != "${Stack}-"+id {
			t.Errorf("%s is named %v", id, p["AlarmName"])
		}
		if p["TreatMissingData"] != "notBreaching" || at(p, "AlarmActions", 0, "Ref") != "Topic" {
			t.Errorf("%s: without data %v, and tells %v", id, p["TreatMissingData"], p["AlarmActions"])
		}
		if p["Metrics"] != nil {
			t.Errorf("%s looks at several metrics, and is billed for each", id)
		}
		namespace, _ := at(p, "Namespace").(string)
		if sub, ok := at(p, "Namespace", "Fn::Sub").(string); ok {
			namespace = sub
		}
		var dimension []string
		if name, ok := at(p, "Dimensions", 0, "Name").(string); ok {
			value := at(p, "Dimensions", 0, "Value")
			dimension = []string{name, fmt.Sprint(at(value, "Fn::Sub"))}
			if ref, ok := at(value, "Ref").(string); ok {
				dimension[1] = "${" + ref + "}"
			}
		}
		if err := watched(tp, given, namespace, fmt.Sprint(p["MetricName"]), dimension...); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// What functions log as errors is one metric, in the namespace of those they count: each one's log is looked at.
func TestErrorsAreThoseOfEveryFunction(t *testing.T) {
	tp := readTemplate(t)
	nested, given := readNested(t, "infra/alarms.yaml")
	if at(tp.root, "Globals", "Function", "Environment", "Variables", "CHIPS_METRICS", "Fn::Sub") != "Chips/${AWS::StackName}" || at(given, "Stack", "Ref") != "AWS::StackName" {
		t.Error("functions count under another name than alarms look under")
	}
	var groups, want []string
	for id, f := range nested.resources("AWS::Logs::MetricFilter") {
		group, _ := at(f, "Properties", "LogGroupName", "Fn::Sub").(string)
		groups = append(groups, strings.Replace(group, "${Stack}", "${AWS::StackName}", 1))
		made := at(f, "Properties", "MetricTransformations", 0)
		if at(made, "MetricName") != "Errors" || at(made, "MetricNamespace", "Fn::Sub") != "Chips/${Stack}" {
			t.Errorf("%s makes %v", id, made)
		}
		if path, _ := at(f, "Properties", "FilterPattern", "Fn::FindInMap").([]any); len(path) != 3 || at(nested.root, "Mappings", path[0], path[1], path[2]) == nil {
			t.Errorf("%s looks for %v", id, path)
		}
	}
	for _, g := range tp.resources("AWS::Logs::LogGroup") {
		want = append(want, fmt.Sprint(at(g, "Properties", "LogGroupName", "Fn::Sub")))
	}
	slices.Sort(groups)
	slices.Sort(want)
	if !slices.Equal(groups, want) {
		t.Errorf("looks at %v of %v", groups, want)
	}
}

func TestDashboard(t *testing.T) {
	tp := readTemplate(t)
	nested, given := readNested(t, "infra/dashboard.yaml")
	body, _ := at(nested.root, "Resources", "Dashboard", "Properties", "DashboardBody", "Fn::Sub").(string)
	var dashboard struct {
		Widgets []struct {
			X, Y, Width, Height int
			Properties          struct {
				Title   string
				Metrics [][]any
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &dashboard); err != nil {
		t.Fatal(err)
	}
	shown, own := 0, map[string]bool{}
	for _, w := range dashboard.Widgets {
		if w.X+w.Width > 24 || w.Width == 0 || w.Height == 0 {
			t.Errorf("%s is off the page", w.Properties.Title)
		}
		for _, m := range w.Properties.Metrics {
			shown++
			var words []string
			for _, word := range m {
				if s, ok := word.(string); ok {
					words = append(words, s)
				}
			}
			if err := watched(tp, given, words[0], words[1], words[2:]...); err != nil {
				t.Errorf("%s: %v", w.Properties.Title, err)
			}
			own[words[1]] = own[words[1]] || words[0] == "Chips/${Stack}"
		}
	}
	if shown == 0 || shown > 50 {
		t.Errorf("%d metrics are shown: dashboards of more than 50 are not free", shown)
	}
	for _, name := range ownMetrics() {
		if !own[name] {
			t.Errorf("%s is counted and not shown", name)
		}
	}
	for _, ref := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(body, -1) {
		if at(nested.root, "Parameters", ref[1]) == nil {
			t.Errorf("there is no parameter %s in %v", ref[1], slices.Sorted(maps.Keys(given)))
		}
	}
}
