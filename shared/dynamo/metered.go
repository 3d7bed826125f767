package dynamo

import (
	"context"
	"maps"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Units are what DynamoDB bills on demand, and how many calls they took.
type Units struct {
	// WRU are write units: one for each KB of an item, and as many again in each index it is in.
	WRU float64
	// RRU are read units: one for each 4 KB read, half of one where the read is not consistent.
	RRU   float64
	Calls int
}

// Add answers the sum of both.
func (u Units) Add(v Units) Units { return Units{u.WRU + v.WRU, u.RRU + v.RRU, u.Calls + v.Calls} }

// Sub answers what was used since v.
func (u Units) Sub(v Units) Units { return Units{u.WRU - v.WRU, u.RRU - v.RRU, u.Calls - v.Calls} }

var _ API = (*Metered)(nil)

// Metered counts what DynamoDB would bill for the calls that go through it, by the items themselves: emulators do not. To know
// what a write replaces it looks before each, which is not counted and makes it a thing for tests and benchmarks.
type Metered struct {
	api API

	mu     sync.Mutex
	byCall map[string]Units
}

// NewMetered meters api.
func NewMetered(api API) *Metered { return &Metered{api: api, byCall: map[string]Units{}} }

// Units are those used since the start or the last Reset.
func (m *Metered) Units() Units {
	var total Units
	for _, u := range m.ByCall() {
		total = total.Add(u)
	}
	return total
}

// ByCall are the units by the API's name of the call.
func (m *Metered) ByCall() map[string]Units {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.byCall)
}

// Reset sets all to zero.
func (m *Metered) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.byCall)
}

func (m *Metered) count(call string, u Units) {
	u.Calls = 1
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byCall[call] = m.byCall[call].Add(u)
}

// countWrite counts a write that made new of old, either of which may be nil. A condition that fails costs what stands there; any other
// failure costs a call and nothing.
func (m *Metered) countWrite(call string, old, new item, err error) {
	if _, refused := conditionFailed(err); refused {
		m.count(call, Units{WRU: writeUnits(old)})
		return
	}
	if err != nil {
		m.count(call, Units{})
		return
	}
	u := Units{WRU: max(writeUnits(old), writeUnits(new))}
	u.WRU += indexUnits(old, new, attrSpace, attrSK)
	u.WRU += indexUnits(old, new, attrShard, attrDue)
	m.count(call, u)
}

// indexUnits are what a write costs in an index that projects all: a put, a delete, or where its key moves both.
func indexUnits(old, new item, keys ...string) float64 {
	key := func(it item) string {
		var parts []string
		for _, k := range keys {
			switch v := it[k].(type) {
			case *types.AttributeValueMemberS:
				parts = append(parts, v.Value)
			case *types.AttributeValueMemberN:
				parts = append(parts, v.Value)
			default:
				return ""
			}
		}
		return strings.Join(parts, "\x00")
	}
	from, to := key(old), key(new)
	switch {
	case from == "" && to == "":
		return 0
	case from == "":
		return writeUnits(new)
	case to == "":
		return writeUnits(old)
	case from == to:
		return max(writeUnits(old), writeUnits(new))
	}
	return writeUnits(old) + writeUnits(new)
}

func writeUnits(it item) float64 { return float64(max(1, (ItemSize(it)+1023)/1024)) }

func readUnits(bytes int, consistent *bool) float64 {
	u := float64(max(1, (bytes+4095)/4096))
	if !aws.ToBool(consistent) {
		u /= 2
	}
	return u
}

// peek looks at what stands under a key, uncounted.
func (m *Metered) peek(ctx context.Context, table *string, key item) (item, error) {
	out, err := m.api.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// GetItem reads, and counts.
func (m *Metered) GetItem(ctx context.Context, in *dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
	out, err := m.api.GetItem(ctx, in)
	if err != nil {
		m.count("GetItem", Units{})
		return out, err
	}
	m.count("GetItem", Units{RRU: readUnits(ItemSize(out.Item), in.ConsistentRead)})
	return out, nil
}

// PutItem writes, and counts.
func (m *Metered) PutItem(ctx context.Context, in *dynamodb.PutItemInput) (*dynamodb.PutItemOutput, error) {
	old, err := m.peek(ctx, in.TableName, item{attrPK: in.Item[attrPK], attrSK: in.Item[attrSK]})
	if err != nil {
		return nil, err
	}
	out, err := m.api.PutItem(ctx, in)
	m.countWrite("PutItem", old, in.Item, err)
	return out, err
}

// UpdateItem writes, and counts. It answers all new attributes, whatever was asked for.
func (m *Metered) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	old, err := m.peek(ctx, in.TableName, in.Key)
	if err != nil {
		return nil, err
	}
	all := *in
	all.ReturnValues = types.ReturnValueAllNew
	out, err := m.api.UpdateItem(ctx, &all)
	var new item
	if err == nil {
		new = out.Attributes
	}
	m.countWrite("UpdateItem", old, new, err)
	return out, err
}

// DeleteItem deletes, and counts.
func (m *Metered) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput) (*dynamodb.DeleteItemOutput, error) {
	old, err := m.peek(ctx, in.TableName, in.Key)
	if err != nil {
		return nil, err
	}
	out, err := m.api.DeleteItem(ctx, in)
	m.countWrite("DeleteItem", old, nil, err)
	return out, err
}

// Query reads, and counts one page, which is rounded up as a whole.
func (m *Metered) Query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	out, err := m.api.Query(ctx, in)
	if err != nil {
		m.count("Query", Units{})
		return out, err
	}
	size := 0
	for _, it := range out.Items {
		size += ItemSize(it)
	}
	m.count("Query", Units{RRU: readUnits(size, in.ConsistentRead)})
	return out, nil
}

// ItemSize is how many bytes an item is billed as: its names and values, as DynamoDB's manual has it.
func ItemSize(it map[string]types.AttributeValue) int {
	size := 0
	for name, v := range it {
		size += len(name) + valueSize(v)
	}
	return size
}

func valueSize(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberM:
		// Three bytes for the map, one for each element.
		return 3 + len(v.Value) + ItemSize(v.Value)
	}
	return 1 // no item of ours holds another kind
}

// numberSize is a byte, one for each two significant digits, and one for a sign.
func numberSize(n string) int {
	digits, negative := strings.CutPrefix(n, "-")
	digits = strings.Trim(digits, "0")
	size := 1 + (len(digits)+1)/2
	if negative {
		size++
	}
	return size
}
