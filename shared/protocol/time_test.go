package protocol

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// covers: ENV-5
func TestTime(t *testing.T) {
	for ms, want := range map[int]string{0: "15.000Z", 4: "15.004Z", 100: "15.100Z", 999: "15.999Z"} {
		in := time.Date(2026, 9, 2, 7, 22, 15, ms*1e6+123456, time.FixedZone("", -7*3600))
		got, err := json.Marshal(At(in))
		if want = `"2026-09-02T14:22:` + want + `"`; err != nil || string(got) != want {
			t.Errorf("%d ms: %s, %v; want %s", ms, got, err, want)
		}
		var back Time
		if err := json.Unmarshal(got, &back); err != nil || back != At(in) {
			t.Errorf("%s is read as %v, %v", got, back, err)
		}
	}
	for in, want := range map[string]string{
		`"2026-09-02T16:22:15.0049+02:00"`: "2026-09-02T14:22:15.004Z", `"2026-09-02T14:22:15Z"`: "2026-09-02T14:22:15.000Z", `null`: "0001-01-01T00:00:00.000Z",
	} {
		var back Time
		err := json.Unmarshal([]byte(in), &back)
		if got, _ := back.MarshalText(); err != nil || string(got) != want {
			t.Errorf("%s is read as %s, %v", in, got, err)
		}
	}
	for _, in := range []string{`""`, `"now"`, `5`, `{}`, `"2026-09-02"`, `"9999-12-31T23:59:59-01:00"`} {
		var back Time
		if err := json.Unmarshal([]byte(in), &back); err == nil {
			t.Errorf("%s is read as %v", in, back)
		}
	}
}
