package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unit is what a row's values are in.
type unit string

const (
	millis unit = "ms"
	micros unit = "us"
	rate   unit = "/s"
	mega   unit = "MB"
	kilo   unit = "KB"
	count  unit = ""
	times  unit = "x"
)

// row is one measurement: a value a repetition.
type row struct {
	what   string
	unit   unit
	values []float64
	// goal is what the median should be at most, or at least where atLeast is set; 0 is none.
	goal    float64
	atLeast bool
	// beside is what it is compared with that was measured in the same run.
	beside string
}

func (r row) median() float64 { return median(r.values) }

// against adds a comparison: how many times another value of the same run the median is.
func (r row) against(name string, other float64) row {
	if other > 0 && !math.IsNaN(other) {
		r.beside = strings.TrimPrefix(r.beside+fmt.Sprintf("; %s x %s", ratio(r.median()/other), name), "; ")
	}
	return r
}

func (r row) cells() []string {
	goal, of := "", ""
	if r.goal > 0 {
		sign, met := "<= ", r.median() <= r.goal
		if r.atLeast {
			sign, met = ">= ", r.median() >= r.goal
		}
		goal, of = sign+r.unit.format(r.goal), ratio(r.median()/r.goal)
		if met {
			of += " ok"
		} else {
			of += " MISSED"
		}
	}
	spread := ""
	if n := len(r.values); n > 1 {
		spread = fmt.Sprintf("%s to %s (%d)", r.unit.number(slices.Min(r.values)), r.unit.number(slices.Max(r.values)), n)
	}
	return []string{r.what, r.unit.format(r.median()), spread, goal, of, r.beside}
}

// format writes a value with its unit.
func (u unit) format(v float64) string {
	switch u {
	case rate, times, count:
		return u.number(v) + string(u)
	}
	return u.number(v) + " " + string(u)
}

// number writes a value with as many digits as mean something.
func (u unit) number(v float64) string {
	switch {
	case u == rate:
		return thousands(int64(math.Round(v)))
	case u == count && v == math.Trunc(v):
		return thousands(int64(v))
	case u == mega && v >= 10, u == micros:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func ratio(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// thousands writes a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

var heads = []string{"measured", "median", "spread (repetitions)", "goal", "x goal", "beside it, in this run"}

// printTable writes a title, what it was measured on, and rows in columns.
func printTable(w io.Writer, title, on string, head []string, lines [][]string) {
	width := make([]int, len(head))
	for _, cells := range append([][]string{head}, lines...) {
		for i, c := range cells {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	fmt.Fprintf(w, "\n## %s\n%s\n\n", title, on)
	write := func(cells []string) {
		var b strings.Builder
		for i, c := range cells {
			b.WriteString(c)
			b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(c)+2))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	write(head)
	for _, cells := range lines {
		write(cells)
	}
}

// print writes rows as a table.
func (b *bench) print(title, on string, rows ...row) {
	lines := make([][]string, len(rows))
	for i, r := range rows {
		lines[i] = r.cells()
	}
	printTable(b.out, title, on, heads, lines)
}
