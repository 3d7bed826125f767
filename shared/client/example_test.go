package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// A harness that answers every message that is for it, once, however often it is started.
func Example() {
	var c *client.Client
	var since int64 // kept from the last run: c.LastSeq()
	c = client.New(client.Config{
		URL: "http://127.0.0.1:8787", Credential: client.Bearer(os.Getenv("CHIPS_KEY")), Since: &since,
		OnEvent: func(ctx context.Context, e client.Event) {
			if e.Type != "message.new" {
				return
			}
			ack, err := c.Post(ctx, client.Draft{Key: "seen-" + e.ID, SpaceID: e.SpaceID, Data: &protocol.MessagePost{Text: "Seen."}})
			slog.Info("answered", "seq", ack.Seq, "error", err)
		},
	})
	fmt.Println(c.Run(context.Background()))
}
