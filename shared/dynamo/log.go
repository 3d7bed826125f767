package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/chipschat/chips-aws/shared/engine"
)

// Append puts each claim and then its commit, one append after the other.
func (t *Table) Append(ctx context.Context, appends []engine.Append) ([]engine.Result, error) {
	var results []engine.Result
	for _, a := range appends {
		r, err := t.appendOne(ctx, a)
		if err != nil {
			return results, fmt.Errorf("append to %s at %d: %w", a.Commit.Workspace, a.Commit.First, err)
		}
		if results = append(results, r); !r.Written {
			break
		}
	}
	return results, nil
}

func (t *Table) appendOne(ctx context.Context, a engine.Append) (engine.Result, error) {
	var r engine.Result
	if a.Claim != nil {
		taken, ok, err := t.putClaim(ctx, *a.Claim, a.Replaces)
		if err != nil || !ok {
			return engine.Result{Taken: taken}, err
		}
		r.Claimed = true
	}
	old, written, err := t.putIf(ctx, "put commit", commitItem(a.Commit), "attribute_not_exists(pk)", nil, nil)
	if err != nil {
		return r, err
	}
	r.Written = written
	if old != nil {
		winner, err := decodeCommit(old)
		if err != nil {
			return r, err
		}
		r.Winner = &winner
	}
	return r, nil
}

// putClaim puts or moves a claim; else it answers false and the claim that stands, if one does.
func (t *Table) putClaim(ctx context.Context, c engine.Claim, replaces int64) (*engine.Claim, bool, error) {
	it := keyOf(claimPK(c.Workspace, c.Sender, c.Key), "-")
	it[attrAfter] = num(c.After)
	cond, names, values := "attribute_not_exists(pk)", map[string]string(nil), item(nil)
	if replaces >= 0 {
		cond, names, values = "#after = :old", map[string]string{"#after": attrAfter}, item{":old": num(replaces)}
	}
	old, ok, err := t.putIf(ctx, "put claim", it, cond, names, values)
	if err != nil || ok || old == nil {
		return nil, ok, err
	}
	r := reader{item: old}
	standing := c
	standing.After = r.num(attrAfter)
	if r.err != nil {
		return nil, false, r.err
	}
	if standing.After == c.After {
		return nil, true, nil
	}
	return &standing, false, nil
}

// ReadClaim reads a claim.
func (t *Table) ReadClaim(ctx context.Context, workspace, sender, key string) (engine.Claim, bool, error) {
	it, err := t.get(ctx, "get claim", claimPK(workspace, sender, key), "-")
	if err != nil || it == nil {
		return engine.Claim{}, false, err
	}
	r := reader{item: it}
	c := engine.Claim{Workspace: workspace, Sender: sender, Key: key, After: r.num(attrAfter)}
	return c, r.err == nil, r.err
}

// Commits reads one page of a log, and the commit before it where from is not the first seq of one.
func (t *Table) Commits(ctx context.Context, workspace string, from int64, limit int) ([]engine.Commit, error) {
	from = max(from, 1)
	commits, err := t.someCommits(ctx, workspace, "sk >= :sk", from, limit, true)
	if err != nil || from == 1 || len(commits) > 0 && commits[0].First == from {
		return commits, err
	}
	before, err := t.someCommits(ctx, workspace, "sk < :sk", from, 1, false)
	if err != nil {
		return nil, err
	}
	commits = append(before, commits...)
	return commits[:min(limit, len(commits))], nil
}

// Head reads the newest commit.
func (t *Table) Head(ctx context.Context, workspace string) (engine.Commit, bool, error) {
	commits, err := t.someCommits(ctx, workspace, "sk < :sk", maxSeq, 1, false)
	if err != nil || len(commits) == 0 {
		return engine.Commit{}, false, err
	}
	return commits[0], true, nil
}

// maxSeq is above every seq that fits 12 digits.
const maxSeq = 999_999_999_999

// someCommits reads the first page that holds any of a part of a log. DynamoDB ends a page at 1 MB.
func (t *Table) someCommits(ctx context.Context, workspace, part string, seq int64, limit int, rising bool) ([]engine.Commit, error) {
	var commits []engine.Commit
	err := t.pages(ctx, "query commits", &dynamodb.QueryInput{
		KeyConditionExpression:    aws.String("pk = :pk AND " + part),
		ExpressionAttributeValues: item{":pk": str(workspace), ":sk": str(commitSK(seq))},
		ConsistentRead:            aws.Bool(true),
		ScanIndexForward:          aws.Bool(rising),
		Limit:                     aws.Int32(int32(min(limit, 1<<20))),
	}, func(items []item) (enough bool, err error) {
		commits, err = decodeCommits(items)
		return len(items) > 0, err
	})
	return commits, err
}

// RoomCommits reads the first page that holds any by index by-space.
func (t *Table) RoomCommits(ctx context.Context, workspace, space string, before int64, limit int) ([]engine.Commit, error) {
	var commits []engine.Commit
	err := t.pages(ctx, "query room", &dynamodb.QueryInput{
		IndexName:                 aws.String(indexBySpace),
		KeyConditionExpression:    aws.String("#space = :space AND sk < :sk"),
		ExpressionAttributeNames:  map[string]string{"#space": attrSpace},
		ExpressionAttributeValues: item{":space": str(space), ":sk": str(commitSK(min(before, maxSeq)))},
		ScanIndexForward:          aws.Bool(false),
		Limit:                     aws.Int32(int32(min(limit, 1<<20))),
	}, func(items []item) (bool, error) {
		page, err := decodeCommits(items)
		for _, c := range page {
			// No two workspaces share a room's id; if they did, neither would read the other's.
			if c.Workspace == workspace && len(commits) < limit {
				commits = append(commits, c)
			}
		}
		return len(commits) > 0, err
	})
	return commits, err
}
