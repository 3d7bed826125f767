package workspace

import (
	"slices"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// AwayDraft is Chips' word that harnesses have had no socket for a while. Each of them that reads ok, or whose restart is waited for no
// longer and that read ok before, reads away from then on; all others are left as they are (contract U-134).
type AwayDraft struct{ HarnessIDs []string }

// EventType says which event the draft causes.
func (*AwayDraft) EventType() string { return "harness.status_set" }

func (d *deciding) away(draft *AwayDraft) *protocol.Error {
	if d.c.By.Kind != protocol.KindSystem {
		return forbidden("only Chips says that a harness is away")
	}
	for _, id := range draft.HarnessIDs {
		h := d.s.Harness(id)
		if h == nil || h.before() != StatusOK || d.s.Awaited(id, d.c.Waits).After(d.c.Now) {
			continue
		}
		if h.Status == StatusRestarting || h.Reads() == StatusOK {
			d.emit(protocol.System, "", &protocol.HarnessStatusSet{HarnessID: id, Status: StatusAway})
		}
	}
	return nil
}

// Awaited is until when a harness's restart is waited for, the zero time where none is.
func (s *State) Awaited(harness string, w Waits) time.Time {
	if h := s.Harness(harness); h != nil && h.Status == StatusRestarting {
		return h.StatusAt.Add(w.Restart)
	}
	return time.Time{}
}

// Present are the harnesses that read ok, by their ids in order: those that may have to read away.
func (s *State) Present() []string {
	var ids []string
	for id, h := range s.Harnesses {
		if !h.Removed && h.Reads() == StatusOK {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// MayBeAway is the harness that an event has read ok whether or not it has a socket: one that is new, or that reports ok. "" for all
// other events.
func MayBeAway(e protocol.Event) string {
	switch d := e.Data.(type) {
	case *protocol.HarnessAdded:
		return d.HarnessID
	case *protocol.HarnessStatusSet:
		if d.Status == StatusOK && e.Actor.Kind == protocol.KindHarness {
			return d.HarnessID
		}
	}
	return ""
}
