package delivery

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// talk is a world whose events are kept.
type talk struct {
	*world
	t   *testing.T
	log []protocol.Event
}

func newTalk(t *testing.T) *talk { return &talk{world: newWorld(), t: t} }

func (w *talk) put(space string, actor protocol.Actor, d protocol.Data) protocol.Event {
	e := w.world.put(space, actor, d)
	w.log = append(w.log, e)
	return e
}

// say says something in R to some.
func (w *talk) say(actor protocol.Actor, text string, to ...string) protocol.Event {
	return w.put(roomR, actor, &protocol.MessagePost{Text: text, AddressedTo: append([]string{}, to...)})
}

// start starts a run of an agent in R.
func (w *talk) start(agent, run string) {
	e := w.event(roomR, w.agent(agent), &protocol.RunStarted{})
	e.RunID = run
	workspace.Evolve(w.s, e)
	w.log = append(w.log, e)
}

// lines are a room's lines down from w.Line, all that there are, and all edits there ever were before them.
func (w *talk) lines(want Want) []protocol.Event {
	var edits, lines []protocol.Event
	for _, e := range w.log {
		if _, edit := e.Data.(*protocol.MessageEdited); edit {
			edits = append(edits, e)
		}
		if e.SpaceID == want.Room && e.Seq <= want.Line && workspace.LineRooms(e) != nil {
			lines = append(lines, e)
		}
	}
	return append(edits, lines...)
}

// render is the newest event as somebody is sent it.
func (w *talk) render(r Recipient) protocol.Event {
	w.t.Helper()
	e := w.log[len(w.log)-1]
	r = r.At(w.s)
	want, ok := Wants(w.s, e, r)
	var lines []protocol.Event
	if ok {
		lines = w.lines(want)
	}
	got := Render(w.s, e, r, lines)
	// As few as were asked for are as good, with no edits but theirs.
	var edits, counted []protocol.Event
	need := want.Need
	for _, l := range slices.Backward(lines) {
		if l.Seq <= want.Since || l.Type == "message.edited" || need == 0 {
			break
		}
		if counted = append(counted, l); want.Counts(l) {
			need--
		}
		if i := slices.IndexFunc(lines, func(e protocol.Event) bool { return e.Seq == want.Edit(l) }); i >= 0 {
			edits = append(edits, lines[i])
		}
	}
	slices.Reverse(counted)
	counted = append(edits, counted...)
	if d := cmp.Diff(got, Render(w.s, e, r, counted)); d != "" {
		w.t.Errorf("with only the lines that are needed (-all +needed):\n%s", d)
	}
	return got
}

// context is what comes with the newest message.
func (w *talk) context(r Recipient) *protocol.Context {
	w.t.Helper()
	e := w.render(r)
	d, ok := e.Data.(*protocol.MessageNew)
	if !ok || d.Context == nil {
		w.t.Fatalf("%s has no context", e.Type)
	}
	return d.Context
}

// shown is a context's lines as a person would read them.
func shown(c *protocol.Context) []string {
	lines := []string{}
	for _, l := range c.Lines {
		switch {
		case l.Text != nil:
			lines = append(lines, l.From.Name+": "+*l.Text)
		case l.Name != "":
			lines = append(lines, l.Previous+" is now "+l.Name)
		case l.Title != "":
			lines = append(lines, l.Previous+" is now called "+l.Title)
		case l.Who != nil && l.By != nil:
			lines = append(lines, l.Who.Name+" "+l.Kind+" by "+l.By.Name)
		case l.Who != nil:
			lines = append(lines, l.Who.Name+" "+l.Kind)
		default:
			lines = append(lines, l.Kind+" by "+l.By.Name)
		}
	}
	return lines
}

func budget(lines, chars int) Recipient {
	r := everybody[4].r // Scout
	r.Budget = protocol.ContextBudget{Lines: &lines, Chars: &chars}
	return r
}
