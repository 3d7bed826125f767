package main

import (
	"fmt"
	"strings"
	"testing"
)

// A socket for which frames wait is answered as fast as any: its acks and receipts stand behind what waits, and the frames it sends meanwhile
// are handled.
//
// covers: RCPT-1, RCPT-3
func TestReceiptsOfWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	priya := c.priya.live("")
	c.scouts.write("run.started", J{"space_id": c.room, "run_id": c.run()})
	for range 200 { // more than its kernel takes, so that they wait to be written
		c.owner.write("message.post", J{"space_id": c.room, "text": strings.Repeat("x", 30<<10)})
	}
	fence := c.fence()
	watch := c.owner.from(fence, "")
	const words = 5
	var keys []string
	for range words {
		keys = append(keys, fmt.Sprint("word-", len(keys)))
		priya.send(c.post(keys[len(keys)-1], "one more thing"))
	}
	watch.through(fence + words) // each was handled, but for the answer to the last
	for len(priya.receipts) < words {
		priya.pump() // which fails at a receipt before its ack
	}
	for i, r := range priya.receipts {
		if r.key != keys[i] || r.says != "queued" {
			t.Errorf("receipt %d is %v", i, r)
		}
	}
}
