package dynamo_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// anID makes an id of the length that ids have.
func anID(prefix string, n byte) string { return protocol.NewID(prefix, at, [10]byte{9: n}) }

var at = time.Date(2026, 9, 2, 14, 22, 15, 4_000_000, time.UTC)

// anAppend is an append of one event by an agent, by a key of 30 characters, as the engine makes it.
func anAppend(t *testing.T, first int64, spaceID string, data protocol.Data) engine.Append {
	t.Helper()
	actor := protocol.Actor{Kind: protocol.KindAgent, ID: anID("agt", 1), HarnessID: anID("hrn", 1)}
	raw, err := protocol.Event{Envelope: protocol.Envelope{Type: data.EventType(), SpaceID: spaceID, RunID: anID("run", 1), Actor: actor}, Data: data}.AppendStored(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := engine.Commit{
		Workspace: anID("ws", 1), First: first, TS: at, Events: [][]byte{raw},
		Sender: actor.HarnessID, Key: fmt.Sprintf("turn-0001-message-%012d", first), Payload: [16]byte{1, 2, 3}, Nonce: [10]byte{byte(first), 1},
		Connection: "L0SM9cOFvHcCIhw=", Credential: anID("tok", 1),
	}
	if spaceID != "" {
		c.Space, c.Prev = spaceID, map[string]int64{spaceID: 123_456}
	}
	return engine.Append{Commit: c, Claim: &engine.Claim{Workspace: c.Workspace, Sender: c.Sender, Key: c.Key, After: first - 1}, Replaces: -1}
}

// hindi is a message of about 300 characters and 750 bytes.
const hindi = "कल की बैठक में हमने तय किया कि नई वेबसाइट का पहला हिस्सा शुक्रवार तक तैयार हो जाएगा। आप कृपया चित्रों की सूची जाँच लें और जो गायब हैं " +
	"उन्हें फ़ोल्डर में डाल दें। मैं शाम को परीक्षण चलाऊँगा और नतीजे यहीं लिखूँगा। अगर कोई सवाल हो तो मुझे बता दें, मैं रात नौ बजे तक यहीं हूँ।"

// What an append costs: a message whose item is up to 1 KB three write units, a step two, and no reads.
func TestUnits(t *testing.T) {
	api, name := dynamotest.Kumo(t)
	metered := dynamo.NewMetered(api)
	table := dynamo.New(metered, name)
	var used dynamo.Units
	check := func(what string, want dynamo.Units) {
		t.Helper()
		now := metered.Units()
		if diff := cmp.Diff(want, now.Sub(used)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		used = now
	}
	do := func(a engine.Append, want engine.Result) {
		t.Helper()
		r, err := table.Append(t.Context(), []engine.Append{a})
		if err != nil {
			t.Fatal(err)
		}
		if len(r) != 1 || r[0].Written != want.Written || r[0].Claimed != want.Claimed {
			t.Fatalf("%+v, want %+v", r, want)
		}
	}
	written := engine.Result{Written: true, Claimed: true}
	text := strings.Repeat("Five words of six letters. ", 12)[:300]
	room := anID("spc", 1)
	first := anAppend(t, 1, room, &protocol.MessagePost{Text: text, AddressedTo: []string{anID("agt", 2)}})
	do(first, written)
	check("a message of 300 characters", dynamo.Units{WRU: 3, Calls: 2})
	// Other scripts take up to three bytes a character: compressed they still fit.
	do(anAppend(t, 2, room, &protocol.MessagePost{Text: hindi, AddressedTo: []string{anID("agt", 2)}}), written)
	check("a message of as many characters of three bytes", dynamo.Units{WRU: 3, Calls: 2})
	do(anAppend(t, 3, "", &protocol.StepLog{StepID: "step-1", Status: "done", Summary: "ran the tests"}), written)
	check("a step", dynamo.Units{WRU: 2, Calls: 2})

	lost := first
	lost.Claim = nil
	do(lost, engine.Result{})
	check("a slot that is taken", dynamo.Units{WRU: 1, Calls: 1})
	do(anAppend(t, 9, "", &protocol.StepLog{}), written)
	check("another step", dynamo.Units{WRU: 2, Calls: 2})

	if _, _, err := table.Head(t.Context(), first.Commit.Workspace); err != nil {
		t.Fatal(err)
	}
	check("the head", dynamo.Units{RRU: 1, Calls: 1})
	if _, err := table.Commits(t.Context(), first.Commit.Workspace, 9, 100); err != nil {
		t.Fatal(err)
	}
	check("what is new, from the last that is known", dynamo.Units{RRU: 1, Calls: 1})
	if _, err := table.RoomCommits(t.Context(), first.Commit.Workspace, room, 100, 40); err != nil {
		t.Fatal(err)
	}
	check("a room, not consistently", dynamo.Units{RRU: .5, Calls: 1})
	if _, _, err := table.ReadClaim(t.Context(), first.Commit.Workspace, first.Claim.Sender, "nobody's"); err != nil {
		t.Fatal(err)
	}
	check("a claim that is not there", dynamo.Units{RRU: 1, Calls: 1})
}

// What rows cost, with the index they enter, move within and leave.
func TestUnitsOfRows(t *testing.T) {
	api, name := dynamotest.Kumo(t)
	metered := dynamo.NewMetered(api)
	table := dynamo.New(metered, name)
	row := func(kb int, due time.Time) engine.Row {
		return engine.Row{PK: "T#1", SK: "-", Body: bytes.Repeat([]byte{1}, kb<<10-200), Due: due}
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
		want dynamo.Units
	}{
		{"put 1 KB", put(table, row(1, time.Time{}), engine.Absent), dynamo.Units{WRU: 1, Calls: 1}},
		{"put 3 KB over it", put(table, row(3, time.Time{}), engine.IfRev(1)), dynamo.Units{WRU: 3, Calls: 1}},
		{"put 2 KB over that", put(table, row(2, time.Time{}), engine.Always), dynamo.Units{WRU: 3, Calls: 1}},
		{"a condition that fails on 2 KB", put(table, row(9, time.Time{}), engine.Absent), dynamo.Units{WRU: 2, Calls: 1}},
		{"enter the index with 3 KB", put(table, row(3, at), engine.Always), dynamo.Units{WRU: 3 + 3, Calls: 1}},
		{"change within it to 4 KB", put(table, row(4, at), engine.Always), dynamo.Units{WRU: 4 + 4, Calls: 1}},
		{"move within it with 1 KB", put(table, row(1, at.Add(time.Hour)), engine.Always), dynamo.Units{WRU: 4 + 4 + 1, Calls: 1}},
		{"get it", func(ctx context.Context) error { _, _, err := table.Get(ctx, "T#1", "-"); return err }, dynamo.Units{RRU: 1, Calls: 1}},
		{"read the index", func(ctx context.Context) error { _, err := table.Due(ctx, 0, at, 10); return err }, dynamo.Units{RRU: .5, Calls: 1}},
		{"leave it with 9 KB", put(table, row(9, time.Time{}), engine.Always), dynamo.Units{WRU: 9 + 1, Calls: 1}},
		{"get 9 KB", func(ctx context.Context) error { _, _, err := table.Get(ctx, "T#1", "-"); return err }, dynamo.Units{RRU: 3, Calls: 1}},
		{"query 9 KB", func(ctx context.Context) error { _, err := table.Query(ctx, "T#1", "", 10); return err }, dynamo.Units{RRU: 3, Calls: 1}},
		{"glance at 9 KB", func(ctx context.Context) error { _, err := table.Glance(ctx, "T#1", "", 10); return err }, dynamo.Units{RRU: 1.5, Calls: 1}},
		{"delete it", func(ctx context.Context) error { _, err := table.Delete(ctx, "T#1", "-", engine.Always); return err }, dynamo.Units{WRU: 9, Calls: 1}},
		{"delete what is not there", func(ctx context.Context) error { _, err := table.Delete(ctx, "T#1", "-", engine.Always); return err }, dynamo.Units{WRU: 1, Calls: 1}},
	} {
		metered.Reset()
		err := step.do(t.Context())
		if refused := step.what == "a condition that fails on 2 KB"; (err != nil) != refused {
			t.Fatalf("%s: %v", step.what, err)
		}
		if diff := cmp.Diff(step.want, metered.Units()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	if got := metered.ByCall(); got["DeleteItem"].Calls != 1 {
		t.Errorf("by call: %v, want the last delete", got)
	}
}

func put(table engine.Table, row engine.Row, cond engine.Cond) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := table.Put(ctx, row, cond)
		return err
	}
}

// Sizes as DynamoDB's manual has them.
func TestItemSize(t *testing.T) {
	n := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	s := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for _, tt := range []struct {
		value types.AttributeValue
		want  int
	}{
		{s(""), 0},
		{s("abc"), 3},
		{s("é"), 2},
		{&types.AttributeValueMemberB{Value: make([]byte, 10)}, 10},
		{n("0"), 1},
		{n("7"), 2},
		{n("12"), 2},
		{n("123"), 3},
		{n("1200"), 2},
		{n("-123"), 4},
		{n("1790000000123"), 8},
		{&types.AttributeValueMemberBOOL{Value: true}, 1},
		{&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}}, 3},
		{&types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"ab": n("7"), "c": s("xyz")}}, 3 + 2 + 2 + 2 + 1 + 3},
	} {
		if got := dynamo.ItemSize(map[string]types.AttributeValue{"name": tt.value}); got != 4+tt.want {
			t.Errorf("%#v is %d bytes, want %d", tt.value, got-4, tt.want)
		}
	}
	if got := dynamo.ItemSize(nil); got != 0 {
		t.Errorf("no item is %d bytes", got)
	}
}
