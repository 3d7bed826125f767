package session

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Guard runs what is done about one event of a stream, and lets no fault in it be the others': an error or a panic is logged as an
// alarm, and the event is passed over.
func Guard(ctx context.Context, log *slog.Logger, e protocol.Event, do func() error) {
	var err error
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil {
			log.ErrorContext(ctx, "an event cannot be written and is passed over", "alarm", true,
				"workspace_id", e.WorkspaceID, "seq", e.Seq, "type", e.Type, "error", err)
		}
	}()
	err = do()
}
