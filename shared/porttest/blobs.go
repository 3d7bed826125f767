package porttest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/chipschat/chips-aws/shared/attachment"
)

// Blobs holds an attachment.Blobs to what the port says.
func Blobs(t *testing.T, b attachment.Blobs) {
	get := func(t *testing.T, key string, most int64) []byte {
		t.Helper()
		body, err := b.Get(t.Context(), key, most)
		if err != nil {
			t.Fatalf("get %s: %v", key, err)
		}
		return body
	}
	put := func(t *testing.T, key string, body []byte) {
		t.Helper()
		if err := b.Put(t.Context(), key, body); err != nil {
			t.Fatalf("put %s: %v", key, err)
		}
	}
	large := make([]byte, attachment.MaxBytes)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(large)

	t.Run("what was put is there", func(t *testing.T) {
		for name, body := range map[string][]byte{"files/none": {}, "files/some": []byte("\x00some\xff"), "uploads/large": large} {
			put(t, name, body)
			if got := get(t, name, attachment.MaxBytes); !bytes.Equal(got, body) {
				t.Errorf("%s: put %d bytes, got %d, or others", name, len(body), len(got))
			}
		}
	})
	t.Run("what is put again is as it was put last", func(t *testing.T) {
		put(t, "files/again", []byte("a long first"))
		put(t, "files/again", []byte("last"))
		if got := get(t, "files/again", 100); string(got) != "last" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("more than was asked for", func(t *testing.T) {
		put(t, "files/five", []byte("12345"))
		if _, err := b.Get(t.Context(), "files/five", 4); !errors.Is(err, attachment.ErrTooLarge) {
			t.Errorf("five bytes, four at most: %v", err)
		}
		if got := get(t, "files/five", 5); string(got) != "12345" {
			t.Errorf("five at most: %q", got)
		}
	})
	t.Run("what was deleted, or never was, is not there", func(t *testing.T) {
		put(t, "files/gone", []byte("gone"))
		for range 2 {
			if err := b.Delete(t.Context(), "files/gone"); err != nil {
				t.Errorf("delete: %v", err)
			}
		}
		for _, key := range []string{"files/gone", "files/never", "nowhere/never"} {
			if _, err := b.Get(t.Context(), key, 100); !errors.Is(err, attachment.ErrNoBlob) {
				t.Errorf("%s: %v", key, err)
			}
		}
		put(t, "files/gone", []byte("back"))
		if got := get(t, "files/gone", 100); string(got) != "back" {
			t.Errorf("put anew: %q", got)
		}
	})
	t.Run("whole, whoever puts it meanwhile", func(t *testing.T) {
		body := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 100_000+i) }
		put(t, "files/shared", body(0))
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if err := b.Put(t.Context(), "files/shared", body(i)); err != nil {
					t.Error(err)
				}
				got, err := b.Get(t.Context(), "files/shared", attachment.MaxBytes)
				if err != nil || len(got) == 0 || !bytes.Equal(got, body(int(got[0]-'a'))) {
					t.Error(fmt.Sprint("torn: ", len(got), " bytes, ", err))
				}
			})
		}
		all.Wait()
	})
}
