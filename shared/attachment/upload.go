package attachment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// Upload stores a file for the caller and answers what it is.
func (s *Service) Upload(ctx context.Context, by workspace.Caller, filename string, body []byte) (protocol.Attachment, error) {
	if len(body) > MaxBytes {
		return protocol.Attachment{}, tooLarge()
	}
	u := s.newUpload(by, filename)
	u.File = described(u.File, body)
	if err := s.put(ctx, &u); err != nil {
		return protocol.Attachment{}, err
	}
	return s.store(ctx, &u, body)
}

// Started is an upload whose bytes are to be put to a URL.
type Started struct {
	AttachmentID string `json:"attachment_id"`
	// PutURL takes a PUT of exactly the bytes that were announced.
	PutURL          string        `json:"put_url"`
	PutURLExpiresAt protocol.Time `json:"put_url_expires_at"`
}

// Begin announces an upload of so many bytes, to be put to a URL and then to be said Done.
func (s *Service) Begin(ctx context.Context, by workspace.Caller, filename string, size int64) (Started, error) {
	switch {
	case size < 0:
		return Started{}, protocol.Refuse(protocol.InvalidRequest, "byte_size is below 0")
	case size > MaxBytes:
		return Started{}, tooLarge()
	}
	u := s.newUpload(by, filename)
	u.File.ByteSize, u.Staged = size, true
	if err := s.put(ctx, &u); err != nil {
		return Started{}, err
	}
	until := ceil(s.c.Now().Add(s.c.URLFor))
	start := Started{AttachmentID: u.File.AttachmentID, PutURLExpiresAt: protocol.At(until)}
	var err error
	if s.c.Direct != nil {
		start.PutURL, err = s.c.Direct.PutURL(ctx, stagedKey(start.AttachmentID), size, s.c.URLFor)
	} else {
		start.PutURL, err = s.putURL(ctx, start.AttachmentID, until)
	}
	return start, err
}

// Receive takes the bytes that are put to a URL of ours.
func (s *Service) Receive(ctx context.Context, id, exp, sig string, body []byte) error {
	if err := s.checkPutURL(ctx, id, exp, sig); err != nil {
		return err
	}
	u, ok, err := s.get(ctx, id)
	switch {
	case err != nil:
		return err
	case !ok || !u.Staged || u.File.SHA256 != "":
		return badURL()
	case int64(len(body)) != u.File.ByteSize:
		return wrongSize(u.File.ByteSize, len(body))
	}
	if err := s.c.Blobs.Put(ctx, stagedKey(id), body); err != nil {
		return fmt.Errorf("store upload %s: %w", id, err)
	}
	return nil
}

// Done looks at the bytes that were put to an upload's URL, stores them and answers what they are. It may be said again.
func (s *Service) Done(ctx context.Context, by workspace.Caller, id string) (protocol.Attachment, error) {
	u, ok, err := s.get(ctx, id)
	switch {
	case err != nil:
		return protocol.Attachment{}, err
	case !ok || u.Workspace != by.Workspace || u.By != by.ID:
		return protocol.Attachment{}, noSuchFile()
	case u.Blob != "":
		return u.File, nil
	case !u.Staged:
		return protocol.Attachment{}, noSuchFile()
	}
	body, err := s.c.Blobs.Get(ctx, stagedKey(id), MaxBytes)
	switch {
	case errors.Is(err, ErrNoBlob):
		return protocol.Attachment{}, protocol.Refuse(protocol.InvalidRequest, "nothing was put to put_url")
	case errors.Is(err, ErrTooLarge):
		return protocol.Attachment{}, tooLarge()
	case err != nil:
		return protocol.Attachment{}, fmt.Errorf("read upload %s: %w", id, err)
	}
	if int64(len(body)) != u.File.ByteSize {
		return protocol.Attachment{}, wrongSize(u.File.ByteSize, len(body))
	}
	file := described(u.File, body)
	if u.File.SHA256 != "" && u.File.SHA256 != file.SHA256 { // another call of Done, which is at it or died, saw others
		return protocol.Attachment{}, protocol.Refuse(protocol.InvalidRequest, "the bytes were put anew while they were read: upload them again")
	}
	if u.File.SHA256 == "" {
		// Written down before the bytes have a use, so that the sweep knows of it.
		u.File = file
		if err := s.put(ctx, &u); err != nil {
			return protocol.Attachment{}, busy(err)
		}
	}
	if file, err = s.store(ctx, &u, body); err != nil {
		return protocol.Attachment{}, err
	}
	if err := s.c.Blobs.Delete(ctx, stagedKey(id)); err != nil { // they go by themselves after some days
		s.c.Logger.WarnContext(ctx, "an upload's bytes could not be deleted where they were put", "attachment_id", id, "error", err)
	}
	return file, nil
}

func (s *Service) newUpload(by workspace.Caller, filename string) upload {
	until := protocol.At(s.c.Now().Add(unposted))
	return upload{
		Workspace: by.Workspace, By: by.ID, Until: until, due: until.Time,
		File: protocol.Attachment{AttachmentID: s.newID(), Filename: CleanFilename(filename)},
	}
}

// store keeps the bytes of an upload whose row knows what they are, and makes it ready to be posted.
func (s *Service) store(ctx context.Context, u *upload, body []byte) (protocol.Attachment, error) {
	key, err := s.keep(ctx, u.File.SHA256, u.File.AttachmentID, body)
	if err != nil {
		return protocol.Attachment{}, err
	}
	u.Blob = key
	s.hear(ctx, u)
	if err := s.put(ctx, u); err != nil {
		return protocol.Attachment{}, busy(err)
	}
	return u.File, nil
}

// hearFor is how long a voice note is listened to.
const hearFor = 20 * time.Second

// hear asks the listener, if there is one, about a recording. Without an answer the fields are left out.
func (s *Service) hear(ctx context.Context, u *upload) {
	kind, _, _ := strings.Cut(u.File.MimeType, "/")
	if s.c.Listener == nil || kind != "audio" && kind != "video" && u.File.MimeType != "application/ogg" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hearFor)
	defer cancel()
	h, err := s.c.Listener.Hear(ctx, u.Blob, u.File)
	if err != nil {
		s.c.Logger.WarnContext(ctx, "a recording could not be listened to", "attachment_id", u.File.AttachmentID, "error", err)
		return
	}
	u.File.DurationMS, u.File.Transcript = h.DurationMS, cut(h.Transcript, maxTranscript)
	if h.Width > 0 && h.Height > 0 {
		u.File.Width, u.File.Height = h.Width, h.Height
	}
}

// maxTranscript is how many bytes of what was said are kept: a post holds up to twenty files, and fits a frame with all of them.
const maxTranscript = 2000

// described is a file with what its bytes say of it.
func described(file protocol.Attachment, body []byte) protocol.Attachment {
	sum := sha256.Sum256(body)
	file.ByteSize, file.SHA256, file.MimeType = int64(len(body)), hex.EncodeToString(sum[:]), sniff(body)
	file.Width, file.Height = measure(body)
	return file
}

func stagedKey(id string) string { return "uploads/" + id }

func tooLarge() *protocol.Error {
	return protocol.Refuse(protocol.TooLarge, "a file has %d bytes at most", MaxBytes)
}

func wrongSize(announced int64, came int) *protocol.Error {
	return protocol.Refuse(protocol.InvalidRequest, "byte_size is %d, and %d bytes came", announced, came)
}

// busy is a row that somebody else wrote meanwhile as what may be tried again.
func busy(err error) error {
	if errors.Is(err, engine.ErrCondition) {
		return fmt.Errorf("%w: %w", engine.ErrBusy, err)
	}
	return err
}
