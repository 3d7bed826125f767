package httpapi

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// scanLimits bound the work of one GET /v1/events: pages of the log read, commits in each, bytes of the answer's events.
type scanLimits struct{ calls, commits, bytes int }

// scan goes through the log for one question.
type scan struct {
	*api
	*call
	eventsQuery
	recipient delivery.Recipient

	// head is the newest seq there was when the state was last looked at. from and to are where the room's events begin and end, or the
	// log's when no room is asked for.
	head, from, to int64
	// calls is how many pages of the log were read.
	calls int
	// found is what is answered, in the order it was found, and size its bytes.
	found []entry
	size  int
}

// entry is an event that is answered.
type entry struct {
	seq int64
	raw jsontext.Value
}

// look reads the state as it is now, and what of the events is shown by it.
func (s *scan) look(events []protocol.Event) (shown []protocol.Event, err error) {
	err = s.see(s.call, func(st *workspace.State) error {
		s.head, s.from, s.to = st.Seq, 1, st.Seq
		if s.space != "" {
			room, err := roomFor(st, s.caller, s.space)
			if err != nil {
				return err
			}
			s.from, s.to = room.OpenedSeq, room.LastSeq
		}
		for _, e := range events {
			if (s.space == "" || e.SpaceID == s.space) && delivery.Covers(st, e, s.recipient) {
				shown = append(shown, delivery.Logged(st, e, s.recipient))
			}
		}
		return nil
	})
	return shown, err
}

// read answers the next events of the log from seq on, at most up to last: one page of the log, and none only at its end.
func (s *scan) read(seq, last int64) ([]protocol.Event, error) {
	s.calls++
	commits, err := s.Engine.Commits(s.ctx, s.caller.Workspace, seq, s.scan.commits)
	if err != nil {
		return nil, err
	}
	var events []protocol.Event
	for _, commit := range commits {
		decoded, err := commit.Decode()
		if err != nil {
			return nil, err
		}
		for _, e := range decoded {
			if e.Seq >= seq && e.Seq <= last {
				events = append(events, e)
			}
		}
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("log of %s: nothing from %d to %d", s.caller.Workspace, seq, last)
	}
	return events, nil
}

// take adds an event to what is answered; false when the answer is full.
func (s *scan) take(e protocol.Event) (bool, error) {
	raw, err := e.Append(nil)
	if err != nil {
		return false, err
	}
	s.size += len(raw)
	if len(s.found) == s.limit || s.size > s.scan.bytes && len(s.found) > 0 {
		return false, nil
	}
	s.found = append(s.found, entry{e.Seq, raw})
	return true, nil
}

// lastFound is the seq of the event that was taken last.
func (s *scan) lastFound() int64 { return s.found[len(s.found)-1].seq }

// up answers the oldest events above since.
func (s *scan) up() (any, error) {
	if _, err := s.look(nil); err != nil {
		return nil, err
	}
	at := max(s.since, s.from-1) // the answer is complete up to here
	for at < s.to {
		if len(s.found) == s.limit || s.calls == s.scan.calls {
			return s.page(at), nil
		}
		events, err := s.read(at+1, s.to)
		if err != nil {
			return nil, err
		}
		shown, err := s.look(events)
		if err != nil {
			return nil, err
		}
		for _, e := range shown {
			if ok, err := s.take(e); err != nil {
				return nil, err
			} else if !ok {
				return s.page(s.lastFound()), nil
			}
		}
		at = events[len(events)-1].Seq
	}
	return s.page(s.head), nil
}

// firstWindow is how far down is looked at first, in seqs: few enough that even the longest events are read within one call.
const firstWindow = 64

// down answers the newest events of a room below before. The log is read upwards only, so it goes down by windows that grow.
func (s *scan) down() (any, error) {
	if _, err := s.look(nil); err != nil {
		return nil, err
	}
	floor := max(s.since+1, s.from)
	at := min(s.before-1, s.to) + 1 // the answer is complete down to here
	for size := int64(firstWindow); at > floor; size *= 2 {
		if len(s.found) == s.limit || s.calls >= s.scan.calls {
			return s.pageDown(at), nil
		}
		low := max(floor, at-size)
		events, err := s.window(low, at-1)
		if err != nil {
			return nil, err
		}
		if events == nil {
			return s.pageDown(at), nil
		}
		shown, err := s.look(events)
		if err != nil {
			return nil, err
		}
		for _, e := range slices.Backward(shown) {
			if ok, err := s.take(e); err != nil {
				return nil, err
			} else if !ok {
				return s.pageDown(s.lastFound()), nil
			}
		}
		at = low
	}
	return s.pageDown(0), nil
}

// window answers all events from low to high; nil when the work of a call is done before that. The first window is always had.
func (s *scan) window(low, high int64) ([]protocol.Event, error) {
	var all []protocol.Event
	for seq := low; seq <= high; {
		if s.calls >= s.scan.calls && high-low >= firstWindow {
			return nil, nil
		}
		events, err := s.read(seq, high)
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
		seq = events[len(events)-1].Seq + 1
	}
	return all, nil
}

// page is what was found, complete up to last.
func (s *scan) page(last int64) eventsPage {
	p := eventsPage{Events: make([]jsontext.Value, len(s.found)), LastSeq: last}
	for i, e := range s.found {
		p.Events[i] = e.raw
	}
	return p
}

// pageDown is what was found newest first, complete down to first.
func (s *scan) pageDown(first int64) eventsPage {
	slices.Reverse(s.found)
	p := s.page(max(0, min(s.before-1, s.head)))
	p.FirstSeq = &first
	return p
}
