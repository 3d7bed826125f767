package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// However many answer an approval, or a question, in one moment, through two engines of one table: one answer is in the log, and every other is
// refused with who was first.
//
// covers: FIRST-3, FIRST-4
func TestFirstAnswerOfTwoEngines(t *testing.T) {
	w := newWorld(t)
	engines := []*engine.Engine{w.g, start(w.table, engine.Options{Decide: workspace.Decide})}
	w.must(w.arjun, in(w.room, &protocol.MemberAdded{ParticipantID: w.priya.ID}))
	run := w.run(1)
	policy := protocol.Policy{Autonomy: 1, Rules: []protocol.Rule{{Match: "*", Decision: protocol.Ask, Approvers: []string{w.arjun.ID, w.priya.ID}}}}
	w.must(w.arjun, operation(&protocol.HarnessPolicySet{HarnessID: w.scout.ID, Policy: policy}))
	for round := range 8 {
		apr, qst := fmt.Sprintf("apr_0000000000000000000000000%d", round), fmt.Sprintf("qst_0000000000000000000000000%d", round)
		w.must(w.scout, onRun(run, &protocol.ApprovalRequested{ApprovalID: apr, Action: protocol.Action{Kind: "x", Summary: "It acts"}}))
		w.must(w.scout, onRun(run, &protocol.QuestionAsked{QuestionID: qst, Text: "Blue or green?"}))
		for _, data := range []protocol.Data{&protocol.ApprovalResolved{ApprovalID: apr, Decision: protocol.Denied}, &protocol.QuestionAnswered{QuestionID: qst, Answer: "Blue"}} {
			var (
				all    sync.WaitGroup
				mu     sync.Mutex
				landed []engine.Outcome
				told   []string
			)
			for i := range 8 {
				by := []workspace.Caller{w.arjun, w.priya}[i/2%2]
				cmd := workspace.Command{By: by, Draft: workspace.Draft(data)}
				cmd.Draft.IdempotencyKey = fmt.Sprint(round, data.EventType(), i)
				all.Go(func() {
					o, err := engines[i%2].Do(t.Context(), "ws_1", cmd)
					mu.Lock()
					defer mu.Unlock()
					if refusal, ok := errors.AsType[*protocol.Error](err); ok && refusal.Code == protocol.InvalidEvent {
						told = append(told, refusal.Message)
					} else if err != nil {
						t.Errorf("%s: %v", data.EventType(), err)
					} else {
						landed = append(landed, o)
					}
				})
			}
			all.Wait()
			if len(landed) != 1 {
				t.Fatalf("%d of %s landed", len(landed), data.EventType())
			}
			for _, message := range told {
				if first := landed[0].Events[0].Actor.ID; !strings.Contains(message, first) {
					t.Errorf("%s was first, another is told %q", first, message)
				}
			}
		}
	}
}
