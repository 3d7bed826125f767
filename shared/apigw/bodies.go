package apigw

import (
	"context"
	"io"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// PlainBodies has a client of the SDK send bodies that can only be read; it is one of an aws.Config's APIOptions, and in each from
// Config. The SDK's bodies are io.WriterTo too, and answer io.EOF to WriteTo once they are closed, which they are as soon as the
// head of the response is there. net/http looks for more of a body after the last of it: where the other side was quicker with its
// answer, net/http takes that EOF for a failure and closes the connection over the response. The call has then failed though it was
// done.
func PlainBodies(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("PlainBodies", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		if req, ok := in.Request.(*smithyhttp.Request); ok {
			if body, ok := req.GetStream().(io.ReadSeeker); ok {
				plain, err := req.SetStream(struct{ io.ReadSeeker }{body})
				if err != nil {
					return middleware.DeserializeOutput{}, middleware.Metadata{}, err
				}
				in.Request = plain
			}
		}
		return next.HandleDeserialize(ctx, in)
	}), middleware.After)
}
