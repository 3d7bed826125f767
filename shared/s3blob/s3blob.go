// Package s3blob keeps the bytes of files in an S3 bucket: attachment.Blobs and attachment.Direct.
//
// S3 reads every write that returned. The bucket encrypts and is private; what expires unfinished uploads is the bucket's own rule. A signed
// PUT pins the length, since S3 takes what a signature does not cover; a signed GET pins what the answer calls itself.
package s3blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/chipschat/chips-aws/shared/attachment"
)

var (
	_ attachment.Blobs  = (*Blobs)(nil)
	_ attachment.Direct = (*Blobs)(nil)
)

// Blobs is a bucket.
type Blobs struct {
	client *s3.Client
	signer *s3.PresignClient
	bucket string
}

// New is the bucket of a name.
func New(cfg aws.Config, bucket string) *Blobs {
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = cfg.BaseEndpoint != nil }) // an emulator has one host
	// A signed PUT names no checksum: whoever makes it does not have the bytes.
	signer := s3.NewPresignClient(client, s3.WithPresignClientFromClientOptions(func(o *s3.Options) {
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	}))
	return &Blobs{client, signer, bucket}
}

// Put writes an object.
func (b *Blobs) Put(ctx context.Context, key string, body []byte) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.bucket, Key: &key, Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))),
	})
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return nil
}

// Get reads an object.
func (b *Blobs) Get(ctx context.Context, key string, most int64) ([]byte, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: &key})
	if _, none := errors.AsType[*types.NoSuchKey](err); none {
		return nil, attachment.ErrNoBlob
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	defer out.Body.Close()
	size := aws.ToInt64(out.ContentLength)
	if size > most {
		return nil, attachment.ErrTooLarge
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(out.Body, body); err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	// One more read: the SDK checks the checksum at the end of the bytes.
	if n, err := out.Body.Read(make([]byte, 1)); n > 0 || err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("get %s: more than it says, or damaged: %w", key, err)
	}
	return body, nil
}

// Delete deletes an object.
func (b *Blobs) Delete(ctx context.Context, key string) error {
	if _, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.bucket, Key: &key}); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// PutURL signs a PUT of exactly so many bytes.
func (b *Blobs) PutURL(ctx context.Context, key string, size int64, good time.Duration) (string, error) {
	in := &s3.PutObjectInput{Bucket: &b.bucket, Key: &key, ContentLength: &size}
	r, err := b.signer.PresignPutObject(ctx, in, s3.WithPresignExpires(good))
	if err != nil {
		return "", fmt.Errorf("sign a put of %s: %w", key, err)
	}
	return r.URL, nil
}

// GetURL signs a GET whose answer has a type and a disposition.
func (b *Blobs) GetURL(ctx context.Context, key, mimeType, disposition string, good time.Duration) (string, error) {
	in := &s3.GetObjectInput{
		Bucket: &b.bucket, Key: &key, ResponseContentType: &mimeType, ResponseContentDisposition: &disposition,
		ResponseCacheControl: aws.String("private"),
	}
	r, err := b.signer.PresignGetObject(ctx, in, s3.WithPresignExpires(good))
	if err != nil {
		return "", fmt.Errorf("sign a get of %s: %w", key, err)
	}
	return r.URL, nil
}
