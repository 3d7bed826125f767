package workspace

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// What is written in dollars is an amount of nano-dollars, half of one rounded up, and what is written of that is the same again.
// covers: SPEND-4
func TestNanos(t *testing.T) {
	for written, want := range map[string]Nanos{
		"0": 0, "-0": 0, "0.42": 420_000_000, "0.3": 300_000_000, "3": 3_000_000_000, "1e-9": 1, "4e-10": 0, "5e-10": 1, "0.0000000005": 1,
		"0.00000000049999": 0, "0.0000000015": 2, "0.1234567895": 123_456_790, "0.12345678949": 123_456_789, "1000000": 1e15,
		"999999.9999999995": 1e15, "1e-300": 0, "0.29999999999999998": 300_000_000,
	} {
		usd, err := strconv.ParseFloat(written, 64)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := NanosOf(usd)
		if !ok || got != want {
			t.Errorf("%s is %d, %v, want %d", written, got, ok, want)
		}
		if again, ok := NanosOf(got.Dollars()); !ok || again != got {
			t.Errorf("%d is written %v and read as %d", got, got.Dollars(), again)
		}
	}
	for _, usd := range []float64{-1, -1e-9, 1_000_000.000000001, 1e7, 1e300, math.Inf(1), math.Inf(-1), math.NaN()} {
		if got, ok := NanosOf(usd); ok {
			t.Errorf("%v is %d", usd, got)
		}
	}
	for range 10_000 {
		n := Nanos(rand.Int64N(MaxUSD*nanosPerUSD + 1))
		if back, ok := NanosOf(n.Dollars()); !ok || back != n {
			t.Fatalf("%d is written %v and read as %d, %v", n, n.Dollars(), back, ok)
		}
	}
}

// Words are to the cent, half up.
// covers: SPEND-6
func TestWordsOfAnAmount(t *testing.T) {
	for n, want := range map[Nanos]string{
		0: "$0.00", 420_000_000: "$0.42", 4_999_999: "$0.00", 5_000_000: "$0.01", 1_005_000_000: "$1.01", 1_004_999_999: "$1.00",
		2_995_000_000: "$3.00", 250_000_000: "$0.25", 1234_500_000_000: "$1234.50", math.MaxInt64: "$9223372036.85",
	} {
		if got := n.Words(); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

// A sum does not depend on the order of its parts, and it stops at the most there can be.
// covers: SPEND-4
func TestSums(t *testing.T) {
	for _, cost := range []float64{0.1, 0.3, 1e-9, 0.000333333, 999_999.999999999} {
		one, _ := NanosOf(cost)
		var sum Nanos
		for range 9000 {
			sum = sum.plus(one)
		}
		if sum != 9000*one {
			t.Errorf("9000 times %v is %d", cost, sum)
		}
	}
	if got := Nanos(math.MaxInt64 - 1).plus(5); got != math.MaxInt64 {
		t.Errorf("past the most is %d", got)
	}
}

// A threshold is reached on the nano-dollar, and once.
// covers: CEIL-2
func TestPassed(t *testing.T) {
	const limit = 3 * nanosPerUSD
	for _, c := range []struct {
		before, after, limit Nanos
		want                 int
	}{
		{0, 2_399_999_999, limit, 0}, {0, 2_400_000_000, limit, 80}, {2_399_999_999, 2_400_000_000, limit, 80}, {2_400_000_000, 2_999_999_999, limit, 0},
		{2_999_999_999, limit, limit, 100}, {0, limit, limit, 100}, {2_500_000_000, 9 * limit, limit, 100}, {limit, 2 * limit, limit, 0}, {limit, limit, limit, 0},
		{0, 0, 0, 0}, {0, 1, 0, 100}, {1, 2, 0, 0}, // a limit of nothing
		{0, 7, 9, 0}, {0, 8, 9, 80}, {8, 9, 9, 100}, // 80 hundredths of 9 are 7.2
		{math.MaxInt64 - 1, math.MaxInt64, MaxUSD * nanosPerUSD, 0},
	} {
		if got := passed(c.before, c.after, c.limit); got != c.want {
			t.Errorf("from %d to %d of %d: %d, want %d", c.before, c.after, c.limit, got, c.want)
		}
	}
}

// Tokens are priced by the million, each report rounded half up to a nano-dollar.
// covers: SPEND-10
func TestPrices(t *testing.T) {
	p := Prices{
		"m": {Input: 3 * nanosPerUSD, Output: 15 * nanosPerUSD}, "cheap": {Input: 500_000}, "free": {},
		"dear": {Input: MaxUSD * nanosPerUSD, Output: MaxUSD * nanosPerUSD},
	}
	for _, c := range []struct {
		model   string
		in, out *int64
		want    Nanos
		priced  bool
	}{
		{"m", ptr[int64](1000), ptr[int64](100), 4_500_000, true}, {"m", ptr[int64](1), nil, 3000, true}, {"m", nil, ptr[int64](1), 15_000, true},
		{"m", nil, nil, 0, false}, {"M", ptr[int64](1), nil, 0, false}, {"", ptr[int64](1), nil, 0, false}, {"m", ptr[int64](0), ptr[int64](0), 0, true},
		{"cheap", ptr[int64](1), nil, 1, true}, {"cheap", ptr[int64](3), nil, 2, true}, // half a nano-dollar goes up, and 1.5 goes to 2
		{"free", ptr[int64](maxTokens), nil, 0, true},
		{"dear", ptr[int64](1_000_000), nil, MaxUSD * nanosPerUSD, true}, {"dear", ptr[int64](1_000_001), nil, 0, false}, {"dear", ptr[int64](maxTokens), ptr[int64](maxTokens), 0, false},
	} {
		if got, ok := p.of(c.model, c.in, c.out); got != c.want || ok != c.priced {
			t.Errorf("%+v is %d, %v", c, got, ok)
		}
	}
}
