package delivery

import (
	"strings"
	"testing"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// BenchmarkRender is one message.new with as much context as there may be, from state and lines to its bytes.
func BenchmarkRender(b *testing.B) {
	w := &talk{world: newWorld()}
	for range 201 {
		w.say(person(arjun), strings.Repeat("said ", 20))
	}
	for name, r := range map[string]Recipient{"40 lines": everybody[4].r, "200 lines": budget(200, 32000), "no lines": budget(0, 0)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := r.At(w.s)
			e := w.event(roomR, person(arjun), &protocol.MessagePost{Text: "and?", AddressedTo: []string{s1}})
			w.s.Rooms[roomR].LastLine = w.log[200].Seq
			want, _ := Wants(w.s, e, r)
			lines := w.lines(want)
			var buf []byte
			for b.Loop() {
				var err error
				if buf, err = Render(w.s, e, r, lines).Append(buf[:0]); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}
