package apigw

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
)

// Config is the SDK's configuration as Lambda's environment has it: the function's role as credentials, its region, and another address
// for all of AWS where AWS_ENDPOINT_URL says so. What the SDK has to say is logged as everything else is. The SDK's own way to a
// configuration also knows profiles, single sign-on and machines' metadata, which would be a tenth of every function's package.
func Config(getenv func(string) string) (aws.Config, error) {
	region, key, secret := getenv("AWS_REGION"), getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY")
	if region == "" || key == "" || secret == "" {
		return aws.Config{}, errors.New("AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY have to be set, as Lambda does")
	}
	cfg := aws.Config{
		Region:      region,
		Credentials: credentials.NewStaticCredentialsProvider(key, secret, getenv("AWS_SESSION_TOKEN")),
		APIOptions:  []func(*middleware.Stack) error{PlainBodies},
		Logger: logging.LoggerFunc(func(c logging.Classification, format string, v ...any) {
			level := slog.LevelDebug
			if c == logging.Warn {
				level = slog.LevelWarn
			}
			slog.Log(context.Background(), level, fmt.Sprintf(format, v...), "from", "aws sdk")
		}),
	}
	if endpoint := getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		cfg.BaseEndpoint = &endpoint
	}
	return cfg, nil
}
