package engine_test

import (
	"testing"
	"testing/synctest"

	"github.com/chipschat/chips-aws/shared/porttest"
)

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
}
