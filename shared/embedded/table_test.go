package embedded_test

import (
	"testing"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/porttest"
)

func open(t *testing.T, dir string) *embedded.Table {
	t.Helper()
	table, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	})
	return table
}

func TestTable(t *testing.T) {
	porttest.Table(t, func(t *testing.T) engine.Table { return open(t, t.TempDir()) })
}
