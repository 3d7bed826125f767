package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

// logs reads what the functions logged: no fault but that of the spoilt workspace, and nothing that is nobody's to read.
func (t *town) logs(ctx context.Context) error { return t.readLogs(ctx, true) }

// secrets is logs after faults that were made up.
func (t *town) secrets(ctx context.Context) error { return t.readLogs(ctx, false) }

func (t *town) readLogs(ctx context.Context, sound bool) error {
	secrets := []string{t.stack.adminToken, t.stack.edgeSecret, t.workspace.PairingCode, t.priya.PairingCode, t.scout.Token, t.ledger.Token, theQuestion}
	api := cloudwatchlogs.NewFromConfig(t.stack.cfg)
	var faults []error
	for name, group := range t.stack.ids {
		if !strings.HasSuffix(name, "Logs") {
			continue
		}
		lines := 0
		pages := cloudwatchlogs.NewFilterLogEventsPaginator(api, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: aws.String(group)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return fmt.Errorf("read the logs in %s: %w", group, err)
			}
			lines += len(page.Events)
			for _, e := range page.Events {
				line := aws.ToString(e.Message)
				if sound && strings.Contains(line, `"level":"ERROR"`) && !strings.Contains(line, t.spoilt) || strings.Contains(line, "panic") {
					faults = append(faults, fmt.Errorf("%s: %s", group, line))
				}
				for _, s := range secrets {
					if strings.Contains(line, s) {
						faults = append(faults, fmt.Errorf("%s shows a secret: %s", group, strings.ReplaceAll(line, s, "…")))
					}
				}
			}
		}
		if lines == 0 {
			faults = append(faults, fmt.Errorf("%s is empty", group))
		}
	}
	return errors.Join(faults...)
}
