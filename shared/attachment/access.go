package attachment

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"time"

	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// URL is a fresh URL of a file for the caller, who is in a room it was posted in or uploaded it; not_found for anybody else.
func (s *Service) URL(ctx context.Context, by workspace.Caller, id string) (url string, until protocol.Time, err error) {
	u, ok, err := s.get(ctx, id)
	if err != nil {
		return "", until, err
	}
	if ok {
		ok, err = s.mayRead(ctx, by, u)
	}
	if err != nil {
		return "", until, err
	}
	if !ok {
		return "", until, noSuchFile()
	}
	links, err := s.Links(ctx, by.Credential)
	if err != nil {
		return "", until, err
	}
	url, until = links(id)
	return url, until, nil
}

// Content is a file as it is fetched.
type Content struct {
	File protocol.Attachment
	// Body is its bytes, unless Location is set: another URL, good for a moment, that has them.
	Body     []byte
	Location string
	// Disposition is what a Content-Disposition header says of it.
	Disposition string
}

// passedOn is from how many bytes on a file is fetched past us, where that can be: Lambda answers 6 MB at most, in base64.
const passedOn = 4 << 20

// passedFor is how long after it was asked for such a fetch may begin.
const passedFor = time.Minute

// Open is a file by its URL. Anything wrong with the URL, the credential it was made for or what that may read now is forbidden.
func (s *Service) Open(ctx context.Context, id, exp, tok, sig string) (Content, error) {
	if err := s.checkURL(ctx, id, exp, tok, sig); err != nil {
		return Content{}, err
	}
	by, stands, err := s.c.Credentials.Stands(ctx, tok)
	if err != nil {
		return Content{}, err
	}
	if !stands {
		return Content{}, badURL()
	}
	u, ok, err := s.get(ctx, id)
	if err != nil {
		return Content{}, err
	}
	if ok {
		ok, err = s.mayRead(ctx, by, u)
	}
	if err != nil {
		return Content{}, err
	}
	if !ok {
		return Content{}, badURL()
	}
	c := Content{File: u.File, Disposition: disposition(u.File)}
	if s.c.Direct != nil && u.File.ByteSize >= passedOn {
		c.Location, err = s.c.Direct.GetURL(ctx, u.Blob, u.File.MimeType, c.Disposition, passedFor)
		return c, err
	}
	c.Body, err = s.c.Blobs.Get(ctx, u.Blob, MaxBytes)
	if errors.Is(err, ErrNoBlob) { // taken away between the two
		return Content{}, badURL()
	}
	if err != nil {
		return Content{}, fmt.Errorf("read attachment %s: %w", id, err)
	}
	return c, nil
}

// mayRead says whether somebody may read a file now: who is in a room where a message holds it that was not deleted, who is shown the agent
// whose face it is, and its uploader as long as there is such a message anywhere, or never was one.
func (s *Service) mayRead(ctx context.Context, by workspace.Caller, u upload) (bool, error) {
	if u.Workspace != by.Workspace || u.Blob == "" {
		return false, nil
	}
	u, err := s.settled(ctx, u)
	if err != nil {
		return false, err
	}
	may := false
	err = s.c.Log.Read(ctx, u.Workspace, func(st *workspace.State) error {
		if st.Person(by.ID) == nil && st.Harness(by.ID) == nil {
			return nil
		}
		posts, standing := 0, 0
		if u.Face && isFace(st, by, u.File.AttachmentID) {
			posts, standing, may = 1, 1, true
		}
		for _, room := range st.Rooms { // also where it was not noted as yet
			may = may || room.HasVersion(u.File.Filename, u.File.AttachmentID) && st.InRoom(room, by.ID)
		}
		for _, p := range u.Posts {
			if p.Key != "" {
				continue
			}
			posts++
			if deleted(st, p) {
				continue
			}
			standing++
			may = may || st.InRoom(st.Rooms[p.Space], by.ID)
		}
		may = may || u.By == by.ID && (posts == 0 || standing > 0)
		return nil
	})
	return may, err
}

// isFace says whether a file is the face of an agent that somebody is shown: who shares a room with it, its harness, and people but guests.
func isFace(st *workspace.State, by workspace.Caller, id string) bool {
	p := st.Person(by.ID)
	for _, a := range st.Agents {
		if a.Face.AttachmentID == id && (p != nil && p.Role != protocol.Guest || a.HarnessID == by.ID || st.Shares(by.ID, a.ID)) {
			return true
		}
	}
	return false
}

// deleted says whether the message of a post was deleted, or its room was. Held words are in no room.
func deleted(st *workspace.State, p post) bool {
	room := st.Rooms[p.Space]
	if room == nil || room.Deleted {
		return p.Space != ""
	}
	mark, _ := room.Marks.Of(p.Seq)
	return mark.Deleted
}

// shown are the types that a browser may show in its window: they hold nothing that could run.
var shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"}

// disposition is a Content-Disposition for a file: shown or saved, and its name (RFC 6266) for those who know no UTF-8 and those who do.
func disposition(file protocol.Attachment) string {
	kind := "attachment"
	if slices.Contains(shown, file.MimeType) || strings.HasPrefix(file.MimeType, "audio/") || strings.HasPrefix(file.MimeType, "video/") {
		kind = "inline"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%;`, r) {
			return '_'
		}
		return r
	}, file.Filename)
	value := fmt.Sprintf(`%s; filename="%s"`, kind, plain)
	if plain != file.Filename {
		value += "; filename*=UTF-8''" + escaped(file.Filename)
	}
	return value
}

// escaped is text as RFC 8187 has it in a header's parameter.
func escaped(text string) string {
	const plain = "!#$&+-.^_`|~"
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// ContentType is a file's type as a header has it: text is in UTF-8 unless it says otherwise itself.
func ContentType(file protocol.Attachment) string {
	if file.MimeType == "text/plain" {
		return mime.FormatMediaType(file.MimeType, map[string]string{"charset": "utf-8"})
	}
	return file.MimeType
}
