package delivery

import (
	"slices"
	"strings"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// maxContextFiles is how many of a room's files are handed over with a turn: the newest.
const maxContextFiles = 20

// FileOf is the current version of a room's file, in the view of the recipient (At the head), without a URL.
func FileOf(s *workspace.State, r Recipient, name string, v workspace.Version) protocol.File {
	view := newLineView(s, r)
	return view.file(name, v)
}

func (v *lineView) file(name string, of workspace.Version) protocol.File {
	return protocol.File{
		Name: name, Version: of.Number, AttachmentID: of.AttachmentID, SHA256: of.SHA256, ByteSize: of.ByteSize, MimeType: of.MimeType,
		By: *v.participant(of.By), At: of.At,
	}
}

// contextFiles are the newest of a room's files as they stand just after the event, as many as fit in bytes of JSON; and how many
// bytes they are.
func contextFiles(s *workspace.State, room *workspace.Room, r Recipient, bytes int) (files []protocol.File, size int) {
	if len(room.Files) == 0 {
		return nil, 0
	}
	v := newLineView(s, r)
	for _, f := range room.NewestFiles(maxContextFiles) {
		file := v.file(f.Name, f.Version)
		n := fileFixed + textBytes(file.Name) + textBytes(file.By.Name)
		if size+n > bytes {
			break
		}
		files, size = append(files, file), size+n
	}
	return files, size
}

// posted is what a line of words says of the files that came with them: their names, and what was said in voice notes.
func posted(l *protocol.Line, attachments []protocol.Attachment) {
	var heard []string
	for _, a := range attachments {
		l.Files = append(l.Files, a.Filename)
		if a.Transcript != "" {
			heard = append(heard, a.Transcript)
		}
	}
	l.Transcript = strings.Join(heard, "\n")
}

// HasFiles says whether Finish makes URLs for an event.
func HasFiles(e protocol.Event) bool {
	files := func(c *protocol.Context) bool { return c != nil && len(c.Files) > 0 }
	switch d := e.Data.(type) {
	case *protocol.MessageNew:
		return len(d.Attachments) > 0 || files(d.Context)
	case *protocol.MessageOverheard:
		return len(d.Attachments) > 0
	case *protocol.AgentAttached:
		return files(d.CatchUp)
	}
	return false
}

// Links makes the URL of an attachment for whom a delivery is handed to, and says until when it is good.
type Links func(attachmentID string) (url string, until protocol.Time)

// attachments are a message's with their URLs.
func (l Links) attachments(list []protocol.Attachment) []protocol.Attachment {
	if l == nil || len(list) == 0 {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		url, until := l(list[i].AttachmentID)
		list[i].URL, list[i].URLExpiresAt = url, &until
	}
	return list
}

// context is a context whose files have their URLs.
func (l Links) context(c *protocol.Context) *protocol.Context {
	if c == nil || l == nil || len(c.Files) == 0 {
		return c
	}
	signed := *c
	signed.Files = slices.Clone(c.Files)
	for i := range signed.Files {
		url, until := l(signed.Files[i].AttachmentID)
		signed.Files[i].URL, signed.Files[i].URLExpiresAt = url, &until
	}
	return &signed
}
