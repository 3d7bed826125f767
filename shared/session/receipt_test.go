package session_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
)

// A person's words where a run is going are answered by the ack and then the receipt, in that order; all other writes by their ack alone,
// and so are these where the ack cannot be sent ahead.
//
// covers: RCPT-1, RCPT-8
func TestReceiptFollowsItsAck(t *testing.T) {
	w := newWorld(t)
	arjun, scout := w.connect(w.arjun).hello(""), w.connect(w.scout).hello("")
	write := func(c *conn, event string) session.Reply { return c.frame(`{"frame":"event","event":` + event + `}`) }
	say := func(key string) string {
		return fmt.Sprintf(`{"type":"message.post","space_id":%q,"text":"one more thing","idempotency_key":%q}`, w.room, key)
	}
	isAck := func(reply session.Reply, key string, duplicate bool) {
		t.Helper()
		if a := answer[protocol.Ack](t, reply.Frame); a.Frame != "ack" || a.IdempotencyKey != key || a.Duplicate != duplicate || reply.Close != 0 {
			t.Errorf("%s is answered %s", key, reply.Frame)
		}
	}
	isAck(write(arjun, say("before")), "before", false)
	isAck(write(scout, fmt.Sprintf(`{"type":"run.started","run_id":"run_01K4ZQPX000000000000000001","space_id":%q,"idempotency_key":"start"}`, w.room)), "start", false)
	if n := len(w.push.sent(arjun.id)) + len(w.push.sent(scout.id)); n != 0 {
		t.Errorf("%d frames were posted", n)
	}

	reply := write(arjun, say("during"))
	if r := answer[protocol.Receipt](t, reply.Frame); r.Frame != protocol.FrameReceipt || r.IdempotencyKey != "during" || r.Disposition != protocol.Queued {
		t.Errorf("answered %s", reply.Frame)
	}
	sent := w.push.sent(arjun.id)
	if len(sent) != 1 {
		t.Fatalf("ahead of the receipt were sent %q", sent)
	}
	isAck(session.Reply{Frame: sent[0]}, "during", false)

	isAck(write(arjun, say("during")), "during", true)
	isAck(write(scout, fmt.Sprintf(`{"type":"message.post","space_id":%q,"text":"seen","idempotency_key":"scout"}`, w.room)), "scout", false)
	w.push.onPost = func(string, []byte) error { return errors.New("nobody knows") }
	isAck(write(arjun, say("unlucky")), "unlucky", false)
	if n := len(w.push.sent(arjun.id)); n != 1 {
		t.Errorf("%d frames were posted", n)
	}
}
