package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// A dry run says all that would be done, on either target, and needs neither an emulator nor Docker nor an account.
func TestDryRun(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("LOCALSTACK_AUTH_TOKEN", "")
	built := t.TempDir()
	mains, err := filepath.Glob("../../functions/*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("no mains: %v", err)
	}
	for _, main := range mains {
		name := filepath.Base(filepath.Dir(main))
		if err := os.MkdirAll(filepath.Join(built, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(built, name, "bootstrap"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string][]string{
		"ministack":  {"changed: DefaultRouteResponse is left out", "step: writes while"},
		"localstack": {"docker compose --file localstack/compose.yaml up", "docker compose --file localstack/compose.yaml down", "deploy: DefaultRouteResponse, a AWS::ApiGatewayV2::RouteResponse", "left out, for want of faults in front of LocalStack: writes while"},
	} {
		var out bytes.Buffer
		o := options{target: target, template: theTemplate, functions: built, dryRun: true}
		if err := run(context.Background(), o, &out); err != nil {
			t.Fatal(err)
		}
		want = append(want, "changed: packages come from a bucket", "parameter: ForkWaitMs is 4000", "deploy: Table, a AWS::DynamoDB::Table", "step: a ticket opens one socket", "deploy: EdgeStack, a AWS::CloudFormation::Stack", "not tried: ", "/chips/admin-token")
		for _, main := range mains {
			want = append(want, filepath.Base(filepath.Dir(main))+"/bootstrap as s3://chips-e2e/"+filepath.Base(filepath.Dir(main))+".zip")
		}
		for _, line := range want {
			if !strings.Contains(out.String(), line) {
				t.Errorf("%s: %q is not said in\n%s", target, line, &out)
			}
		}
	}
	if err := run(context.Background(), options{target: "aws", dryRun: true}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "aws") {
		t.Errorf("an unknown target: %v", err)
	}
	if err := run(context.Background(), options{target: "ministack", template: theTemplate, functions: t.TempDir(), dryRun: true}, &bytes.Buffer{}); err == nil {
		t.Error("functions that are not built are no error")
	}
}

// Without a token LocalStack is not started, and it is said what kind is needed.
func TestLocalStackNeedsAToken(t *testing.T) {
	t.Setenv("LOCALSTACK_AUTH_TOKEN", "")
	t.Setenv("PATH", "")
	err := run(context.Background(), options{target: "localstack"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "LOCALSTACK_AUTH_TOKEN") || !strings.Contains(err.Error(), "Base") {
		t.Errorf("%v", err)
	}
}

// The compose file starts one version, on the loopback only, and not without a token.
func TestCompose(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("../..", composeFile))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Services map[string]struct {
			Image       string            `yaml:"image"`
			Ports       []string          `yaml:"ports"`
			Environment map[string]string `yaml:"environment"`
			Volumes     []string          `yaml:"volumes"`
			Healthcheck struct {
				Test []string `yaml:"test"`
			} `yaml:"healthcheck"`
		} `yaml:"services"`
		Volumes map[string]any `yaml:"volumes"`
		Name    string         `yaml:"name"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	s, ok := doc.Services["localstack"]
	if !ok || len(doc.Services) != 1 || doc.Name == "" {
		t.Fatalf("%+v", doc)
	}
	if !regexp.MustCompile(`^localstack/localstack:\d{4}\.\d{2}\.\d+$`).MatchString(s.Image) {
		t.Errorf("the image %q is no version", s.Image)
	}
	if len(s.Ports) != 1 || s.Ports[0] != "127.0.0.1:4566:4566" || !strings.HasSuffix(localStackURL, "127.0.0.1:4566") {
		t.Errorf("it listens at %v", s.Ports)
	}
	if !strings.HasPrefix(s.Environment["LOCALSTACK_AUTH_TOKEN"], "${LOCALSTACK_AUTH_TOKEN:?") {
		t.Error("it starts without a token")
	}
	for _, v := range s.Volumes {
		name, _, ok := strings.Cut(v, ":")
		if _, named := doc.Volumes[name]; !ok || !named && name != "/var/run/docker.sock" {
			t.Errorf("the volume %s", v)
		}
	}
	if len(s.Healthcheck.Test) == 0 {
		t.Error("nothing says when it is up")
	}
}
