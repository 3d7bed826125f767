package engine

import (
	"crypto/sha256"
	"fmt"
	"runtime/debug"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// maxCommit is how many bytes of events one commit holds at most.
const maxCommit = 256 << 10

// payload is a hash of what was sent, the key left out.
func payload(draft protocol.Event) ([16]byte, error) {
	raw, err := draft.AppendStored(nil) // the same draft always alike
	sum := sha256.Sum256(raw)
	return [16]byte(sum[:16]), err
}

// draft decides an attempt's command on a state, and makes the commit that would follow the state. A refusal is the rules'; an
// error is a fault of ours. A commit without events says that there is nothing to do.
func (g *Engine) draft(s *workspace.State, a *attempt) (refusal *protocol.Error, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("deciding %s: panic: %v\n%s", a.cmd.Draft.Type, r, debug.Stack())
		}
	}()
	cmd := a.cmd
	if cmd.Now.IsZero() {
		cmd.Now = g.o.Now()
	}
	ts := protocol.At(cmd.Now)
	if ts.Before(s.TS.Time) {
		ts = s.TS
	}
	cmd.Now, cmd.Waits, cmd.Prices = ts.Time, g.o.Waits, g.o.Prices
	a.commit, a.events, a.missing = Commit{}, nil, nil
	d, refusal := g.o.Decide(s, cmd)
	if refusal != nil || len(d.Events) == 0 {
		a.missing = d.Missing
		return refusal, nil
	}
	c := Commit{
		Workspace: s.ID, First: s.Seq + 1, TS: ts.Time, Primary: d.Primary, Payload: a.payload, Nonce: a.nonce,
		Connection: cmd.Connection, Credential: cmd.By.Credential,
	}
	if a.key.key != "" {
		c.Sender, c.Key = a.key.sender, a.key.key
	}
	err = c.fill(s, d)
	if err == nil {
		a.events, err = c.Decode() // what cannot be read back must never get into a log
	}
	if err != nil {
		return nil, fmt.Errorf("deciding %s: %w", cmd.Draft.Type, err)
	}
	a.commit = c
	return nil, nil
}

// fill puts a decision's events in the commit that follows the state they were decided on.
func (c *Commit) fill(s *workspace.State, d workspace.Decision) error {
	if len(d.Events) > workspace.MaxEvents || d.Primary < 0 || d.Primary >= len(d.Events) {
		return fmt.Errorf("a decision of %d events with the primary at %d; a commit holds %d", len(d.Events), d.Primary, workspace.MaxEvents)
	}
	size := 0
	for _, e := range d.Events {
		raw, err := e.AppendStored(nil)
		if err != nil {
			return err
		}
		size += len(raw)
		c.Events = append(c.Events, raw)
		for _, space := range workspace.LineRooms(e) {
			c.line(s, space)
		}
	}
	if size > maxCommit {
		return fmt.Errorf("a decision of %d bytes; a commit holds %d", size, maxCommit)
	}
	return nil
}

// line notes that the commit writes a line in a room.
func (c *Commit) line(s *workspace.State, space string) {
	if _, ok := c.Prev[space]; ok {
		return
	}
	if c.Prev == nil {
		c.Prev, c.Space = map[string]int64{}, space
	}
	c.Prev[space] = 0
	if room := s.Rooms[space]; room != nil {
		c.Prev[space] = room.LastLine
	}
}
