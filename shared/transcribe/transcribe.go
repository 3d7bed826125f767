// Package transcribe listens to recordings by Amazon Transcribe: attachment.Listener.
//
// A job is started on the object as it is stored, asked about until it is done or the time is up, read and deleted. A voice note of a
// minute takes some ten seconds; what takes longer than its caller waits has no transcript. The service says when the last word ended, not how
// long a recording is or how large a picture: those stay unknown. It is three signed requests, since the SDK's client brings all of Transcribe with
// it, a fifteenth of the http function's package for what is off unless it is asked for.
package transcribe

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/protocol"
)

var _ attachment.Listener = (*Listener)(nil)

// Listener is Transcribe, over the objects of a bucket.
type Listener struct {
	cfg    aws.Config
	bucket string
	now    func() time.Time
	// every is how long is waited between two looks at a job.
	every time.Duration
}

// New listens to what is in a bucket.
func New(cfg aws.Config, bucket string, now func() time.Time) *Listener {
	return &Listener{cfg: cfg, bucket: bucket, now: now, every: time.Second}
}

// If is New where on, and nobody who listens else.
func If(on bool, cfg aws.Config, bucket string, now func() time.Time) attachment.Listener {
	if !on {
		return nil
	}
	return New(cfg, bucket, now)
}

// formats are what Transcribe calls the types it takes.
var formats = map[string]string{
	"audio/mpeg": "mp3", "audio/wave": "wav", "audio/flac": "flac", "application/ogg": "ogg", "video/mp4": "mp4", "audio/mp4": "mp4", "video/webm": "webm",
}

// job is what Transcribe says of one.
type job struct {
	TranscriptionJob struct {
		TranscriptionJobStatus string
		FailureReason          string
		Transcript             struct{ TranscriptFileUri string }
	}
}

// Hear answers what is said in a recording; nothing for a type that Transcribe does not take.
func (l *Listener) Hear(ctx context.Context, key string, file protocol.Attachment) (attachment.Heard, error) {
	format := formats[file.MimeType]
	if format == "" || file.ByteSize == 0 {
		return attachment.Heard{}, nil
	}
	name := map[string]string{"TranscriptionJobName": "chips-" + file.AttachmentID + "-" + rand.Text()}
	start := map[string]any{
		"TranscriptionJobName": name["TranscriptionJobName"], "IdentifyLanguage": true, "MediaFormat": format,
		"Media": map[string]string{"MediaFileUri": "s3://" + l.bucket + "/" + key},
	}
	var j job
	if err := l.call(ctx, "StartTranscriptionJob", start, &j); err != nil {
		return attachment.Heard{}, err
	}
	defer func() { // what was said is not left lying about
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = l.call(ctx, "DeleteTranscriptionJob", name, nil) // they go by themselves after ninety days
	}()
	for {
		switch j.TranscriptionJob.TranscriptionJobStatus {
		case "COMPLETED":
			return l.read(ctx, j.TranscriptionJob.Transcript.TranscriptFileUri)
		case "FAILED":
			return attachment.Heard{}, fmt.Errorf("transcribe: %s", j.TranscriptionJob.FailureReason)
		}
		wait := time.NewTimer(l.every)
		select {
		case <-ctx.Done():
			wait.Stop()
			return attachment.Heard{}, fmt.Errorf("transcribe takes too long: %w", ctx.Err())
		case <-wait.C:
		}
		if err := l.call(ctx, "GetTranscriptionJob", name, &j); err != nil {
			return attachment.Heard{}, err
		}
	}
}

// read reads a transcript from where a job put it.
func (l *Listener) read(ctx context.Context, uri string) (attachment.Heard, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return attachment.Heard{}, fmt.Errorf("transcribe: a transcript without an address")
	}
	var out struct {
		Results struct {
			Transcripts []struct {
				Transcript string `json:"transcript"`
			} `json:"transcripts"`
		} `json:"results"`
	}
	if err := l.do(req, &out); err != nil {
		return attachment.Heard{}, fmt.Errorf("transcribe, reading a transcript: %w", err)
	}
	var h attachment.Heard
	for _, t := range out.Results.Transcripts {
		h.Transcript += t.Transcript
	}
	return h, nil
}

// call makes one signed request of Transcribe.
func (l *Listener) call(ctx context.Context, action string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	endpoint := "https://transcribe." + l.cfg.Region + ".amazonaws.com/"
	if l.cfg.BaseEndpoint != nil {
		endpoint = *l.cfg.BaseEndpoint + "/"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "Transcribe."+action)
	who, err := l.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, who, req, hex.EncodeToString(sum[:]), "transcribe", l.cfg.Region, l.now()); err != nil {
		return err
	}
	if err := l.do(req, out); err != nil {
		return fmt.Errorf("transcribe, %s: %w", action, err)
	}
	return nil
}

func (l *Listener) do(req *http.Request, out any) error {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s %.200s", resp.Status, body)
	case out == nil:
		return nil
	}
	return json.Unmarshal(body, out)
}
