package delivery

import "github.com/chipschat/chips-aws/shared/protocol"

// deliveryBytes is how large a delivery with context may grow, below a message's 128 KB; the oldest lines are left out for it, the
// message itself never is cut (contract U-123).
const deliveryBytes = 120 << 10

// What ids and names of fields take at most.
const (
	idBytes       = 34
	lineFixed     = 360
	memberFixed   = 170
	fileFixed     = 800
	envelopeFixed = 3000
)

// lineBytes is how many bytes a line is as JSON, at most and nearly.
func lineBytes(l protocol.Line) int {
	n := lineFixed + idBytes*len(l.AddressedTo) + textBytes(l.Name) + textBytes(l.Title) + textBytes(l.Previous)
	if l.Text != nil {
		n += textBytes(*l.Text)
	}
	n += textBytes(l.Transcript)
	for _, name := range l.Files {
		n += textBytes(name) + len(`"",`)
	}
	for _, p := range []*protocol.Participant{l.From, l.Who, l.By} {
		if p != nil {
			n += textBytes(p.Name)
		}
	}
	return n
}

// postBytes is how many bytes a delivery of a post is as JSON without its context, at most and nearly.
func postBytes(d *protocol.MessagePost) int {
	n := envelopeFixed + textBytes(d.Text) + 2*idBytes*len(d.AddressedTo)
	for _, a := range d.Attachments {
		n += fileFixed + textBytes(a.Filename) + textBytes(a.Transcript)
	}
	return n
}

// textBytes is how many bytes a text is within the quotes of JSON.
func textBytes(text string) int {
	n := len(text)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
			n++
		case c < ' ':
			n += len(`\u0000`) - 1
		}
	}
	return n
}
