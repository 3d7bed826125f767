package apigw

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/google/go-cmp/cmp"
)

// lambdaEnvironment is what Lambda sets, with overrides.
func lambdaEnvironment(overrides ...string) func(string) string {
	env := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "SECRET", "AWS_SESSION_TOKEN": "SESSION",
	}
	for i := 0; i < len(overrides); i += 2 {
		env[overrides[i]] = overrides[i+1]
	}
	return func(name string) string { return env[name] }
}

func TestConfigIsTheEnvironments(t *testing.T) {
	cfg, err := Config(lambdaEnvironment())
	if err != nil {
		t.Fatal(err)
	}
	who, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil || who.AccessKeyID != "AKID" || who.SecretAccessKey != "SECRET" || who.SessionToken != "SESSION" || cfg.Region != "eu-central-1" || cfg.BaseEndpoint != nil {
		t.Errorf("%+v in %s at %v, %v", who, cfg.Region, cfg.BaseEndpoint, err)
	}
	if cfg, err = Config(lambdaEnvironment("AWS_ENDPOINT_URL", "http://127.0.0.1:1")); err != nil || aws.ToString(cfg.BaseEndpoint) != "http://127.0.0.1:1" {
		t.Errorf("at %v, %v", cfg.BaseEndpoint, err)
	}
	for _, name := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if _, err := Config(lambdaEnvironment(name, "")); err == nil {
			t.Errorf("without %s there is a configuration", name)
		}
	}
}

// asked is what a server was sent, without what is another each time: the time, and with it the signature.
type asked struct {
	Method, Path, Target, Type, Scope, Session string
	Body                                       map[string]any
}

func parameterStore(t *testing.T, status int, answer string) (aws.Config, *asked) {
	t.Helper()
	seen := &asked{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		scope, _, _ := strings.Cut(r.Header.Get("Authorization"), ",")
		*seen = asked{r.Method, r.URL.Path, r.Header.Get("X-Amz-Target"), r.Header.Get("Content-Type"), scope, r.Header.Get("X-Amz-Security-Token"), nil}
		_ = json.Unmarshal(raw, &seen.Body)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	cfg, err := Config(lambdaEnvironment("AWS_ENDPOINT_URL", server.URL))
	if err != nil {
		t.Fatal(err)
	}
	return cfg, seen
}

// A parameter is asked for as the SDK's client asks.
func TestParameterIsTheSDKsRequest(t *testing.T) {
	cfg, seen := parameterStore(t, http.StatusOK, `{"Parameter":{"Name":"/chips/x","Type":"SecureString","Value":"a secret","Version":3}}`)
	name := "/chips/x"
	theirs, err := ssm.NewFromConfig(cfg).GetParameter(t.Context(), &ssm.GetParameterInput{Name: &name, WithDecryption: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	want := *seen
	ours, err := Parameter(t.Context(), cfg, name, time.Now())
	if err != nil || ours != aws.ToString(theirs.Parameter.Value) {
		t.Errorf("%q, %v", ours, err)
	}
	if diff := cmp.Diff(want, *seen); diff != "" {
		t.Error(diff)
	}
}

func TestParameterThatIsNotThere(t *testing.T) {
	cfg, _ := parameterStore(t, http.StatusBadRequest, `{"__type":"ParameterNotFound","message":""}`)
	if value, err := Parameter(t.Context(), cfg, "/chips/x", time.Now()); err == nil || value != "" || !strings.Contains(err.Error(), "/chips/x") || !strings.Contains(err.Error(), "ParameterNotFound") {
		t.Errorf("%q, %v: want an error that names the parameter and what is wrong", value, err)
	}
	for status, body := range map[int]string{http.StatusOK: `{}`, http.StatusServiceUnavailable: `down`} {
		cfg, _ := parameterStore(t, status, body)
		if value, err := Parameter(t.Context(), cfg, "/chips/x", time.Now()); err == nil {
			t.Errorf("%d %s: %q", status, body, value)
		}
	}
}
