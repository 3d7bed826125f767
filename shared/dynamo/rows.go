package dynamo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/chipschat/chips-aws/shared/engine"
)

// maxBody is how large a row's body may be: what fits DynamoDB's 400 KB beside the rest.
const maxBody = 350 << 10

// Get reads a row.
func (t *Table) Get(ctx context.Context, pk, sk string) (engine.Row, bool, error) {
	it, err := t.get(ctx, "get row", pk, sk)
	if err != nil || it == nil {
		return engine.Row{}, false, err
	}
	row, err := decodeRow(it)
	return row, err == nil, err
}

// condition is a condition on a row in DynamoDB's words; "" for none. It may use #rev, and add to values.
func condition(cond engine.Cond, values item) string {
	switch cond {
	case engine.Always:
		return ""
	case engine.Absent:
		return "attribute_not_exists(pk)"
	}
	values[":rev"] = num(cond.Rev())
	return "#rev = :rev"
}

// Put writes a row by an update, which alone can count its revisions.
func (t *Table) Put(ctx context.Context, row engine.Row, cond engine.Cond) (int64, error) {
	if len(row.Body) > maxBody {
		return 0, fmt.Errorf("a row's body is %d bytes, at most %d fit", len(row.Body), maxBody)
	}
	var set, remove []string
	names, values := map[string]string{"#rev": attrRev}, item{":one": num(1)}
	attribute := func(name string, is bool, v func() types.AttributeValue) {
		names["#"+name] = name
		if is {
			set = append(set, "#"+name+" = :"+name)
			values[":"+name] = v()
		} else {
			remove = append(remove, "#"+name)
		}
	}
	due := !row.Due.IsZero()
	attribute(attrBody, len(row.Body) > 0, func() types.AttributeValue { return bin(row.Body) })
	attribute(attrTTL, !row.Expires.IsZero(), func() types.AttributeValue { return num(row.Expires.Add(time.Second - 1).Unix()) })
	attribute(attrDue, due, func() types.AttributeValue { return num(row.Due.UnixMilli()) })
	attribute(attrShard, due, func() types.AttributeValue { return num(int64(engine.DueShard(row.PK, row.SK))) })
	update := "ADD #rev :one"
	if len(set) > 0 {
		update += " SET " + strings.Join(set, ", ")
	}
	if len(remove) > 0 {
		update += " REMOVE " + strings.Join(remove, ", ")
	}
	in := &dynamodb.UpdateItemInput{
		TableName:                 t.name,
		Key:                       keyOf(row.PK, row.SK),
		UpdateExpression:          &update,
		ExpressionAttributeNames:  names,
		ExpressionAttributeValues: values,
		ReturnValues:              types.ReturnValueUpdatedNew,
	}
	if c := condition(cond, values); c != "" {
		in.ConditionExpression = &c
	}
	out, err := t.api.UpdateItem(ctx, in)
	if _, ok := conditionFailed(err); ok {
		return 0, engine.ErrCondition
	}
	if err != nil {
		return 0, failed("put row", err)
	}
	r := reader{item: out.Attributes}
	return r.num(attrRev), r.err
}

// Delete removes a row.
func (t *Table) Delete(ctx context.Context, pk, sk string, cond engine.Cond) (engine.Row, error) {
	values := item{}
	in := &dynamodb.DeleteItemInput{TableName: t.name, Key: keyOf(pk, sk), ReturnValues: types.ReturnValueAllOld}
	if c := condition(cond, values); c != "" {
		in.ConditionExpression = &c
	}
	if len(values) > 0 {
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = map[string]string{"#rev": attrRev}, values
	}
	out, err := t.api.DeleteItem(ctx, in)
	if _, ok := conditionFailed(err); ok {
		return engine.Row{}, engine.ErrCondition
	}
	if err != nil {
		return engine.Row{}, failed("delete row", err)
	}
	if len(out.Attributes) == 0 {
		return engine.Row{}, nil
	}
	return decodeRow(out.Attributes)
}

// Query reads rows of one pk, over as many pages as it takes.
func (t *Table) Query(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	return t.query(ctx, pk, after, limit, true)
}

// Glance reads them eventually consistent.
func (t *Table) Glance(ctx context.Context, pk, after string, limit int) ([]engine.Row, error) {
	return t.query(ctx, pk, after, limit, false)
}

func (t *Table) query(ctx context.Context, pk, after string, limit int, consistent bool) ([]engine.Row, error) {
	in := &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: item{":pk": str(pk)},
		ConsistentRead:            aws.Bool(consistent),
	}
	if after != "" {
		in.KeyConditionExpression = aws.String("pk = :pk AND sk > :after")
		in.ExpressionAttributeValues[":after"] = str(after)
	}
	return t.rows(ctx, "query rows", in, limit)
}

// Due reads rows by index by-due.
func (t *Table) Due(ctx context.Context, shard int, before time.Time, limit int) ([]engine.Row, error) {
	return t.rows(ctx, "query what is due", &dynamodb.QueryInput{
		IndexName:                 aws.String(indexByDue),
		KeyConditionExpression:    aws.String("#shard = :shard AND #due <= :before"),
		ExpressionAttributeNames:  map[string]string{"#shard": attrShard, "#due": attrDue},
		ExpressionAttributeValues: item{":shard": num(int64(shard)), ":before": num(before.UnixMilli())},
	}, limit)
}

func (t *Table) rows(ctx context.Context, what string, in *dynamodb.QueryInput, limit int) ([]engine.Row, error) {
	in.Limit = aws.Int32(int32(min(limit, 1<<20)))
	var rows []engine.Row
	err := t.pages(ctx, what, in, func(items []item) (bool, error) {
		for _, it := range items {
			row, err := decodeRow(it)
			if err != nil {
				return false, err
			}
			rows = append(rows, row)
		}
		in.Limit = aws.Int32(int32(min(limit-len(rows), 1<<20)))
		return len(rows) >= limit, nil
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}
