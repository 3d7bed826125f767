package session

import (
	"context"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// Files makes the URLs by which a credential fetches files, from now on; *attachment.Service is one, and says what this does.
type Files interface {
	Links(ctx context.Context, credential string) (delivery.Links, error)
}

// HandOver is an event as Render made it with what is of the hand-over to a credential. Who knows no files (nil) makes no URLs. An error is
// of reading what URLs are signed with, which is done only where there is a file.
func HandOver(ctx context.Context, files Files, e protocol.Event, hand delivery.Hand, credential string) (protocol.Event, error) {
	if files != nil && delivery.HasFiles(e) {
		links, err := files.Links(ctx, credential)
		if err != nil {
			return e, err
		}
		hand.Links = links
	}
	return delivery.Finish(e, hand), nil
}
