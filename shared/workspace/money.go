package workspace

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Nanos is an amount of money in billionths of a dollar. What is counted and compared is Nanos; a float64 of dollars is only how an amount
// is written in JSON.
type Nanos int64

// MaxUSD is the most that a cost, a ceiling or a limit may be, in dollars (contract U-145).
const MaxUSD = 1_000_000

const nanosPerUSD = 1_000_000_000

// NanosOf is an amount of dollars as it was written, rounded half up to a whole one; false for what is no amount from 0 to MaxUSD. The
// decimal form is rounded, so what a sender wrote as half of one goes up although no float64 is just that.
func NanosOf(usd float64) (Nanos, bool) {
	if math.IsNaN(usd) || math.IsInf(usd, 0) {
		return 0, false
	}
	whole, part, _ := strings.Cut(strconv.FormatFloat(usd, 'f', -1, 64), ".")
	if strings.HasPrefix(whole, "-") && strings.Trim(whole+part, "-0") != "" || len(whole) > len("1000000") {
		return 0, false
	}
	part += "0000000000" // ten places at least
	n, err := strconv.ParseInt(strings.TrimPrefix(whole, "-")+part[:9], 10, 64)
	if err != nil {
		return 0, false
	}
	if part[9] >= '5' {
		n++
	}
	return Nanos(n), n <= MaxUSD*nanosPerUSD
}

// Dollars is the amount as it is written in JSON: the float64 next to it.
func (n Nanos) Dollars() float64 {
	usd, _ := strconv.ParseFloat(fmt.Sprintf("%d.%09d", n/nanosPerUSD, n%nanosPerUSD), 64)
	return usd
}

// Words are the amount in dollars to the cent, rounded half up, as $0.42.
func (n Nanos) Words() string {
	cents := n / (nanosPerUSD / 100)
	if n%(nanosPerUSD/100) >= nanosPerUSD/200 {
		cents++
	}
	return fmt.Sprintf("$%d.%02d", cents/100, cents%100)
}

// plus is a sum, which stops at the most that there can be.
func (n Nanos) plus(more Nanos) Nanos {
	if n > math.MaxInt64-more {
		return math.MaxInt64
	}
	return n + more
}

// reached says whether so many hundredths of a limit are spent. Nothing spent reaches nothing, not even a limit of 0.
func (n Nanos) reached(limit Nanos, percent int64) bool {
	return n > 0 && int64(n) >= (int64(limit)*percent+99)/100
}

// Price is what a model costs: dollars for a million tokens of each kind.
type Price struct{ Input, Output Nanos }

// Prices are what models cost, by the name that usage reports give them.
type Prices map[string]Price

// of is what a report's tokens cost, rounded half up; false where the model has no price, no tokens are given or it is over MaxUSD.
func (p Prices) of(model string, input, output *int64) (Nanos, bool) {
	price, ok := p[model]
	if !ok || input == nil && output == nil {
		return 0, false
	}
	const million = 1_000_000
	sum := big.NewInt(million / 2)
	for _, part := range []struct {
		tokens *int64
		price  Nanos
	}{{input, price.Input}, {output, price.Output}} {
		if part.tokens != nil {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(*part.tokens), big.NewInt(int64(part.price))))
		}
	}
	sum.Quo(sum, big.NewInt(million))
	if !sum.IsInt64() || sum.Int64() > MaxUSD*nanosPerUSD {
		return 0, false
	}
	return Nanos(sum.Int64()), true
}
