package dynamo_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/chipschat/chips-aws/shared/dynamo/dynamotest"
)

// CreateTable and template.yaml make the same table.
func TestTemplateAgrees(t *testing.T) {
	template, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(template), "Type: AWS::DynamoDB::Table\n")
	if !ok {
		t.Fatal("template.yaml has no table")
	}
	section, _, _ = strings.Cut(section, "\n\n")
	for _, emulator := range dynamotest.Emulators() {
		client, name := emulator.Plain(t)
		out, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			t.Fatal(err)
		}
		got := out.Table
		var want []string
		for _, a := range got.AttributeDefinitions {
			want = append(want, fmt.Sprintf("{ AttributeName: %s, AttributeType: %s }", *a.AttributeName, a.AttributeType))
		}
		keys := func(schema []types.KeySchemaElement, indent string) string {
			var lines []string
			for _, k := range schema {
				lines = append(lines, fmt.Sprintf("%s- { AttributeName: %s, KeyType: %s }\n", indent, *k.AttributeName, k.KeyType))
			}
			return "KeySchema:\n" + strings.Join(lines, "")
		}
		want = append(want, keys(got.KeySchema, "        "))
		for _, index := range got.GlobalSecondaryIndexes {
			want = append(want, fmt.Sprintf("- IndexName: %s\n          %s          Projection: { ProjectionType: %s }",
				*index.IndexName, keys(index.KeySchema, "            "), index.Projection.ProjectionType))
		}
		want = append(want, fmt.Sprintf("StreamViewType: %s", got.StreamSpecification.StreamViewType), "TimeToLiveSpecification: { AttributeName: ttl, Enabled: true }")
		if len(got.AttributeDefinitions) != strings.Count(section, "AttributeType:") || len(got.GlobalSecondaryIndexes) != strings.Count(section, "IndexName:") {
			t.Errorf("%s: the table has other attributes or indexes than template.yaml", emulator.Name)
		}
		for _, w := range want {
			if !strings.Contains(section+"\n", w) {
				t.Errorf("template.yaml does not say %q", w)
			}
		}
	}
}
