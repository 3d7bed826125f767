package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/chipschat/chips-aws/shared/engine"
)

// fileName is the one file in the folder.
const fileName = "chips.db"

// lockWait is how long Open waits for another process to let go of the file: one that was just killed does so at once.
const lockWait = time.Second

// ErrClosed answers whatever is asked of a table after Close.
var ErrClosed = errors.New("the table is closed")

// ErrInUse says that another process has the file open.
var ErrInUse = errors.New("another process has it open")

var _ engine.Table = (*Table)(nil)

// Table is an engine.Table in one file.
type Table struct {
	purging sync.Mutex
	purged  []byte // the key of a row where the next Purge begins

	db     *bbolt.DB
	memory memory
	feeds  feeds

	writes chan *write
	// closing is closed by Close, stopped by the committer when it has answered its last write.
	closing, stopped chan struct{}
	closeOnce        sync.Once
	closeErr         error
}

var buckets = [][]byte{commitsBucket, spacesBucket, claimsBucket, rowsBucket, dueBucket}

var (
	commitsBucket = []byte("commits")
	spacesBucket  = []byte("spaces")
	claimsBucket  = []byte("claims")
	rowsBucket    = []byte("rows")
	dueBucket     = []byte("due")
)

// Open opens the table in folder dir, which it makes where there is none. It fails with ErrInUse where another process has it open.
func Open(dir string) (*Table, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	path := filepath.Join(dir, fileName)
	var db *bbolt.DB
	err := sound(func() (err error) {
		db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType, NoStatistics: true})
		return err
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, fmt.Errorf("open %s: %w", path, ErrInUse)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := whole(db, path); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	err = sound(func() error {
		return db.Update(func(tx *bbolt.Tx) error {
			for _, name := range buckets {
				if _, err := tx.CreateBucketIfNotExists(name); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare %s: %w", path, err), db.Close())
	}
	t := &Table{
		db:      db,
		memory:  memory{rows: map[string][]engine.Row{}},
		writes:  make(chan *write, maxBatch),
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
	}
	go t.commit()
	return t, nil
}

// whole looks whether the file is as long as it says. Reading past the end of one that was cut would end the process.
func whole(db *bbolt.DB, path string) error {
	file, err := os.Stat(path)
	if err != nil {
		return err
	}
	return db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > file.Size() {
			return fmt.Errorf("%w: it has %d bytes of %d", errCorrupt, file.Size(), tx.Size())
		}
		return nil
	})
}

// Close answers the writes that wait and closes the file. What is asked of the table afterwards fails with ErrClosed.
func (t *Table) Close() error {
	t.closeOnce.Do(func() {
		close(t.closing)
		<-t.stopped
		t.closeErr = t.db.Close()
	})
	return t.closeErr
}

// view runs a read.
func (t *Table) view(ctx context.Context, what string, f func(*bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := sound(func() error { return t.db.View(f) })
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// maxName bounds ids and keys, as DynamoDB does a partition key.
const maxName = 2048

// checkNames refuses what could not be told apart within a key.
func checkNames(names ...string) error {
	for _, n := range names {
		if n == "" || len(n) > maxName || strings.Contains(n, "\x00") {
			return fmt.Errorf("%.40q is not an id or key: 1 to %d bytes without a NUL", n, maxName)
		}
	}
	return nil
}
