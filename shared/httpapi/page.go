package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/protocol"
)

const (
	// maxPage is the most entries or events of an answer.
	maxPage = 500
	// maxPageBytes is the most bytes of them (contract U-148).
	maxPageBytes = 4 << 20
)

// query is a request's query, each name at most once.
type query map[string]string

// readQuery reads the query. Names that no route knows are passed over, as unknown fields are.
func readQuery(c *call) (query, error) {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, protocol.Refuse(protocol.InvalidRequest, "the query cannot be read")
	}
	q := query{}
	for name, v := range values {
		if len(v) > 1 {
			return nil, protocol.Refuse(protocol.InvalidRequest, "%s is given more than once", strings.ToValidUTF8(strconv.Quote(name), "\ufffd"))
		}
		q[name] = v[0]
	}
	return q, nil
}

// limit is how many the caller wants; whatever is no number from 1 to the maximum is the maximum (contract U-115).
func (q query) limit() int {
	n, err := strconv.ParseUint(q["limit"], 10, 31)
	if err != nil || n == 0 {
		return maxPage
	}
	return min(int(n), maxPage)
}

// seq reads a seq, 0 or more; -1 when it is not there.
func (q query) seq(name string) (int64, error) {
	text, ok := q[name]
	if !ok {
		return -1, nil
	}
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		return 0, protocol.Refuse(protocol.InvalidRequest, "%s: want a whole number, 0 or more", name)
	}
	return int64(n), nil
}

// cursor is where a list goes on: the ids above after, at most limit of them.
type cursor struct {
	after string
	limit int
}

func readCursor(c *call) (cursor, error) {
	q, err := readQuery(c)
	return cursor{q["after"], q.limit()}, err
}

// next are the ids of this page, and whether more follow.
func (p cursor) next(ids []string) (page []string, more bool) {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	from, found := slices.BinarySearch(ids, p.after)
	if found {
		from++
	}
	ids = ids[from:]
	if len(ids) > p.limit {
		return ids[:p.limit], true
	}
	return ids, false
}

// list is a page of a list, its entries cut by bytes as well. nextAfter is what to ask for the rest with, "" at the end.
func list[T any](entries []T, id func(T) string, more bool) (page []jsontext.Value, nextAfter string, err error) {
	page, size := []jsontext.Value{}, 0
	last := ""
	for _, e := range entries {
		raw, err := json.Marshal(e)
		if err != nil {
			return nil, "", err
		}
		if size += len(raw); size > maxPageBytes && len(page) > 0 {
			more = true
			break
		}
		page, last = append(page, raw), id(e)
	}
	if more {
		nextAfter = last
	}
	return page, nextAfter, nil
}
