package managed

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// A shape checks a JSON value and answers it with what it knows of alone. at is where the value stands, for the refusal.
type shape func(at string, v any) (any, *protocol.Error)

// field is one field of an object.
type field struct {
	name  string
	shape shape
	// must says that the field has to be there, and null that null is a value of it, which it has too where it is left out.
	must, null bool
}

func must(name string, s shape) field   { return field{name, s, true, false} }
func may(name string, s shape) field    { return field{name, s, false, false} }
func orNull(name string, s shape) field { return field{name, s, false, true} }

// bad refuses what stands at a place.
func bad(at, format string, args ...any) *protocol.Error {
	return protocol.Refuse(protocol.InvalidRequest, "%s", at+" "+fmt.Sprintf(format, args...))
}

func below(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func object(fields ...field) shape {
	return func(at string, v any) (any, *protocol.Error) {
		in, ok := v.(map[string]any)
		if !ok {
			return nil, bad(at, "is an object")
		}
		out := map[string]any{}
		for _, f := range fields {
			v, there := in[f.name]
			switch {
			case (!there || v == nil) && f.must:
				return nil, bad(below(at, f.name), "is missing")
			case v == nil && f.null:
				out[f.name] = nil
			case v != nil:
				clean, err := f.shape(below(at, f.name), v)
				if err != nil {
					return nil, err
				}
				out[f.name] = clean
			}
		}
		return out, nil
	}
}

// list has at most a number of entries; what names them in the refusal.
func list(most int, what string, entry shape) shape {
	return func(at string, v any) (any, *protocol.Error) {
		in, ok := v.([]any)
		switch {
		case !ok:
			return nil, bad(at, "is a list")
		case len(in) > most:
			return nil, bad(at, "has %d entries, and %d %s are the most", len(in), most, what)
		}
		out := make([]any, len(in))
		for i := range in {
			clean, err := entry(fmt.Sprintf("%s[%d]", at, i), in[i])
			if err != nil {
				return nil, err
			}
			out[i] = clean
		}
		return out, nil
	}
}

// oneOfAKind has no two entries with the same text in a field.
func oneOfAKind(name string, entries shape) shape {
	return func(at string, v any) (any, *protocol.Error) {
		out, err := entries(at, v)
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		for i, e := range objects(out) {
			if id := str(e, name); seen[id] {
				return nil, bad(fmt.Sprintf("%s[%d].%s", at, i, name), "is another entry's too")
			} else {
				seen[id] = true
			}
		}
		return out, nil
	}
}

// text has 1 to most bytes, or none too where it may be empty.
func text(least, most int) shape {
	return func(at string, v any) (any, *protocol.Error) {
		s, ok := v.(string)
		switch {
		case !ok || !utf8.ValidString(s):
			return nil, bad(at, "is a text")
		case len(s) < least || len(s) > most:
			return nil, bad(at, "has %d bytes: it takes %d to %d", len(s), least, most)
		}
		return s, nil
	}
}

func oneOf(words ...string) shape {
	return func(at string, v any) (any, *protocol.Error) {
		if s, ok := v.(string); ok && slices.Contains(words, s) {
			return s, nil
		}
		return nil, bad(at, "is one of %q", words)
	}
}

func truth(at string, v any) (any, *protocol.Error) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	return nil, bad(at, "is true or false")
}

// whole is a whole number in a range.
func whole(least, most float64) shape {
	return func(at string, v any) (any, *protocol.Error) {
		n, ok := v.(float64)
		if !ok || n != math.Trunc(n) || n < least || n > most {
			return nil, bad(at, "is a whole number from %.0f to %.0f", least, most)
		}
		return n, nil
	}
}

func amount(most float64) shape {
	return func(at string, v any) (any, *protocol.Error) {
		n, ok := v.(float64)
		if !ok || n < 0 || n > most {
			return nil, bad(at, "is a number from 0 to %.0f", most)
		}
		return n, nil
	}
}

// moment is a time as RFC 3339 writes it, of a year that can be written in UTC too.
func moment(at string, v any) (any, *protocol.Error) {
	s, _ := v.(string)
	var t time.Time
	err := t.UnmarshalText([]byte(s))
	if year := t.UTC().Year(); err != nil || year < 1 || year > 9999 {
		return nil, bad(at, "is a time, as 2026-09-02T14:22:15Z")
	}
	return s, nil
}

// anything is the harness's own matter; the page shows it as it is. What is nested deeper than maxDepth could be read, but not written
// again within a row or an answer.
func anything(at string, v any) (any, *protocol.Error) {
	if deeper(v, maxDepth) {
		return nil, bad(at, "is nested more than %d deep", maxDepth)
	}
	return v, nil
}

// deeper says whether a value has more objects and lists within each other than most.
func deeper(v any, most int) bool {
	within := func(v any) bool { return deeper(v, most-1) }
	switch v := v.(type) {
	case []any:
		return most == 0 || slices.ContainsFunc(v, within)
	case map[string]any:
		return most == 0 || slices.ContainsFunc(slices.Collect(maps.Values(v)), within)
	}
	return false
}

// objects are the objects of a cleaned list.
func objects(v any) []map[string]any {
	entries, _ := v.([]any)
	out := make([]map[string]any, len(entries))
	for i, e := range entries {
		out[i], _ = e.(map[string]any)
	}
	return out
}

func find(v any, name, value string) map[string]any {
	for _, o := range objects(v) {
		if str(o, name) == value {
			return o
		}
	}
	return nil
}

func str(o map[string]any, name string) string {
	s, _ := o[name].(string)
	return s
}

func sub(o map[string]any, name string) map[string]any {
	s, _ := o[name].(map[string]any)
	return s
}

// has says whether a cleaned list has a value.
func has(v, want any) bool {
	entries, _ := v.([]any)
	return slices.Contains(entries, want)
}
