package workspace

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// Why a room's agents are paused.
const (
	PausedByPerson = "person"
	PausedBySpend  = "spend"
)

// The states of an exchange.
const (
	Going       = "going"
	PausedState = "paused"
)

// startCount is where agents are told of their exchange in a workspace that never stops them.
const startCount = 8

// maxSayings is how many of the newest messages of an exchange are remembered to tell a circle.
const maxSayings = 64

// Talk is how far the agents of a room have gone on with each other since a person last did anything there, or an agent made something new.
type Talk struct {
	// Count is how many messages agents sent agents.
	Count int `json:"count,omitzero"`
	// Paused says who paused them: person or spend, "" for going.
	Paused string `json:"paused,omitzero"`
	// Sayings are the newest of those messages, oldest first.
	Sayings []Saying `json:"sayings,omitzero"`
	// Held is the newest message that was held for each agent.
	Held map[string]string `json:"held,omitzero"`
	// Person is who last did anything here.
	Person string `json:"person,omitzero"`
}

// Saying is a message that an agent sent agents.
type Saying struct {
	Agent string `json:"agent"`
	// Words tells what was said from what else was, case, spaces, punctuation and handles aside.
	Words string `json:"words"`
	// Again says that the agent had said it before in this exchange, or posted files that were here already, and nothing new beside them.
	Again bool `json:"again,omitzero"`
}

// circle says whether the newest messages of an exchange go round: two agents over the last four, or three over the last six, taking turns
// strictly, and each saying again what it said before. Taking turns alone is none.
func circle(said []Saying) bool {
	for _, agents := range []int{2, 3} {
		n := len(said) - 2*agents
		if n < 0 {
			continue
		}
		last := said[n:]
		round := true
		for i, s := range last {
			if i >= agents {
				round = round && s.Agent == last[i-agents].Agent && s.Again
			}
			for _, other := range last[max(0, i-agents+1):i] {
				round = round && s.Agent != other.Agent
			}
		}
		if round {
			return true
		}
	}
	return false
}

// wordsOf tells what a text says from what others say: letters and digits alone, without case and without handles.
func wordsOf(text string) string {
	var b strings.Builder
	for _, word := range strings.Fields(text) {
		if strings.HasPrefix(word, "@") {
			continue
		}
		for _, r := range fold(norm.NFC.String(word)) {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
				b.WriteRune(r)
			}
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// somethingNew says whether a post has a file whose bytes are not the current version of any in the room.
func (r *Room) somethingNew(files []protocol.Attachment) bool {
	return slices.ContainsFunc(files, func(a protocol.Attachment) bool {
		for _, f := range r.Files {
			if f.Current().SHA256 == a.SHA256 {
				return false
			}
		}
		return true
	})
}

// ahead is the exchange with one more message of an agent to agents.
func (t *Talk) ahead(r *Room, agent string, post *protocol.MessagePost) Talk {
	next := *t
	next.Count++
	saying := Saying{Agent: agent, Words: wordsOf(post.Text)}
	saying.Again = len(post.Attachments) > 0 || slices.ContainsFunc(t.Sayings, func(s Saying) bool {
		return s.Agent == agent && s.Words == saying.Words
	})
	next.Sayings = append(slices.Clone(t.Sayings), saying)
	if n := len(next.Sayings) - maxSayings; n > 0 {
		next.Sayings = slices.Delete(next.Sayings, 0, n)
	}
	return next
}

// anew ends an exchange: somebody did something new.
func (t *Talk) anew() { t.Count, t.Sayings = 0, nil }

// referee holds an agent's message to agents where the room is paused or the hold is passed, and counts it.
func (d *deciding) referee(room *Room, actor protocol.Actor, post *protocol.MessagePost) {
	if actor.Kind == protocol.KindPerson || len(post.AddressedTo) == 0 {
		return
	}
	next := Talk{}
	if !room.somethingNew(post.Attachments) {
		next = room.Talk.ahead(room, actor.ID, post)
	}
	post.Exchange = &protocol.ExchangeCount{Count: next.Count, Allowance: d.s.Exchange.Hold}
	if room.Talk.Paused == "" && (d.s.Exchange.Hold == nil || next.Count <= *d.s.Exchange.Hold) {
		return
	}
	post.HeldFor, post.AddressedTo, post.Held = post.AddressedTo, []string{}, true
}

// talked folds an agent's message into the exchange of its room.
func (r *Room) talked(e protocol.Event, d *protocol.MessagePost) {
	if r.somethingNew(d.Attachments) {
		r.Talk.anew()
	} else if len(d.AddressedTo) > 0 || d.Held {
		r.Talk = r.Talk.ahead(r, e.Actor.ID, d)
	}
	for _, id := range d.HeldFor {
		if r.Talk.Held == nil {
			r.Talk.Held = map[string]string{}
		}
		r.Talk.Held[id] = protocol.MessageID(e.ID)
	}
}

// evolveAct folds that a person did something in a room: a job and the exchange begin anew and a pause ends, but for one that they set.
func (r *Room) evolveAct(e protocol.Event) {
	if r == nil || e.Actor.Kind != protocol.KindPerson {
		return
	}
	r.begin(e)
	r.Talk.anew()
	r.Talk.Person = e.Actor.ID
	if d, ok := e.Data.(*protocol.ExchangeSet); ok && d.State == PausedState {
		r.Talk.Paused = PausedByPerson
		return
	}
	r.Talk.Paused, r.Talk.Held = "", nil
}

// exchangeSet pauses the agents of a room, or lets them carry on, by a person who is in it.
func (d *deciding) exchangeSet() *protocol.Error {
	draft, ok := d.c.Draft.Data.(*protocol.ExchangeSet)
	if !ok || draft.State != Going && draft.State != PausedState {
		return d.bad("state is %q or %q", PausedState, Going)
	}
	room, err := d.room()
	if err != nil {
		return err
	}
	if room.Archived {
		return closed()
	}
	d.answer(d.sender(), room.ID, &protocol.ExchangeSet{State: draft.State})
	return nil
}

// handOn hands on what was held in the rooms where a person does something with this decision: each agent that is still there is handed the
// newest message that was for it (contract U-84).
func (d *deciding) handOn() {
	var rooms []*Room
	for _, e := range d.out {
		room := d.s.Rooms[e.SpaceID]
		if set, ok := e.Data.(*protocol.ExchangeSet); ok && set.State == PausedState || e.Actor.Kind != protocol.KindPerson {
			continue
		}
		if room != nil && len(room.Talk.Held) > 0 && !slices.Contains(rooms, room) {
			rooms = append(rooms, room)
		}
	}
	for _, room := range rooms {
		for _, h := range d.stillHeld(room) {
			d.emit(protocol.System, room.ID, h)
		}
	}
}

// stillHeld are the messages that a room holds for agents that stay in it, in the order they were said.
func (d *deciding) stillHeld(room *Room) []*protocol.MessageHanded {
	gone := map[string]bool{}
	for _, e := range d.out {
		switch data := e.Data.(type) {
		case *protocol.AgentReleased:
			gone[data.AgentID] = true
		case *protocol.MessageDeleted:
			gone[data.MessageID] = true
		}
	}
	var handed []*protocol.MessageHanded
	for _, id := range room.Members { // in an order of its own, as that of a map is none
		message := room.Talk.Held[id]
		seq, _ := protocol.SeqOf(message)
		if mark, _ := room.Marks.Of(seq); message == "" || gone[id] || gone[message] || mark.Deleted {
			continue
		}
		i := slices.IndexFunc(handed, func(h *protocol.MessageHanded) bool { return h.MessageID == message })
		if i < 0 {
			handed = append(handed, &protocol.MessageHanded{MessageID: message})
			i = len(handed) - 1
		}
		handed[i].AgentIDs = append(handed[i].AgentIDs, id)
	}
	slices.SortFunc(handed, func(a, b *protocol.MessageHanded) int {
		x, _ := protocol.SeqOf(a.MessageID)
		y, _ := protocol.SeqOf(b.MessageID)
		return int(x - y)
	})
	return handed
}

// Exchanged is what an agent's message tells its takers of the exchange, by the state just after it; nil where there is nothing to mind.
func (s *State) Exchanged(room *Room) *protocol.Exchange {
	t, stop := &room.Talk, s.Exchange.Stop
	x := &protocol.Exchange{Count: t.Count, Stop: stop, Hold: s.Exchange.Hold, Circle: s.Exchange.Circles && circle(t.Sayings)}
	from := startCount
	if stop != nil {
		from = (*stop + 1) / 2
	}
	if t.Count < from && !x.Circle {
		return nil
	}
	return x
}

// AskedBy is who is to be told where agents stop: the person who last did anything in the room, else the first in it; "" for nobody.
func (s *State) AskedBy(room *Room) string {
	if room.Has(room.Talk.Person) {
		return room.Talk.Person
	}
	for _, id := range room.Members {
		if protocol.PrefixOf(id) == protocol.PrefixPerson {
			return id
		}
	}
	return ""
}
