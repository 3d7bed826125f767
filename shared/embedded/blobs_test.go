package embedded_test

import (
	"os"
	"path/filepath"
	"testing"

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
		if name := d.Name(); name[0] == '.' || info.Mode().Perm()&0o077 != 0 {
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
