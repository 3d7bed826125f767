package delivery

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

var (
	helloID     = id("evt", 73)
	helloAt     = time.Date(2026, 9, 2, 14, 22, 15, 4e6, time.UTC)
	helloServer = protocol.Server{Name: "chipsd", Version: "1.2.3"}
)

func hello(s *workspace.State, r Recipient) protocol.Event {
	return Hello(s, r, helloServer, helloID, helloAt)
}

// covers: HEL-4, HEL-5, HEL-6, HEV-1, HEV-2, HEV-3, HEV-5, HEV-6, HEV-7, HEV-9, HEV-10, HEV-12, HEV-14, HEV-16, HEV-17, HEV-18, HEV-19, HEV-21, HEV-22, HEV-34, HEV-35, HEV-37, AGT-12
func TestHelloGolden(t *testing.T) {
	w := newWorld()
	limit := 25.0
	over := 500.0
	w.put("", person(arjun), &protocol.HarnessPolicySet{HarnessID: scout, Policy: protocol.Policy{Autonomy: 3, Rules: []protocol.Rule{
		{Match: "payment.*", When: &protocol.When{MoneyUSDOver: &over}, Decision: "ask", Approvers: []string{"role:finance"}},
	}}})
	w.put("", person(arjun), &protocol.HarnessBudgetSet{HarnessID: scout, LimitUSD: &limit})
	w.put("", protocol.System, &protocol.AgentRegistered{AgentFacts: protocol.AgentFacts{AgentID: id("agt", 9), HarnessID: scout, Name: "Free", State: "active", Key: "f"}})
	for _, name := range []string{"Scout", "Ledger", "Arjun", "Gus"} {
		got, err := json.Marshal(hello(w.s, recipient(t, name)), jsontext.WithIndent("  "))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "hello-"+name, got)
	}
}

// The workspace's cap always wins.
// covers: HEV-21, HEV-23
func TestHelloAutonomy(t *testing.T) {
	for _, c := range []struct{ policy, limit, want int }{{-1, 3, 2}, {-1, 1, 1}, {3, 3, 3}, {3, 0, 0}, {1, 2, 1}} {
		w := newWorld()
		w.s.Cap.MaxAutonomy = c.limit
		if c.policy >= 0 {
			w.s.Harnesses[scout].Policy = &protocol.Policy{Autonomy: c.policy}
		}
		if got := hello(w.s, recipient(t, "Scout")).Data.(*protocol.Hello).Autonomy; got != c.want {
			t.Errorf("policy %d, cap %d: autonomy %d, want %d", c.policy, c.limit, got, c.want)
		}
	}
}

// covers: HEV-37
func TestHelloWithoutAName(t *testing.T) {
	w := newWorld()
	w.s.Name = ""
	if d := hello(w.s, recipient(t, "Arjun")).Data.(*protocol.Hello); d.Workspace != nil {
		t.Errorf("workspace is %v", d.Workspace)
	}
}

// covers: HEV-14
func TestHelloAgentsOrderAndCut(t *testing.T) {
	w := newWorld()
	for i := range 900 {
		a := &workspace.Agent{ID: id("agt", 1000+i), HarnessID: scout, Key: strings.Repeat("k", 100), Name: fmt.Sprint("Agent ", i)}
		switch i % 3 {
		case 1:
			a.Archived = true
		case 2:
			a.Room = roomQ
		}
		w.s.Agents[a.ID] = a
	}
	for i := range 1000 { // rooms take their part of the frame too
		room := &workspace.Room{ID: id("spc", 1000+i), Members: []string{scout}, OpenedSeq: int64(i)}
		w.s.Rooms[room.ID] = room
	}
	e := hello(w.s, recipient(t, "Scout"))
	b, err := e.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := e.Data.(*protocol.Hello)
	if len(b) > 128<<10 {
		t.Errorf("the hello is %d bytes", len(b))
	}
	if d.AgentsLeftOut == 0 || len(d.Agents)+d.AgentsLeftOut != 902 {
		t.Errorf("%d agents said and %d left out of 902", len(d.Agents), d.AgentsLeftOut)
	}
	place := func(a protocol.HelloAgent) int {
		return slices.Index([]string{"active true", "active false", "archived false"}, fmt.Sprint(a.State, " ", a.Room != nil))
	}
	if !slices.IsSortedFunc(d.Agents, func(a, b protocol.HelloAgent) int { return place(a) - place(b) }) {
		t.Error("agents are not those in rooms, then free, then archived")
	}
	for _, a := range d.Agents {
		if len(a.Spaces) > 1 || (a.Room != nil) != (len(a.Spaces) == 1) {
			t.Errorf("agent %s is in %v, room %v", a.AgentID, a.Spaces, a.Room)
		}
	}
}
