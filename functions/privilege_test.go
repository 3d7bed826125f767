package functions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wildcards are the resources of statements that hold more than one, by how they end, and why each has to.
var wildcards = map[string]string{
	"${WebSocketApi}/${StageName}/GET/@connections/*":    "API Gateway makes up a connection's id when it opens",
	"${WebSocketApi}/${StageName}/POST/@connections/*":   "the same",
	"${WebSocketApi}/${StageName}/DELETE/@connections/*": "the same",
	"${Files.Arn}/files/*":                               "bytes are named by their sha256",
	":transcription-job/chips-*":                         "a job is named by the recording",
	"${Files.Arn}/uploads/*":                             "what is put to a signed URL is named by its upload",
	":schedule/${ScheduleGroup}/*":                       "a schedule is named after what is due; the group is this stack's",
}

// madeBySAM are the policies that SAM gives a function's role beside AWSLambdaBasicExecutionRole (it writes logs), by the event that asks
// for one. They are AWS's own, are for every resource of their kind, and SAM has no narrower ones; a kind that is not here has to be
// thought about.
var madeBySAM = map[string]string{
	"HttpApi":    "none",
	"ScheduleV2": "none: the schedule's role invokes the one function",
	"DynamoDB":   "AWSLambdaDynamoDBExecutionRole: reads streams",
	"SQS":        "AWSLambdaSQSQueueExecutionRole: receives from queues and deletes what was received",
}

// owners are the functions that may do what reaches far.
var owners = map[string][]string{
	"scheduler:CreateSchedule":      {"fanout"},
	"iam:PassRole":                  {"fanout"},
	"ssm:GetParameter":              {"fanout", "http", "replay", "socket"},
	"execute-api:ManageConnections": {"fanout", "http", "replay", "socket", "sweep"},
	"lambda:InvokeFunction":         {"replay", "socket"},
}

// templates are the one that is deployed and those nested in it, by their files.
func templates(t *testing.T) map[string]template {
	t.Helper()
	nested, err := filepath.Glob("../infra/*.yaml")
	if err != nil || len(nested) == 0 {
		t.Fatalf("no nested templates: %v", err)
	}
	all := map[string]template{}
	for _, file := range append(nested, "../template.yaml") {
		all[filepath.Base(file)] = readTemplateFile(t, file)
	}
	return all
}

// walk visits every mapping in v, with the way to it.
func walk(v any, way string, visit func(way string, m map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		visit(way, v)
		for key, value := range v {
			walk(value, way+"/"+key, visit)
		}
	case []any:
		for i, value := range v {
			walk(value, fmt.Sprint(way, "/", i), visit)
		}
	}
}

// text is a value as it is written in the template, without the function that makes a string of it.
func text(v any) string {
	for _, fn := range []string{"Fn::Sub", "Ref", "Fn::GetAtt"} {
		if s, ok := at(v, fn).(string); ok {
			return s
		}
	}
	if s, ok := v.(string); ok {
		return s
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}

// Every statement, of a role or of a resource, names its actions and its resources.
func TestLeastPrivilege(t *testing.T) {
	statements, used := 0, map[string]bool{}
	for file, tp := range templates(t) {
		walk(tp.root["Resources"], file, func(way string, s map[string]any) {
			if s["Effect"] == nil || s["Effect"] == "Deny" { // what takes away may take all
				return
			}
			statements++
			if s["NotAction"] != nil || s["NotResource"] != nil || s["NotPrincipal"] != nil || s["Action"] == nil || s["Resource"] == nil && s["Principal"] == nil {
				t.Errorf("%s: says what is not meant and not what is", way)
			}
			for _, action := range list(s["Action"]) {
				if a := text(action); strings.ContainsAny(a, "*?") {
					t.Errorf("%s: action %s", way, a)
				}
			}
			for _, resource := range list(s["Resource"]) {
				if end := endsWith(text(resource)); end != "" {
					used[end] = true
				} else if strings.ContainsAny(text(resource), "*?") {
					t.Errorf("%s: resource %s", way, text(resource))
				}
			}
			if strings.Contains(text(s["Principal"]), "*") {
				t.Errorf("%s: for everybody", way)
			}
		})
		walk(tp.root["Resources"], file, func(way string, m map[string]any) {
			if m["ManagedPolicyArns"] != nil {
				t.Errorf("%s: has policies of others", way)
			}
		})
	}
	if statements < 20 {
		t.Errorf("%d statements: they are looked for in the wrong place", statements)
	}
	for end := range wildcards {
		if !used[end] {
			t.Errorf("nothing ends with %s any more", end)
		}
	}
}

func endsWith(resource string) string {
	for end := range wildcards {
		if strings.HasSuffix(resource, end) && strings.Count(resource, "*") == 1 {
			return end
		}
	}
	return ""
}

// What functions are given comes from statements that are spelled out, and from SAM where it is known.
func TestPoliciesAreSpelledOut(t *testing.T) {
	tp := readTemplate(t)
	doing := map[string][]string{}
	for folder, f := range tp.functions(t) {
		policies, _ := at(f, "Properties", "Policies").([]any)
		if len(policies) == 0 {
			t.Errorf("%s: no policy; is it under another key?", folder)
		}
		for _, p := range policies {
			if at(p, "Statement") == nil {
				t.Errorf("%s: policy %v is not spelled out", folder, p)
			}
		}
		sources, _ := at(f, "Properties", "Events").(map[string]any)
		for name, e := range sources {
			if kind, _ := at(e, "Type").(string); madeBySAM[kind] == "" {
				t.Errorf("%s: what does SAM allow a function for %s, a %s?", folder, name, kind)
			}
		}
		for _, s := range statements(f) {
			for _, action := range list(at(s, "Action")) {
				if a := text(action); owners[a] != nil && !slices.Contains(doing[a], folder) {
					doing[a] = append(doing[a], folder)
				}
				if action == "iam:PassRole" && at(s, "Condition", "StringEquals", "iam:PassedToService") == nil {
					t.Errorf("%s: passes a role to any service", folder)
				}
			}
		}
	}
	for _, folders := range doing {
		slices.Sort(folders)
	}
	if diff := cmp.Diff(owners, doing); diff != "" {
		t.Error(diff)
	}
}

// rowsAllowed are what the pk of a row may begin with for a statement to be about it; "" is any.
func rowsAllowed(statement any) []string {
	keys := at(statement, "Condition", "ForAllValues:StringLike", "dynamodb:LeadingKeys")
	if keys == nil {
		return []string{""}
	}
	var rows []string
	for _, k := range list(keys) {
		rows = append(rows, strings.TrimSuffix(text(k), "*"))
	}
	return rows
}

// Credentials and all that leads to one are reached by who needs them, and by no function that only reads the log.
func TestCredentialsAreForFew(t *testing.T) {
	want := map[string][]string{
		"A#": {"authorize dynamodb:GetItem", "socket dynamodb:GetItem"},
		"T#": {"authorize dynamodb:DeleteItem"},
		"H#": nil, "P#": nil, "N#": nil,
	}
	for folder, f := range readTemplate(t).functions(t) {
		for _, s := range statements(f) {
			if at(s, "Resource", "Fn::GetAtt") != "Table.Arn" || folder == "http" {
				continue
			}
			for _, rows := range rowsAllowed(s) {
				if !slices.Contains([]string{"ws_", "K#", "S#", "X#", "L#", "F#", "D#", "A#", "T#", "U#", "B#", "Y#", "M#"}, rows) {
					t.Errorf("%s: what are the rows %q?", folder, rows)
				}
				if _, secret := want[rows]; !secret {
					continue
				}
				for _, action := range list(at(s, "Action")) {
					i := slices.Index(want[rows], folder+" "+text(action))
					if i < 0 {
						t.Errorf("%s may do %v to %s", folder, action, rows)
						continue
					}
					want[rows] = slices.Delete(want[rows], i, i+1)
				}
			}
		}
	}
	for rows, left := range want {
		if len(left) > 0 {
			t.Errorf("%s: not allowed any more: %q", rows, left)
		}
	}
}

var (
	soundsSecret = regexp.MustCompile(`(?i)secret|token|password|credential|key`)
	// named are parameters that sound like a secret and say where one is, or are switches.
	named     = regexp.MustCompile(`(Parameter|Version|Arn)$|^AcceptUrlToken$|^PersonKeys$`)
	reference = regexp.MustCompile(`^(\{\{resolve:ssm(-secure)?:\$\{\w+\}:\$\{\w+\}\}\},?)+$`)
)

// A secret is a parameter without an echo or a reference to where it is kept, and is in no default, name, output or variable.
func TestSecretsAreReferences(t *testing.T) {
	for file, tp := range templates(t) {
		parameters, _ := tp.root["Parameters"].(map[string]any)
		for name, p := range parameters {
			if soundsSecret.MatchString(name) && !named.MatchString(name) && (at(p, "NoEcho") != "true" || at(p, "Default") != nil) {
				t.Errorf("%s: parameter %s is shown to all who may look at the stack", file, name)
			}
		}
		walk(tp.root["Resources"], file, func(way string, m map[string]any) {
			variables, _ := m["Variables"].(map[string]any)
			for name, value := range variables {
				if !soundsSecret.MatchString(name) || named.MatchString(text(value)) {
					continue
				}
				if either, ok := at(value, "Fn::If").([]any); !ok || !reference.MatchString(text(either[1])) || either[2] != "" {
					t.Errorf("%s: %s is %s", way, name, text(value))
				}
			}
			if m["HeaderName"] != nil && !reference.MatchString(text(m["HeaderValue"])) {
				t.Errorf("%s: %v is %s", way, m["HeaderName"], text(m["HeaderValue"]))
			}
		})
		walk(tp.root["Outputs"], file, func(way string, m map[string]any) {
			if raw, _ := json.Marshal(m); strings.Contains(string(raw), "resolve:") {
				t.Errorf("%s tells a secret", way)
			}
		})
	}
}

// What can be reached from outside is the two APIs and the edge; what is behind them asks who calls.
func TestTwoApisAndTheEdgeAreAllThatIsPublic(t *testing.T) {
	public := regexp.MustCompile(`^AWS::(ApiGateway|ApiGatewayV2|AppSync|CloudFront|ElasticLoadBalancing|ElasticLoadBalancingV2|Serverless)::(Api|RestApi|HttpApi|WebSocketApi|GraphQLApi|Distribution|LoadBalancer)$`)
	open := map[string]string{}
	for file, tp := range templates(t) {
		all, _ := tp.root["Resources"].(map[string]any)
		for _, id := range slices.Sorted(maps.Keys(all)) {
			r := all[id]
			kind, _ := at(r, "Type").(string)
			if public.MatchString(kind) {
				open[id] = kind
			}
			switch kind {
			case "AWS::Lambda::Url":
				t.Errorf("%s: %s is a URL of its own", file, id)
			case "AWS::Serverless::Function":
				if at(r, "Properties", "FunctionUrlConfig") != nil {
					t.Errorf("%s: %s has a URL of its own", file, id)
				}
			case "AWS::Lambda::Permission":
				if p, _ := at(r, "Properties", "Principal").(string); !strings.HasSuffix(p, ".amazonaws.com") || at(r, "Properties", "SourceArn") == nil {
					t.Errorf("%s: %s lets %s in from anywhere", file, id, p)
				}
			case "AWS::S3::Bucket":
				for _, block := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} {
					if at(r, "Properties", "PublicAccessBlockConfiguration", block) != "true" {
						t.Errorf("%s: %s does not %s", file, id, block)
					}
				}
			case "AWS::ApiGatewayV2::Route":
				if at(r, "Properties", "RouteKey") == "$connect" && at(r, "Properties", "AuthorizationType") != "CUSTOM" {
					t.Errorf("%s: %s opens sockets for anybody", file, id)
				}
			}
		}
	}
	want := map[string]string{"WebSocketApi": "AWS::ApiGatewayV2::Api", "HttpApi": "AWS::Serverless::HttpApi", "Distribution": "AWS::CloudFront::Distribution"}
	if diff := cmp.Diff(want, open); diff != "" {
		t.Error(diff)
	}
}
