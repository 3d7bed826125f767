package embedded_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/porttest"
)

func TestBlobs(t *testing.T) {
	dir := t.TempDir()
	b, err := embedded.OpenBlobs(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	porttest.Blobs(t, b)
	// Nothing half written is left, and nobody else may read what is there.
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if name := d.Name(); name[0] == '.' && !d.IsDir() || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s, %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"../chips.db", "/etc/passwd", "files/../../chips.db"} {
		if err := b.Put(t.Context(), key, []byte("out")); err == nil {
			t.Errorf("%s leads out of the folder", key)
		}
		if _, err := b.Get(t.Context(), key, 1<<20); err == nil {
			t.Errorf("%s is read", key)
		}
	}
}

// blobsDir tells a copy of this test to be the process that is killed while it stores.
const blobsDir = "CHIPS_TEST_BLOBS_DIR"

// storeForever stores the same file again and again.
func storeForever(dir string) error {
	b, err := embedded.OpenBlobs(dir)
	for body := make([]byte, 8<<20); err == nil; {
		err = b.Put(context.Background(), "files/whole", body)
	}
	return err
}

// What a process was writing when it was killed is taken away by the next, and what it had stored is whole.
func TestBlobsAfterAKill(t *testing.T) {
	dir := t.TempDir()
	files := func() (names []string) {
		t.Helper()
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // moved meanwhile
				return nil
			}
			if err == nil && !d.IsDir() {
				names = append(names, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	for end := time.Now().Add(20 * time.Second); len(files()) < 2; {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), blobsDir+"="+dir)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		for len(files()) < 2 && time.Now().Before(end) {
			time.Sleep(time.Millisecond)
		}
		_ = child.Process.Kill()
		_ = child.Wait()
		if time.Now().After(end) {
			t.Fatal("it was never killed while it wrote")
		}
	}
	b, err := embedded.OpenBlobs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := files(), []string{filepath.Join(dir, "files", "whole")}; !slices.Equal(got, want) {
		t.Errorf("after the next start there are %v, want %v", got, want)
	}
	if body, err := b.Get(t.Context(), "files/whole", 8<<20); len(body) != 8<<20 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}
