package dynamo

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/chipschat/chips-aws/shared/engine"
)

// Attributes. Those of a commit are short: its item is billed by the KB, names and all.
const (
	attrPK, attrSK = "pk", "sk"

	attrEvents     = "events" // as engine.PackEvents has them
	attrTS         = "ts"     // in milliseconds
	attrNonce      = "nonce"
	attrPayload    = "hash"
	attrSender     = "by"
	attrKey        = "key"
	attrPrimary    = "main"
	attrConnection = "conn"
	attrCredential = "cred"
	attrPrev       = "prev"
	attrSpace      = "space" // with sk the key of index by-space

	attrAfter = "after"

	attrBody  = "body"
	attrRev   = "rev"
	attrTTL   = "ttl"   // in seconds
	attrDue   = "due"   // in milliseconds
	attrShard = "shard" // with attrDue the key of index by-due
)

// commitMark begins the sk of every commit, claimMark the pk of every claim.
const (
	commitMark = "C#"
	claimMark  = "K#"
)

func commitSK(first int64) string { return fmt.Sprintf(commitMark+"%012d", first) }

func claimPK(workspace, sender, key string) string {
	sum := sha256.Sum256([]byte(key))
	return claimMark + workspace + "#" + sender + "#" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// str, num and bin make attribute values.
func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func bin(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func keyOf(pk, sk string) item { return item{attrPK: str(pk), attrSK: str(sk)} }

// commitItem is a commit as it is stored.
func commitItem(c engine.Commit) item {
	it := item{
		attrPK:     str(c.Workspace),
		attrSK:     str(commitSK(c.First)),
		attrEvents: bin(engine.PackEvents(nil, c.Events)),
		attrTS:     num(c.TS.UnixMilli()),
		attrNonce:  bin(c.Nonce[:]),
	}
	if c.Payload != [16]byte{} {
		it[attrPayload] = bin(c.Payload[:])
	}
	for name, s := range map[string]string{
		attrSender: c.Sender, attrKey: c.Key, attrConnection: c.Connection, attrCredential: c.Credential, attrSpace: c.Space,
	} {
		if s != "" {
			it[name] = str(s)
		}
	}
	if c.Primary != 0 {
		it[attrPrimary] = num(int64(c.Primary))
	}
	if len(c.Prev) > 0 {
		prev := item{}
		for space, first := range c.Prev {
			prev[space] = num(first)
		}
		it[attrPrev] = &types.AttributeValueMemberM{Value: prev}
	}
	return it
}

// decodeCommit reads what commitItem made.
func decodeCommit(it item) (engine.Commit, error) {
	r := reader{item: it}
	c := engine.Commit{
		Workspace:  r.str(attrPK),
		TS:         time.UnixMilli(r.num(attrTS)).UTC(),
		Sender:     r.str(attrSender),
		Key:        r.str(attrKey),
		Primary:    int(r.num(attrPrimary)),
		Connection: r.str(attrConnection),
		Credential: r.str(attrCredential),
		Space:      r.str(attrSpace),
	}
	digits, ok := strings.CutPrefix(r.str(attrSK), commitMark)
	first, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || first < 1 || c.Workspace == "" {
		return engine.Commit{}, fmt.Errorf("an item at %q is not a commit", r.str(attrSK))
	}
	c.First = first
	r.fill(attrNonce, c.Nonce[:])
	r.fill(attrPayload, c.Payload[:])
	if prev, ok := it[attrPrev].(*types.AttributeValueMemberM); ok {
		rooms := reader{item: prev.Value}
		c.Prev = make(map[string]int64, len(prev.Value))
		for space := range prev.Value {
			c.Prev[space] = rooms.num(space)
		}
		r.err = errors.Join(r.err, rooms.err)
	}
	if r.err == nil {
		c.Events, r.err = engine.UnpackEvents(r.bin(attrEvents))
	}
	if r.err == nil && (c.Primary < 0 || c.Primary >= len(c.Events)) {
		r.err = fmt.Errorf("primary event %d of %d", c.Primary, len(c.Events))
	}
	if r.err != nil {
		return engine.Commit{}, fmt.Errorf("decode the commit of %s at %d: %w", c.Workspace, c.First, r.err)
	}
	return c, nil
}

func decodeCommits(items []item) ([]engine.Commit, error) {
	commits := make([]engine.Commit, len(items))
	for i, it := range items {
		var err error
		if commits[i], err = decodeCommit(it); err != nil {
			return nil, err
		}
	}
	return commits, nil
}

// decodeRow reads a row.
func decodeRow(it item) (engine.Row, error) {
	r := reader{item: it}
	row := engine.Row{PK: r.str(attrPK), SK: r.str(attrSK), Body: r.bin(attrBody), Rev: r.num(attrRev)}
	if _, ok := it[attrTTL]; ok {
		row.Expires = time.Unix(r.num(attrTTL), 0).UTC()
	}
	if _, ok := it[attrDue]; ok {
		row.Due = time.UnixMilli(r.num(attrDue)).UTC()
	}
	if r.err != nil {
		return engine.Row{}, fmt.Errorf("decode row %s %s: %w", row.PK, row.SK, r.err)
	}
	return row, nil
}

// reader reads attributes, of which each may be left out, and keeps the first thing that is wrong.
type reader struct {
	item item
	err  error
}

func (r *reader) wrong(name string) {
	if r.err == nil {
		r.err = fmt.Errorf("attribute %s is not as it is written", name)
	}
}

func (r *reader) str(name string) string {
	switch v := r.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		return v.Value
	default:
		r.wrong(name)
	}
	return ""
}

func (r *reader) num(name string) int64 {
	switch v := r.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil {
			return n
		}
		r.wrong(name)
	default:
		r.wrong(name)
	}
	return 0
}

func (r *reader) bin(name string) []byte {
	switch v := r.item[name].(type) {
	case nil:
	case *types.AttributeValueMemberB:
		return v.Value
	default:
		r.wrong(name)
	}
	return nil
}

// fill reads bytes of exactly the length of b, or none.
func (r *reader) fill(name string, b []byte) {
	v := r.bin(name)
	if v != nil && len(v) != len(b) {
		r.wrong(name)
		return
	}
	copy(b, v)
}

// CommitFromImage reads the commit in the new image of a stream record; false where the item is not a commit.
func CommitFromImage(image map[string]events.DynamoDBAttributeValue) (engine.Commit, bool, error) {
	it := fromImage(image)
	r := reader{item: it}
	if !strings.HasPrefix(r.str(attrSK), commitMark) || it[attrNonce] == nil {
		return engine.Commit{}, false, nil
	}
	c, err := decodeCommit(it)
	return c, err == nil, err
}

// fromImage turns a stream's values into the SDK's: of those kinds that a commit has.
func fromImage(image map[string]events.DynamoDBAttributeValue) item {
	it := make(item, len(image))
	for name, v := range image {
		switch v.DataType() {
		case events.DataTypeString:
			it[name] = str(v.String())
		case events.DataTypeNumber:
			it[name] = &types.AttributeValueMemberN{Value: v.Number()}
		case events.DataTypeBinary:
			it[name] = bin(v.Binary())
		case events.DataTypeMap:
			it[name] = &types.AttributeValueMemberM{Value: fromImage(v.Map())}
		}
	}
	return it
}
