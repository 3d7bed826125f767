package engine_test

import (
	"os"
	"testing"
	"testing/synctest"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/porttest"
)

// memoryDir is a folder that is gone with the test, in memory where the system has such: what is tested here is not the disk.
func memoryDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "chips")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func open(t testing.TB) engine.Table {
	table, err := embedded.Open(memoryDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// covers: WRT-6, WRT-12
func TestStorm(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			for fault, n := range porttest.EngineStorm(t, open(t), seed) {
				seen[fault] += n
			}
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for _, fault := range []string{"LostReply", "Late", "Lost", "Torn", "Repeated", "Throttled", "Slow"} {
		if seen[fault] == 0 {
			t.Errorf("%s never happened", fault)
		}
	}
	t.Log(seen)
}
