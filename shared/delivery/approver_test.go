package delivery

import (
	"testing"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// An approver who is in no room is sent an ask, also where nothing else came since they were last there.
//
// covers: HEV-29
func TestAnApproverOutsideIsNotQuiet(t *testing.T) {
	s := workspace.New("ws_1")
	s.People["usr_1"] = &workspace.Person{ID: "usr_1", Role: protocol.Member}
	s.Rooms["spc_1"] = &workspace.Room{ID: "spc_1"}
	s.Runs["run_1"] = &workspace.Run{ID: "run_1", HarnessID: "hrn_1", Room: "spc_1", Status: workspace.Running}
	e := protocol.Event{
		Envelope: protocol.Envelope{Type: "approval.requested", Seq: 7, SpaceID: "spc_1", RunID: "run_1"},
		Data:     &protocol.ApprovalRequested{ApprovalID: "apr_1", Approvers: []string{"usr_1"}},
	}
	workspace.Evolve(s, e)
	r := Recipient{Kind: protocol.KindPerson, ID: "usr_1"}
	if !Covers(s, e, r) || Quiet(s, r, 6) || !Quiet(s, r, 7) {
		t.Errorf("covered %v, quiet since before it %v, since it %v", Covers(s, e, r), Quiet(s, r, 6), Quiet(s, r, 7))
	}
	s.Rooms["spc_1"].Deleted = true
	if Covers(s, e, r) {
		t.Error("what was in a deleted room is sent on")
	}
}
