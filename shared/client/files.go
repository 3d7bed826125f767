package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/protocol"
)

const (
	// wholeBytes is up to which size a file goes in one request: Lambda takes no more.
	wholeBytes = 4 << 20
	// maxFile is how large a file may be.
	maxFile = 25 << 20
	// fileTime is how long a file may take on its way.
	fileTime = 5 * time.Minute
)

// Upload stores a file of at most 25 MB and answers what it is; its AttachmentID goes into upload_ids. A large one is put to a URL that the
// server signs.
func (a API) Upload(ctx context.Context, filename string, r io.Reader) (protocol.Attachment, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return protocol.Attachment{}, fmt.Errorf("read %s: %w", filename, err)
	}
	if len(body) > maxFile {
		return protocol.Attachment{}, protocol.Refuse(protocol.TooLarge, "a file has %d bytes at most", maxFile)
	}
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	defer cancel()
	if len(body) <= wholeBytes {
		return a.uploadWhole(ctx, filename, body)
	}
	var started struct {
		AttachmentID string `json:"attachment_id"`
		PutURL       string `json:"put_url"`
	}
	in := map[string]any{"filename": filename, "byte_size": len(body)}
	if err := a.Do(ctx, http.MethodPost, "/v1/uploads", in, &started); err != nil {
		return protocol.Attachment{}, err
	}
	if _, err := a.transfer(ctx, http.MethodPut, started.PutURL, body, nil); err != nil {
		return protocol.Attachment{}, err
	}
	var file protocol.Attachment
	err = a.Do(ctx, http.MethodPost, "/v1/uploads/"+url.PathEscape(started.AttachmentID)+"/done", nil, &file)
	return file, err
}

func (a API) uploadWhole(ctx context.Context, filename string, body []byte) (protocol.Attachment, error) {
	var file protocol.Attachment
	answer, err := a.transfer(ctx, http.MethodPost, a.URL+"/v1/uploads?"+url.Values{"filename": {filename}}.Encode(), body, a.Credential)
	if err == nil {
		err = json.Unmarshal(answer, &file)
	}
	return file, err
}

// Fetch answers the bytes behind the URL of a file, as a delivery or GET …/files has it. A URL that is not good any more is a
// *protocol.Error with code forbidden.
func (a API) Fetch(ctx context.Context, fileURL string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	defer cancel()
	return a.transfer(ctx, http.MethodGet, fileURL, nil, nil)
}

// transfer does a request whose body, or whose answer, is a file.
func (a API) transfer(ctx context.Context, method, target string, body []byte, as Credential) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if as != nil {
		req.Header.Set("Content-Type", "application/octet-stream")
		if err := as(req, body); err != nil {
			return nil, fmt.Errorf("sign %s: %w", method, err)
		}
	}
	hc := a.HTTP
	if hc == nil {
		hc = http.DefaultClient
	}
	resp, err := hc.Do(req)
	if err != nil {
		var failed *url.Error // its text has the URL, which is a secret
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, fmt.Errorf("%s of a file: %w", method, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s of a file: %w", method, err)
	}
	if resp.StatusCode >= 300 {
		e := &protocol.Error{}
		if json.Unmarshal(answer, e) == nil && e.Code != "" {
			return nil, e
		}
		return nil, fmt.Errorf("%s of a file: %s", method, resp.Status)
	}
	return answer, nil
}
