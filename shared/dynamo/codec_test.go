package dynamo

import (
	"bytes"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chipschat/chips-aws/shared/engine"
)

// aCommit has something in every field.
func aCommit() engine.Commit {
	return engine.Commit{
		Workspace: "ws_1", First: 7, TS: time.UnixMilli(1_790_000_000_123).UTC(), Events: [][]byte{[]byte(`{"type":"a"}`), []byte(`{}`)},
		Sender: "usr_1", Key: "k", Payload: [16]byte{1}, Primary: 1, Nonce: [10]byte{2}, Connection: "c", Credential: "tok_1",
		Prev: map[string]int64{"spc_1": 3, "spc_2": 0}, Space: "spc_1",
	}
}

// image is an item as a stream record has it, by way of its JSON.
func image(t testing.TB, raw []byte) map[string]events.DynamoDBAttributeValue {
	t.Helper()
	var image map[string]events.DynamoDBAttributeValue
	if err := json.Unmarshal(raw, &image); err != nil {
		t.Fatal(err)
	}
	return image
}

// toImage is what fromImage undoes.
func toImage(it item) map[string]events.DynamoDBAttributeValue {
	image := map[string]events.DynamoDBAttributeValue{}
	for name, v := range it {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			image[name] = events.NewStringAttribute(v.Value)
		case *types.AttributeValueMemberN:
			image[name] = events.NewNumberAttribute(v.Value)
		case *types.AttributeValueMemberB:
			image[name] = events.NewBinaryAttribute(v.Value)
		case *types.AttributeValueMemberM:
			image[name] = events.NewMapAttribute(toImage(v.Value))
		}
	}
	return image
}

// asJSON is an item in DynamoDB's JSON.
func asJSON(t testing.TB, it item) []byte {
	t.Helper()
	raw, err := json.Marshal(toImage(it))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestCommitFromImage(t *testing.T) {
	large := aCommit()
	large.Events = [][]byte{bytes.Repeat([]byte("words "), 1000)}
	large.Primary = 0
	for _, c := range []engine.Commit{aCommit(), large, {Workspace: "ws_1", First: 1, TS: time.UnixMilli(1).UTC(), Events: [][]byte{[]byte("{}")}}} {
		got, ok, err := CommitFromImage(image(t, asJSON(t, commitItem(c))))
		if err != nil || !ok {
			t.Fatalf("%v, %v", ok, err)
		}
		if diff := cmp.Diff(c, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for what, raw := range map[string]string{
		"a claim":             `{"pk":{"S":"K#ws_1#usr_1#x"},"sk":{"S":"-"},"after":{"N":"3"}}`,
		"a row":               `{"pk":{"S":"X#ws_1"},"sk":{"S":"c1"},"body":{"B":"e30="},"rev":{"N":"1"}}`,
		"a row named like it": `{"pk":{"S":"X#ws_1"},"sk":{"S":"C#1"},"body":{"B":"e30="},"rev":{"N":"1"}}`,
		"nothing":             `{}`,
		"null":                `null`,
	} {
		if _, ok, err := CommitFromImage(image(t, []byte(raw))); ok || err != nil {
			t.Errorf("%s is a commit: %v, %v", what, ok, err)
		}
	}
	for what, change := range map[string]func(item){
		"no events":                func(it item) { delete(it, attrEvents) },
		"torn events":              func(it item) { it[attrEvents] = bin([]byte{1, 9}) },
		"a short nonce":            func(it item) { it[attrNonce] = bin([]byte{1}) },
		"a seq that is no number":  func(it item) { it[attrSK] = str("C#x") },
		"no workspace":             func(it item) { delete(it, attrPK) },
		"a time that is a string":  func(it item) { it[attrTS] = str("1") },
		"a primary event too many": func(it item) { it[attrPrimary] = num(2) },
		"a prev that is no number": func(it item) { it[attrPrev].(*types.AttributeValueMemberM).Value["spc_1"] = str("x") },
	} {
		it := commitItem(aCommit())
		change(it)
		if _, ok, err := CommitFromImage(image(t, asJSON(t, it))); ok || err == nil {
			t.Errorf("%s: %v, %v; want an error", what, ok, err)
		}
	}
}

func FuzzCommitFromImage(f *testing.F) {
	f.Add(asJSON(f, commitItem(aCommit())))
	f.Add([]byte(`{"pk":{"S":"ws_1"},"sk":{"S":"C#000000000001"},"nonce":{"B":""},"events":{"B":"AQEA"},"ts":{"N":"1"},"prev":{"M":{"a":{"N":"x"}}}}`))
	f.Add([]byte(`{"sk":{"NULL":true},"nonce":{"L":[{"S":"C#"}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var image map[string]events.DynamoDBAttributeValue
		if json.Unmarshal(raw, &image) != nil {
			return
		}
		c, ok, err := CommitFromImage(image)
		if ok && err != nil {
			t.Fatalf("a commit, and an error: %v", err)
		}
		_, _ = decodeRow(fromImage(image))
		if !ok {
			return
		}
		again, err := decodeCommit(commitItem(c))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("encoded again (-want +got):\n%s", diff)
		}
	})
}
