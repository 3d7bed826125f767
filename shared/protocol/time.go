package protocol

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Time is a moment by Chips' clock, written in UTC with milliseconds: 2026-09-02T14:22:15.004Z.
type Time struct{ time.Time }

// timeLayout is how a Time is written.
const timeLayout = "2006-01-02T15:04:05.000Z"

// At is t cut to the millisecond that is written.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// AppendText writes the time as the wire has it. It is written by hand, as a context has hundreds.
func (t Time) AppendText(b []byte) ([]byte, error) {
	u := t.UTC()
	year, month, day := u.Date()
	if year < 0 || year > 9999 {
		return u.AppendFormat(b, timeLayout), nil
	}
	hour, minute, second := u.Clock()
	b = append(digits(b, year, 4), '-')
	b = append(digits(b, int(month), 2), '-')
	b = append(digits(b, day, 2), 'T')
	b = append(digits(b, hour, 2), ':')
	b = append(digits(b, minute, 2), ':')
	b = append(digits(b, second, 2), '.')
	return append(digits(b, u.Nanosecond()/1e6, 3), 'Z'), nil
}

// digits writes a number with zeros before it, n digits in all.
func digits(b []byte, v, n int) []byte {
	b = append(b, "0000"[:n]...)
	for i := len(b) - 1; v > 0; i-- {
		b[i] = byte('0' + v%10)
		v /= 10
	}
	return b
}

// MarshalText writes the time as the wire has it.
func (t Time) MarshalText() ([]byte, error) { return t.AppendText(nil) }

// UnmarshalText reads any RFC 3339 time.
func (t *Time) UnmarshalText(b []byte) error {
	var p time.Time
	if err := p.UnmarshalText(b); err != nil {
		return err
	}
	if y := p.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("year %d cannot be written", y)
	}
	*t = At(p)
	return nil
}

// MarshalJSONTo writes the time as the wire has it. Without it JSON would be written by time.Time's own method, which leaves out zeros.
func (t Time) MarshalJSONTo(enc *jsontext.Encoder) error {
	b, _ := t.AppendText(append(enc.AvailableBuffer(), '"'))
	return enc.WriteValue(append(b, '"'))
}

// UnmarshalJSONFrom reads any RFC 3339 time; null is the zero time.
func (t *Time) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch raw.Kind() {
	case 'n':
		*t = Time{}
		return nil
	case '"':
		return t.UnmarshalText(raw[1 : len(raw)-1])
	}
	return fmt.Errorf("a time is text as 2026-09-02T14:22:15.004Z")
}
