package deadline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chipschat/chips-aws/shared/deadline"
	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// agent registers an agent of Scout's and puts it in the room.
func (w *world) agentIn(name string) string {
	w.t.Helper()
	id := w.do(w.scout, "", &workspace.AgentDraft{HarnessID: w.scout.ID, Key: name, Name: &name}).Events[0].Data.(*protocol.AgentRegistered).AgentID
	w.do(w.arjun, w.room, &protocol.MemberAdded{ParticipantID: id})
	return id
}

// said is an agent's post to others, and what it became.
func (w *world) says(through *engine.Engine, agent, text string, to ...string) (engine.Outcome, *protocol.MessagePost, error) {
	draft := workspace.DraftIn(w.room, &protocol.MessagePost{Text: text, To: protocol.To{IDs: to}})
	draft.Actor = protocol.Actor{Kind: protocol.KindAgent, ID: agent}
	out, err := through.Do(w.t.Context(), ws, workspace.Command{By: w.scout, Draft: draft})
	if err != nil {
		return out, nil, err
	}
	return out, out.Events[out.Commit.Primary].Data.(*protocol.MessagePost), nil
}

func (w *world) exchanged() (x *protocol.Exchange) {
	w.t.Helper()
	w.must(w.engine.Read(w.t.Context(), ws, func(s *workspace.State) error {
		x = s.Exchanged(s.Rooms[w.room])
		return nil
	}))
	return x
}

// chat has agents answer each other in turn, each time a message is for them, a while apart, and answers how many were said: a held one is
// for nobody, and nobody answers it. told is when they were first told to mind it, and of a circle.
func (w *world) chat(agents []string, words func(n int) string, apart time.Duration) (said, told, circle int) {
	w.t.Helper()
	for n := 0; n < 10_000; n++ {
		time.Sleep(apart)
		_, post, err := w.says(w.engine, agents[n%len(agents)], words(n), agents[(n+1)%len(agents)])
		w.must(err)
		x := w.exchanged()
		if x != nil && told == 0 {
			told = n + 1
		}
		if x != nil && x.Circle && circle == 0 {
			circle = n + 1
		}
		if post.Held {
			return n + 1, told, circle
		}
	}
	w.t.Fatal("they talk for ever")
	return 0, 0, 0
}

// Two polite agents, and three in a slow round over days: whatever they say and however slowly, they come to an end.
// covers: REF-12, REF-19
func TestAgentsThatTalkForEver(t *testing.T) {
	for _, c := range []struct {
		name         string
		agents       int
		apart        time.Duration
		words        func(n int) string
		told, circle int
	}{
		{"two that thank each other", 2, time.Second, func(int) string { return "Thank you!" }, 4, 4},
		{"two that find new words", 2, time.Minute, func(n int) string { return fmt.Sprint("Thank you, ", n) }, 8, 0},
		{"three over three days", 3, 12 * time.Hour, func(n int) string { return []string{"After you", "No, after you", "I insist"}[n%3] }, 6, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				var agents []string
				for i := range c.agents {
					agents = append(agents, w.agentIn(fmt.Sprint("Agent ", string(rune('A'+i)))))
				}
				said, told, circle := w.chat(agents, c.words, c.apart)
				if said != workspace.DefaultHold+1 || told != c.told || circle != c.circle {
					t.Errorf("they said %d messages, were told at %d and of a circle at %d; want %d, %d, %d", said, told, circle, workspace.DefaultHold+1, c.told, c.circle)
				}
				out := w.do(w.arjun, w.room, &protocol.MessagePost{Text: "well?"})
				if n := len(out.Events); n != 2 || out.Events[1].Type != "message.handed" {
					t.Errorf("the person's word hands on %d messages", n-1)
				}
			})
		})
	}
}

// A lead that never answers is handed each thing once, twenty seconds after nobody works, over a restart too; late and twice does no harm.
// covers: LEAD-11, LEAD-17
func TestALeadThatNeverAnswers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		timers := embedded.NewTimers(func(ctx context.Context, a deadline.Alarm) error { return w.keeper.Fire(ctx, a) }, time.Now, quiet)
		w.keeper = w.newKeeper(w.engine, w.table, timers)
		lead, worker := w.agentIn("Lead"), w.agentIn("Worker")
		w.do(w.arjun, w.room, &protocol.SpaceLeadSet{AgentID: &lead})
		var said []time.Time
		say := func(text string) {
			t.Helper()
			out, _, err := w.says(w.engine, worker, text)
			w.must(err)
			w.must(w.keeper.Arm(t.Context(), ws, []engine.Commit{out.Commit}))
			said = append(said, out.Commit.TS)
		}
		say("A is in")
		time.Sleep(30 * time.Second)
		say("A is in!") // the same words
		time.Sleep(time.Hour)
		say("B is in")
		time.Sleep(10 * time.Second)
		say("C is in") // B's moment is over
		time.Sleep(10 * time.Second)
		timers.Stop() // the process ends, with C waiting; a new one sets anew what the log says is pending
		w.engine = engine.New(w.table, engine.Options{Now: time.Now})
		timers = embedded.NewTimers(func(ctx context.Context, a deadline.Alarm) error { return w.keeper.Fire(ctx, a) }, time.Now, quiet)
		defer timers.Stop()
		w.keeper = w.newKeeper(w.engine, w.table, timers)
		time.Sleep(time.Minute) // late
		w.must(w.keeper.Arm(t.Context(), ws, nil))
		w.must(w.keeper.Arm(t.Context(), ws, nil))
		time.Sleep(time.Hour)
		w.must(w.keeper.Fire(t.Context(), deadline.Alarm{WorkspaceID: ws, Kind: "lead", ID: w.room, Due: time.Now()}))
		var handed []time.Time
		for _, e := range w.log() {
			if d, ok := e.Data.(*protocol.MessageHanded); ok && slices.Equal(d.AgentIDs, []string{lead}) && d.Lead {
				handed = append(handed, e.TS.Time)
			}
		}
		if len(handed) != 2 || handed[0].Sub(said[0]) < 20*time.Second || handed[0].Sub(said[0]) > 21*time.Second || handed[1].Sub(said[3]) < 70*time.Second {
			t.Errorf("said at %v, the lead is handed words at %v", said, handed)
		}
	})
}

// log is all of the workspace's log.
func (w *world) log() (all []protocol.Event) {
	w.t.Helper()
	for seq := int64(1); ; {
		commits, err := w.table.Commits(w.t.Context(), ws, seq, 100)
		w.must(err)
		for _, c := range commits {
			if c.First < seq {
				continue
			}
			events, err := c.Decode()
			w.must(err)
			all, seq = append(all, events...), c.Last()+1
		}
		if len(commits) == 0 || commits[len(commits)-1].Last() < seq-1 || seq > all[len(all)-1].Seq && len(commits) < 100 {
			return all
		}
	}
}

// A person acts in the instant of the hold, or of the message after their pause: either the message is held and handed on by that act, or
// it comes after it and is not held; never both, never neither.
// covers: REF-2, REF-20, REF-25
func TestAPersonInTheSameInstant(t *testing.T) {
	for name, pause := range map[string]bool{"the hold": false, "the pause": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				hold, stop := 2, 2
				w.do(w.arjun, "", &workspace.ExchangeDraft{Hold: &workspace.Limit{N: &hold}, Stop: &workspace.Limit{N: &stop}})
				a, b := w.agentIn("A"), w.agentIn("B")
				other := engine.New(w.table, engine.Options{Now: time.Now})
				rng := rand.New(rand.NewPCG(1, 2))
				outcomes := map[string]int{}
				for n := range 200 {
					w.do(w.arjun, w.room, &protocol.MessagePost{Text: fmt.Sprint("round ", n)})
					if pause {
						w.do(w.arjun, w.room, &protocol.ExchangeSet{State: "paused"})
					} else {
						for i := range hold {
							_, _, err := w.says(w.engine, a, fmt.Sprint(n, i), b)
							w.must(err)
						}
					}
					var wg sync.WaitGroup
					var said *protocol.MessagePost
					var outSaid, outAct engine.Outcome
					var errSaid, errAct error
					before, after := time.Duration(rng.IntN(3))*time.Microsecond, time.Duration(rng.IntN(3))*time.Microsecond
					wg.Go(func() {
						time.Sleep(before)
						outSaid, said, errSaid = w.says(other, a, fmt.Sprint(n, " the one"), b)
					})
					wg.Go(func() {
						time.Sleep(after)
						outAct, errAct = w.engine.Do(t.Context(), ws, workspace.Command{
							By: w.arjun, Draft: workspace.DraftIn(w.room, &protocol.ExchangeSet{State: "going"}),
						})
					})
					wg.Wait()
					w.must(errSaid)
					w.must(errAct)
					handed := len(outAct.Events) == 2 && outAct.Events[1].Type == "message.handed"
					first := outSaid.Commit.First < outAct.Commit.First
					if said.Held != first || handed != said.Held {
						t.Fatalf("round %d: said at %d, held %v; the act at %d, handed on %v", n, outSaid.Commit.First, said.Held, outAct.Commit.First, handed)
					}
					outcomes[fmt.Sprint("held ", said.Held)]++
				}
				t.Log(outcomes)
			})
		})
	}
}
