package apigw

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// urlKnown is how long the public URL is known without being asked for again.
const urlKnown = 5 * time.Minute

// PublicURL answers where clients reach the HTTP API, from a parameter of SSM: the host in front is made after the functions, so none can be
// told it in its environment. It is asked for when it is needed first, which is with the first file.
func PublicURL(cfg aws.Config, parameter string, now func() time.Time) func(context.Context) (string, error) {
	var mu sync.Mutex
	var url string
	var at time.Time
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if url != "" && now().Sub(at) < urlKnown {
			return url, nil
		}
		value, err := Parameter(ctx, cfg, parameter, now())
		if err != nil {
			if url != "" { // what it was goes on
				return url, nil
			}
			return "", err
		}
		url, at = strings.TrimRight(value, "/"), now()
		return url, nil
	}
}
