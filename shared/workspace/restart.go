package workspace

import (
	"cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// How a harness is. It says ok and trouble itself, and Chips the others.
const (
	StatusOK         = "ok"
	StatusTrouble    = "trouble"
	StatusRestarting = "restarting"
	StatusAway       = "away"
)

// DueRestart is the kind of deadline after which a restart is not waited for any more.
const DueRestart = "restart"

type (
	// RestartDraft is a person's asking a harness to restart.
	RestartDraft struct{ HarnessID string }

	// BackDraft is Chips' word that a harness is there: it has a socket again, or could not be asked to restart.
	BackDraft struct{ HarnessID string }
)

// EventType says which event the draft causes.
func (*RestartDraft) EventType() string { return "harness.status_set" }

// EventType says which event the draft causes.
func (*BackDraft) EventType() string { return "harness.status_set" }

// MayRestart refuses whoever may not have a harness restart, and a harness that cannot be asked.
func MayRestart(s *State, by Caller, harness string) *protocol.Error {
	d := &deciding{s: s, c: Command{By: by, Operation: true}}
	return d.mayRestart(harness)
}

func (d *deciding) mayRestart(harness string) *protocol.Error {
	h := d.s.Harness(harness)
	switch {
	case d.person() == nil:
		return forbidden("only a person has a harness restart")
	case h == nil:
		return notFound("no such harness")
	}
	if err := d.needOwnerOf(h.ID); err != nil {
		return err
	}
	if !d.s.Declares(h.ID, "restarts") {
		return d.bad("%s does not declare restarts: it cannot be asked to", h.Name)
	}
	return nil
}

// restart has a harness read as restarting until its next word.
func (d *deciding) restart(draft *RestartDraft) *protocol.Error {
	if err := d.mayRestart(draft.HarnessID); err != nil {
		return err
	}
	d.answer(d.sender(), "", &protocol.HarnessStatusSet{HarnessID: draft.HarnessID, Status: StatusRestarting})
	return nil
}

// back has a harness that was waited for, or away, read as it did before.
func (d *deciding) back(draft *BackDraft) *protocol.Error {
	if d.c.By.Kind != protocol.KindSystem {
		return forbidden("only Chips says that a harness is back")
	}
	if h := d.s.Harness(draft.HarnessID); h != nil && h.Gone() {
		d.answer(protocol.System, "", &protocol.HarnessStatusSet{HarnessID: h.ID, Status: h.before(), Message: h.BeforeWords})
	}
	return nil
}

// Gone says whether a harness reads as restarting or away: the next socket it has ends that.
func (h *Harness) Gone() bool { return gone(h.Status) }

func gone(status string) bool { return status == StatusRestarting || status == StatusAway }

// Reads is how a harness reads: one of the words above. Of one that is new nothing was ever said.
func (h *Harness) Reads() string { return cmp.Or(h.Status, StatusOK) }

// before is how a harness that is gone read before.
func (h *Harness) before() string { return cmp.Or(h.Before, StatusOK) }

// evolveStatus folds how a harness is. Asked once more while it restarts, it is waited for from then.
func (h *Harness) evolveStatus(e protocol.Event, d *protocol.HarnessStatusSet) {
	switch {
	case !gone(d.Status):
		h.Before, h.BeforeWords = "", ""
	case !h.Gone():
		h.Before, h.BeforeWords = h.Status, h.StatusWords
	}
	h.Status, h.StatusWords, h.StatusSeq, h.StatusAt = d.Status, d.Message, e.Seq, e.TS
}

// restartPending are the harnesses whose restart is waited for.
func restartPending(s *State, w Waits) []Deadline {
	var all []Deadline
	for _, h := range s.Harnesses {
		if h.Status == StatusRestarting && !h.Removed {
			all = append(all, Deadline{Kind: DueRestart, ID: h.ID, Due: h.StatusAt.Add(w.Restart), Set: h.StatusSeq})
		}
	}
	return all
}

func (d *deciding) restartOver(id string) *protocol.Error { return d.back(&BackDraft{HarnessID: id}) }
