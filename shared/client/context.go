package client

import (
	"fmt"
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// RenderContext writes a message's context as text to put ahead of the message's own words, below the room's note: what was said, a line
// each as `Name: words`, and the room's files after it. Words of several lines go on indented, so that they are nobody else's. What
// there is nothing of is left out, down to "".
func RenderContext(c *protocol.Context) string {
	if c == nil {
		return ""
	}
	var b strings.Builder
	if len(c.Lines) > 0 {
		b.WriteString("Said in this space since you last spoke:\n")
		if c.Truncated {
			b.WriteString("(Older lines were left out.)\n")
		}
		for _, l := range c.Lines {
			b.WriteString(indented(lineText(l)) + "\n")
		}
	}
	if len(c.Files) > 0 {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("Files in this space:\n")
		for _, f := range c.Files {
			fmt.Fprintf(&b, "%s, v%d, by %s (%s, %d bytes)", f.Name, f.Version, f.By.Name, f.MimeType, f.ByteSize)
			if f.URL != "" {
				b.WriteString(": " + f.URL)
			}
			b.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lineText is a line as one would read it out.
func lineText(l protocol.Line) string {
	switch l.Kind {
	case protocol.LineSaid:
		return said(l)
	case protocol.LineJoined:
		return nameOf(l.Who) + " joined" + by(", added by ", l) + "."
	case protocol.LineLeft:
		return nameOf(l.Who) + " left" + by(", taken out by ", l) + "."
	case protocol.LineRenamed:
		if l.Who != nil {
			return l.Previous + " is now " + l.Name + "."
		}
		return fmt.Sprintf("The space is now called “%s”, before that “%s”.", l.Title, l.Previous)
	case protocol.LineArchived, protocol.LineUnarchived:
		return nameOf(l.By) + " " + l.Kind + " the space."
	}
	return l.Kind // of a later server
}

// said is `Name: words`, with what came beside the words behind them.
func said(l protocol.Line) string {
	var words []string
	if l.Text != nil && *l.Text != "" {
		words = append(words, *l.Text)
	}
	if l.Transcript != "" {
		words = append(words, "(voice note) "+l.Transcript)
	}
	if len(l.Files) > 0 {
		words = append(words, "(files: "+strings.Join(l.Files, ", ")+")")
	}
	if l.Held {
		words = append(words, "(held: nobody was handed this)")
	}
	return nameOf(l.From) + ": " + strings.Join(words, " ")
}

func by(words string, l protocol.Line) string {
	if l.By == nil {
		return ""
	}
	return words + l.By.Name
}

func nameOf(p *protocol.Participant) string {
	if p == nil || p.Name == "" {
		return "Somebody"
	}
	return p.Name
}

func indented(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\n  ")
}
