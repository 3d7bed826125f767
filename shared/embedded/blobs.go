package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chipschat/chips-aws/shared/attachment"
)

var _ attachment.Blobs = (*Blobs)(nil)

// Blobs is an attachment.Blobs in a folder, a file for each key.
type Blobs struct{ dir string }

// partsFolder is where files are written before they are moved to their places. No key is below it.
const partsFolder = ".parts"

// OpenBlobs opens the blobs in folder dir, which it makes where there is none, for the one process that has them open. What another was
// writing when it ended is taken away.
func OpenBlobs(dir string) (*Blobs, error) {
	parts := filepath.Join(dir, partsFolder)
	if err := errors.Join(os.RemoveAll(parts), os.MkdirAll(parts, 0o700)); err != nil {
		return nil, fmt.Errorf("make the folder of files: %w", err)
	}
	return &Blobs{dir}, nil
}

// path is where a key's bytes are. Keys are Chips' own; one that would lead out of the folder is a fault.
func (b *Blobs) path(key string) (string, error) {
	if !filepath.IsLocal(key) {
		return "", fmt.Errorf("%.40q is no key of bytes", key)
	}
	return filepath.Join(b.dir, filepath.FromSlash(key)), nil
}

// Put writes a file apart from its place, syncs it, moves it there and syncs the folder: after a crash it is there whole or not at all.
func (b *Blobs) Put(ctx context.Context, key string, body []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path, err := b.path(key)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Join(b.dir, partsFolder), "")
	if err != nil {
		return err
	}
	_, err = part.Write(body)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	// The folder's own name is in the folder above it.
	return errors.Join(syncFolder(folder), syncFolder(filepath.Dir(folder)))
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Get reads a file.
func (b *Blobs) Get(ctx context.Context, key string, most int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := b.path(key)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, attachment.ErrNoBlob
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, attachment.ErrTooLarge
	}
	body := make([]byte, info.Size()) // a file never changes: it is replaced
	_, err = io.ReadFull(file, body)
	return body, err
}

// Delete removes a file.
func (b *Blobs) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path, err := b.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
