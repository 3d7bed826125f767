package functions_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/dynamo"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// Each function has a payload for each of its triggers, and each payload a function.
func TestEachPayloadHasItsFunction(t *testing.T) {
	files, err := filepath.Glob("../events/*.json")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, file := range files {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".json"), "-")
		have[name] = true
		if !slices.Contains(folders(t), name) {
			t.Errorf("%s: no function %s", file, name)
		}
	}
	for _, name := range folders(t) {
		if !have[name] {
			t.Errorf("functions/%s has no payload in events/", name)
		}
	}
}

// The stream's payload is an item as the table holds them, and one that the event source mapping lets through.
func TestStreamPayloadIsACommit(t *testing.T) {
	var e apigw.DoorbellEvent
	if err := json.Unmarshal(payload(t, "fanout-stream.json"), &e); err != nil || len(e.Records) != 1 {
		t.Fatalf("%d records, %v", len(e.Records), err)
	}
	r := e.Records[0]
	c, ok, err := dynamo.CommitFromImage(r.Change.NewImage)
	if err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	decoded, err := c.Decode()
	if err != nil || len(decoded) != 1 {
		t.Fatal(err)
	}
	if post, ok := decoded[0].Data.(*protocol.MessagePost); !ok || post.Text != "Good morning" || decoded[0].WorkspaceID != eventsWorkspace || decoded[0].SpaceID != eventsSpace {
		t.Errorf("%+v", decoded[0])
	}

	pattern, _ := at(readTemplate(t).root, "Resources", "FanoutFunction", "Properties", "Events", "Stream", "Properties", "FilterCriteria", "Filters", 0, "Pattern").(string)
	var filter struct {
		EventName []string `json:"eventName"`
		DynamoDB  struct {
			Keys struct {
				SK struct {
					S []struct {
						Prefix string `json:"prefix"`
					}
				} `json:"sk"`
			}
		} `json:"dynamodb"`
	}
	if err := json.Unmarshal([]byte(pattern), &filter); err != nil {
		t.Fatal(err)
	}
	prefixes := filter.DynamoDB.Keys.SK.S
	if !slices.Contains(filter.EventName, r.EventName) || len(prefixes) != 1 || prefixes[0].Prefix == "" || !strings.HasPrefix(r.Change.Keys["sk"].String(), prefixes[0].Prefix) {
		t.Errorf("the filter %s does not let it through", pattern)
	}
}
