package delivery

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// BenchmarkRender is one message.new with as much context as there may be, from state and lines to its bytes: in a room of 30 members
// and 20 files, a tenth of its lines edited. The most of it is to take half a millisecond.
func BenchmarkRender(b *testing.B) {
	w := &talk{world: newWorld()}
	for i := range 25 {
		who := id("usr", 100+i)
		w.world.put("", person(arjun), &protocol.PersonAdded{PersonID: who, Name: fmt.Sprint("Member ", i), Role: protocol.Member})
		w.world.put(roomR, person(arjun), &protocol.MemberAdded{ParticipantID: who, By: arjun})
	}
	for i := range 201 {
		post := &protocol.MessagePost{Text: strings.Repeat("said ", 20), AddressedTo: []string{}}
		if i%10 == 0 {
			post.Attachments = []protocol.Attachment{{
				AttachmentID: id("att", i), Filename: fmt.Sprintf("file %d.html", i), MimeType: "text/html", ByteSize: 4812, SHA256: strings.Repeat("9f", 32),
			}}
		}
		e := w.put(roomR, person(arjun), post)
		if i%10 == 5 {
			w.put(roomR, person(arjun), &protocol.MessageEdited{MessageID: protocol.MessageID(e.ID), Text: strings.Repeat("read ", 20)})
		}
	}
	e := w.put(roomR, person(arjun), &protocol.MessagePost{Text: "and?", AddressedTo: []string{s1}})
	if n := len(w.s.Rooms[roomR].Members); n != 30 {
		b.Fatalf("%d members", n)
	}
	for name, r := range map[string]Recipient{"40 lines": everybody[4].r, "200 lines": budget(200, 32000), "no lines": budget(0, 0)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := r.At(w.s)
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
