package functions_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/google/go-cmp/cmp"
)

// Managed policies of CloudFront by the ids AWS gave them.
const (
	cachingDisabled           = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad"
	allViewerExceptHostHeader = "b689b0a8-53d0-40ab-baf2-68738e2966ac"
)

func distribution(t *testing.T) any {
	t.Helper()
	config := at(readTemplateFile(t, "../infra/edge.yaml").root, "Resources", "Distribution", "Properties", "DistributionConfig")
	if config == nil {
		t.Fatal("infra/edge.yaml has no distribution")
	}
	return config
}

// rewritten runs the function the edge has for /v1/ws on a request and answers what it makes of it.
func rewritten(t *testing.T, stage, request string) any {
	t.Helper()
	code, _ := at(readTemplateFile(t, "../infra/edge.yaml").root, "Resources", "SocketPath", "Properties", "FunctionCode", "Fn::Sub").(string)
	vm := goja.New()
	if _, err := vm.RunString(strings.ReplaceAll(code, "${StageName}", stage)); err != nil {
		t.Fatal(err)
	}
	answer, err := vm.RunString(fmt.Sprintf(`JSON.stringify(handler({version: "1.0", context: {eventType: "viewer-request"}, viewer: {ip: "203.0.113.7"}, request: %s}))`, request))
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal([]byte(answer.String()), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The path becomes the stage, and nothing else of an upgrade changes.
func TestEdgeRewritesThePathOfTheSocket(t *testing.T) {
	upgrade := `{"method": "GET", "uri": %q, "querystring": {"ticket": {"value": "a%%2Bb"}, "since": {"value": "1", "multiValue": [{"value": "1"}, {"value": "2"}]}},
		"headers": {"host": {"value": "chips.example"}, "authorization": {"value": "Bearer x"}, "sec-websocket-key": {"value": "dGhlIHNhbXBsZSBub25jZQ=="}}, "cookies": {}}`
	for _, stage := range []string{"prod", "my-stage_2"} {
		var want any
		if err := json.Unmarshal(fmt.Appendf(nil, upgrade, "/"+stage), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, rewritten(t, stage, fmt.Sprintf(upgrade, "/v1/ws"))); diff != "" {
			t.Errorf("stage %s: %s", stage, diff)
		}
	}
}

// Both APIs are reached by https only, with the secret, which is in the template by its name; nothing that comes back is kept.
func TestEdgePassesEverythingAndKeepsNothing(t *testing.T) {
	config := distribution(t)
	hosts := map[any]any{}
	for _, o := range list(at(config, "Origins")) {
		hosts[at(o, "Id")] = at(o, "DomainName", "Ref")
		secret := at(o, "OriginCustomHeaders", 0)
		if at(secret, "HeaderName") != "X-Chips-Edge" || at(secret, "HeaderValue", "Fn::Sub") != "{{resolve:ssm:${SecretParameter}:${SecretVersion}}}" {
			t.Errorf("origin %v is sent %v", at(o, "Id"), secret)
		}
		if at(o, "CustomOriginConfig", "OriginProtocolPolicy") != "https-only" || at(o, "OriginPath") != nil {
			t.Errorf("origin %v: %v", at(o, "Id"), o)
		}
	}
	if diff := cmp.Diff(map[any]any{"socket": "SocketHost", "http": "HttpHost"}, hosts); diff != "" {
		t.Error(diff)
	}
	socket, rest := at(config, "CacheBehaviors", 0), at(config, "DefaultCacheBehavior")
	if at(socket, "PathPattern") != "/v1/ws" || at(socket, "TargetOriginId") != "socket" || at(rest, "TargetOriginId") != "http" || len(list(at(config, "CacheBehaviors"))) != 1 {
		t.Errorf("/v1/ws goes to %v, all else to %v", at(socket, "TargetOriginId"), at(rest, "TargetOriginId"))
	}
	if at(socket, "FunctionAssociations", 0, "EventType") != "viewer-request" || at(rest, "FunctionAssociations") != nil {
		t.Error("the function is not on the socket's path alone, where it comes in")
	}
	for _, b := range []any{socket, rest} {
		if at(b, "CachePolicyId") != cachingDisabled || at(b, "OriginRequestPolicyId") != allViewerExceptHostHeader || at(b, "ViewerProtocolPolicy") != "https-only" {
			t.Errorf("%v", b)
		}
	}
	for _, method := range []any{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"} {
		if !slices.Contains(list(at(rest, "AllowedMethods")), method) {
			t.Errorf("%v does not get through", method)
		}
	}
	kept := map[any]any{}
	for _, e := range list(at(config, "CustomErrorResponses")) {
		kept[at(e, "ErrorCode")] = at(e, "ErrorCachingMinTTL")
	}
	for _, status := range []any{"400", "403", "404", "405", "414", "416", "500", "501", "502", "503", "504"} { // all that can be kept
		if kept[status] != "0" {
			t.Errorf("a %v is kept for %v seconds", status, kept[status])
		}
	}
	if at(config, "Logging") != nil {
		t.Error("the edge's log would have tickets in it")
	}
}

// What the edge sends, the functions take, and before the edge sends it.
func TestFunctionsTakeWhatTheEdgeSends(t *testing.T) {
	tp := readTemplate(t)
	edge := at(tp.root, "Resources", "EdgeStack")
	want := "{{resolve:ssm:${EdgeSecretParameter}:${EdgeSecretVersion}}},{{resolve:ssm:${EdgeSecretParameter}:${EdgePreviousVersion}}}"
	for _, name := range []string{"authorize", "http"} {
		taken := at(tp.functions(t)[name], "Properties", "Environment", "Variables", "CHIPS_EDGE_SECRETS", "Fn::If")
		if diff := cmp.Diff([]any{"HasEdge", map[string]any{"Fn::Sub": want}, ""}, taken); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if at(edge, "Properties", "Parameters", "SecretParameter", "Ref") != "EdgeSecretParameter" || at(edge, "Properties", "Parameters", "SecretVersion", "Ref") != "EdgeSecretVersion" {
		t.Errorf("the edge sends another: %v", at(edge, "Properties", "Parameters"))
	}
	for _, first := range []any{"AuthorizeFunction", "HttpFunction"} {
		if !slices.Contains(list(at(edge, "DependsOn")), first) {
			t.Errorf("the edge may send a secret that %v does not take yet", first)
		}
	}
}
