package attachment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
)

const (
	// only is the sort key where a partition has one row of its own kind.
	only = "-"
	// unposted is how long an upload is kept that is not posted.
	unposted = 24 * time.Hour
	// maxPosts is how often one upload may be posted.
	maxPosts = 1000
	// tries is how often a row that others write too is read and written again.
	tries = 10
)

func uploadPK(id string) string { return UploadRows + id }

// upload is the row of an upload.
type upload struct {
	Workspace string `json:"workspace"`
	// By is who uploaded it, a usr_ or hrn_ id.
	By string `json:"by"`
	// File is what it is; without sha256 as long as its bytes have not come, ByteSize then being how many are to come.
	File protocol.Attachment `json:"file"`
	// Blob is the key of its bytes, "" until they are stored.
	Blob string `json:"blob,omitzero"`
	// Staged says that its bytes were or are to be put at their own place first.
	Staged bool `json:"staged,omitzero"`
	// Until is how long it is kept if it is not posted.
	Until protocol.Time `json:"until"`
	Posts []post        `json:"posts,omitzero"`
	// Face says that it was to be an agent's face; whether it is one the state says.
	Face bool `json:"face,omitzero"`
	// Look is when it is to be looked at whether all that it was posted with still is, and whether it is a face; zero is never.
	Look protocol.Time `json:"look,omitzero"`
	// Gone says that it is being taken away.
	Gone bool `json:"gone,omitzero"`

	rev int64
	due time.Time
}

// post is a message that an upload was posted with: where it is in the log, or, with a key, that it perhaps is. Without a room the words are
// held.
type post struct {
	Key   string         `json:"key,omitzero"`
	At    *protocol.Time `json:"at,omitzero"`
	Space string         `json:"space,omitzero"`
	Seq   int64          `json:"seq,omitzero"`
}

// get reads an upload; false when there is none of the id.
func (s *Service) get(ctx context.Context, id string) (upload, bool, error) {
	if !protocol.ValidID(protocol.PrefixAttachment, id) {
		return upload{}, false, nil
	}
	row, ok, err := s.c.Rows.Get(ctx, uploadPK(id), only)
	if err != nil {
		return upload{}, false, fmt.Errorf("read upload %s: %w", id, err)
	}
	if !ok {
		return upload{}, false, nil
	}
	var u upload
	if err := json.Unmarshal(row.Body, &u); err != nil {
		return upload{}, false, fmt.Errorf("decode upload %s: %w", id, err)
	}
	u.rev, u.due = row.Rev, row.Due
	return u, !u.Gone, nil
}

// put writes an upload over the revision that was read, and fails with engine.ErrCondition where somebody else did.
func (s *Service) put(ctx context.Context, u *upload) error {
	body, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("encode upload %s: %w", u.File.AttachmentID, err)
	}
	cond := engine.Absent
	if u.rev > 0 {
		cond = engine.IfRev(u.rev)
	}
	rev, err := s.c.Rows.Put(ctx, engine.Row{PK: uploadPK(u.File.AttachmentID), SK: only, Body: body, Due: u.due}, cond)
	if err != nil {
		return fmt.Errorf("write upload %s: %w", u.File.AttachmentID, err)
	}
	u.rev = rev
	return nil
}

// update changes an upload as change says, which is called again where somebody else wrote it meanwhile; false leaves it as it is. What
// is answered is the upload as it then is, false where there is none.
func (s *Service) update(ctx context.Context, id string, change func(*upload) bool) (upload, bool, error) {
	for try := range tries {
		if try > 0 {
			engine.Pause(ctx, try)
		}
		u, ok, err := s.get(ctx, id)
		if err != nil || !ok || !change(&u) {
			return u, ok, err
		}
		if err = s.put(ctx, &u); !errors.Is(err, engine.ErrCondition) {
			return u, err == nil, err
		}
	}
	return upload{}, false, fmt.Errorf("upload %s: %w", id, engine.ErrBusy)
}

// pending says whether any of its posts is only perhaps in the log.
func (u *upload) pending() bool {
	for _, p := range u.Posts {
		if p.Key != "" {
			return true
		}
	}
	return false
}

// schedule says when the upload is to be looked at next: when somebody asked for it, or when it has not been posted for long enough or
// perhaps was, whatever comes first.
func (u *upload) schedule() {
	u.due = u.Look.Time
	if (len(u.Posts) == 0 && !u.Face || u.pending()) && (u.due.IsZero() || u.Until.Before(u.due)) {
		u.due = u.Until.Time
	}
}
