package apigw

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/go-json-experiment/json"
)

// parameterTimeout bounds the one call: it is made before a function's first event.
const parameterTimeout = 5 * time.Second

// Parameter reads a parameter of SSM's Parameter Store, decrypted. It is one signed request and not the SDK's client, which brings all
// of SSM with it: a tenth of the package, and more time at a cold start than all else that is set up.
func Parameter(ctx context.Context, cfg aws.Config, name string, now time.Time) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, parameterTimeout)
	defer cancel()
	req, err := parameterRequest(ctx, cfg, name, now)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("asking for parameter %s: %w", name, err)
	}
	defer resp.Body.Close()
	var out struct {
		Parameter struct{ Value string }
		Type      string `json:"__type"` // of an error
		Message   string `json:"message"`
	}
	if err := json.UnmarshalRead(io.LimitReader(resp.Body, 64<<10), &out); err != nil {
		return "", fmt.Errorf("parameter %s: %s, and a body that cannot be read: %w", name, resp.Status, err)
	}
	if resp.StatusCode != http.StatusOK || out.Parameter.Value == "" {
		return "", fmt.Errorf("parameter %s: %s %s %s", name, resp.Status, out.Type, out.Message)
	}
	return out.Parameter.Value, nil
}

func parameterRequest(ctx context.Context, cfg aws.Config, name string, now time.Time) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{"Name": name, "WithDecryption": true})
	if err != nil {
		return nil, err
	}
	endpoint := "https://ssm." + cfg.Region + ".amazonaws.com"
	if strings.HasPrefix(cfg.Region, "cn-") {
		endpoint += ".cn"
	}
	if cfg.BaseEndpoint != nil {
		endpoint = *cfg.BaseEndpoint
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("asking for parameter %s: %w", name, err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "AmazonSSM.GetParameter")
	who, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, who, req, hex.EncodeToString(sum[:]), "ssm", cfg.Region, now); err != nil {
		return nil, fmt.Errorf("signing for parameter %s: %w", name, err)
	}
	return req, nil
}
