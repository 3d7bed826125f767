package attachment

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// MaxBytes is how large an upload may be.
const MaxBytes = 25 << 20

// Blobs is where bytes are kept, by keys of letters, digits, '/', '.' and '_'. What returned nil is durable. Reads see every write that
// returned before. After an error but those below a write may have been done or not.
type Blobs interface {
	// Put writes bytes under a key, over what was there.
	Put(ctx context.Context, key string, body []byte) error
	// Get answers what is under a key; ErrNoBlob where nothing is, ErrTooLarge where it is more than most bytes.
	Get(ctx context.Context, key string, most int64) ([]byte, error)
	// Delete takes away what is under a key, if anything is.
	Delete(ctx context.Context, key string) error
}

// Errors of Blobs that say what is the matter.
var (
	ErrNoBlob   = errors.New("no such bytes")
	ErrTooLarge = errors.New("more bytes than were asked for")
)

// Direct makes URLs by which clients put and get bytes themselves, past us.
type Direct interface {
	// PutURL takes exactly so many bytes under a key.
	PutURL(ctx context.Context, key string, bytes int64, good time.Duration) (string, error)
	// GetURL answers what is under a key, as the type and with the disposition that are given.
	GetURL(ctx context.Context, key, mimeType, disposition string, good time.Duration) (string, error)
}

// Heard is what can be said of a recording beyond its bytes; zero is not known.
type Heard struct {
	Width, Height int
	DurationMS    int64
	// Transcript is what was said in it.
	Transcript string
}

// Listener looks into audio and video. It is asked once, when the file arrives, of what is stored under a key.
type Listener interface {
	Hear(ctx context.Context, key string, file protocol.Attachment) (Heard, error)
}

// Credentials says whose a credential is, false when it was taken back; *auth.Service is it.
type Credentials interface {
	Stands(ctx context.Context, id string) (workspace.Caller, bool, error)
}

// Log is what is asked of the log; *engine.Engine is it, and says what these do.
type Log interface {
	Find(ctx context.Context, workspace, sender, key string) (engine.Commit, bool, error)
	Event(ctx context.Context, workspace, id string) (protocol.Event, bool, error)
	RoomCommits(ctx context.Context, workspace, space string, line int64, limit int) ([]engine.Commit, error)
	Read(ctx context.Context, workspace string, fn func(*workspace.State) error) error
}

// Config is what a Service is made of. To make URLs takes Rows, URL and Now; Direct and Listener may be nil always.
type Config struct {
	Rows        engine.Rows
	Log         Log
	Blobs       Blobs
	Credentials Credentials
	// Direct is where large files go past us; nil where all bytes pass through here.
	Direct   Direct
	Listener Listener
	// URL answers what comes before /v1 where clients reach the HTTP API; asked for each delivery with files, so it is to be known at once.
	URL func(context.Context) (string, error)
	// URLFor is how long a URL is good: 0 is ten minutes.
	URLFor time.Duration
	Now    func() time.Time
	Logger *slog.Logger
}

// Service keeps files. It is for any number of goroutines, and any number of them may share the table and the bytes.
type Service struct {
	c    Config
	keys keyring
}

// New makes a Service of its parts.
func New(c Config) *Service {
	if c.URLFor == 0 {
		c.URLFor = 10 * time.Minute
	}
	return &Service{c: c}
}

// newID is a new att_ id.
func (s *Service) newID() string {
	var entropy [10]byte
	_, _ = rand.Read(entropy[:]) // never fails
	return protocol.NewID(protocol.PrefixAttachment, s.c.Now(), entropy)
}

// noSuchFile refuses a file that nobody has, and one the caller may not see, in the same words.
func noSuchFile() *protocol.Error { return protocol.Refuse(protocol.NotFound, "no such attachment") }
