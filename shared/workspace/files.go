package workspace

import (
	"cmp"
	"slices"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// How much a room remembers of its files: so many names, the oldest of which are forgotten whole; of each name the newest versions as they
// are, and below those where in the log they are.
const (
	MaxRoomFiles  = 1000
	keptVersions  = 3
	olderVersions = 200
)

// File is what a room remembers of a name: the files of one name are its versions.
type File struct {
	// Last is the number of the newest version there ever was. Versions keep their numbers when one of them is deleted.
	Last int `json:"last"`
	// Versions are the newest that stand, the current one last; Older is where those before them are, rising.
	Versions []Version      `json:"versions"`
	Older    []OlderVersion `json:"older,omitzero"`
}

// OlderVersion is a version by its number and the seq of its post.
type OlderVersion struct {
	Number int   `json:"n"`
	Seq    int64 `json:"s"`
}

// Version is one version of a file.
type Version struct {
	Number       int    `json:"n"`
	AttachmentID string `json:"id"`
	SHA256       string `json:"sha256"`
	ByteSize     int64  `json:"size"`
	MimeType     string `json:"mime"`
	Width        int    `json:"width,omitzero"`
	Height       int    `json:"height,omitzero"`
	DurationMS   int64  `json:"duration_ms,omitzero"`
	Replaces     string `json:"replaces,omitzero"`
	// By is who posted it, Seq its post's and MessageID the post's id.
	By        string        `json:"by"`
	At        protocol.Time `json:"at"`
	Seq       int64         `json:"seq"`
	MessageID string        `json:"message_id"`
}

// VersionOf is the version that a file of a post is.
func VersionOf(number int, e protocol.Event, file protocol.Attachment) Version {
	return Version{
		Number: number, AttachmentID: file.AttachmentID, SHA256: file.SHA256, ByteSize: file.ByteSize, MimeType: file.MimeType, Width: file.Width,
		Height: file.Height, DurationMS: file.DurationMS, Replaces: file.Replaces, By: e.Actor.ID, At: e.TS, Seq: e.Seq, MessageID: protocol.MessageID(e.ID),
	}
}

// Current is the newest version that stands.
func (f *File) Current() Version { return f.Versions[len(f.Versions)-1] }

// Upload is what is known of a stored file that a draft names.
type Upload struct {
	// File is the file as it was stored, its id the upload's.
	File protocol.Attachment
	// By is the usr_ or hrn_ id of who uploaded it.
	By string
	// Rooms are the rooms it has been posted in.
	Rooms []string
	// Spent says that it was posted as often as one upload may be.
	Spent bool
}

// UploadsOf are the upload ids that a draft names and whose facts the decision reads: those it posts, and those it says they replace.
// Who runs the command puts them in Command.Uploads.
func UploadsOf(draft protocol.Event) (posted, replaced []string) {
	var post *protocol.MessagePost
	switch data := draft.Data.(type) {
	case *protocol.MessagePost:
		post = data
	case *protocol.RunSteer:
		post = protocol.Said(data)
	case *protocol.SpaceOpened:
		if data.Brief == nil {
			return nil, nil
		}
		post = &protocol.MessagePost{UploadIDs: data.Brief.UploadIDs}
	case *AgentDraft:
		if data.Face.AttachmentID == "" {
			return nil, nil
		}
		return []string{data.Face.AttachmentID}, nil
	}
	if post == nil || len(post.UploadIDs) > MaxFiles {
		return nil, nil
	}
	for _, id := range post.UploadIDs {
		if slices.Contains(posted, id) {
			continue
		}
		posted = append(posted, id)
		if of := post.Replaces[id]; of != "" && !slices.Contains(replaced, of) {
			replaced = append(replaced, of)
		}
	}
	return posted, replaced
}

// FilesOf are the files that an event holds, of words that were said or are held.
func FilesOf(e protocol.Event) []protocol.Attachment {
	if held, ok := e.Data.(*protocol.MessageHeld); ok {
		return held.Attachments
	}
	if said := protocol.Said(e.Data); said != nil {
		return said.Attachments
	}
	return nil
}

// HasVersion says whether an upload is one of the versions of a file that the room knows whole.
func (r *Room) HasVersion(name, attachment string) bool {
	f := r.Files[name]
	return f != nil && slices.ContainsFunc(f.Versions, func(v Version) bool { return v.AttachmentID == attachment })
}

// attach fills in the files of a post from what was stored, and what each replaces; it is refused whole where a newer version of one was
// posted than the one it says it was made from.
func (d *deciding) attach(room *Room, draft, post *protocol.MessagePost) *protocol.Error {
	for _, id := range draft.UploadIDs {
		up, ok := d.c.Uploads[id]
		switch {
		case !ok || up.By != d.c.By.ID:
			return d.bad("upload_ids names no upload of yours: %.40s", id)
		case up.Spent:
			return d.bad("upload_ids names an upload that was posted too often: upload %.40s again", id)
		case slices.ContainsFunc(post.Attachments, func(a protocol.Attachment) bool { return a.Filename == up.File.Filename }):
			return d.bad("upload_ids names two files called %q: a post holds one of a name", up.File.Filename)
		}
		file := up.File
		file.Replaces = ""
		if of := draft.Replaces[id]; of != "" {
			if err := d.replace(room, &file, of); err != nil {
				return err
			}
		}
		post.Attachments = append(post.Attachments, file)
	}
	return nil
}

// replace checks and notes what a file was made from. What is another file's or another room's is left out.
func (d *deciding) replace(room *Room, file *protocol.Attachment, of string) *protocol.Error {
	from, ok := d.c.Uploads[of]
	if !ok || from.File.Filename != file.Filename || !slices.Contains(from.Rooms, room.ID) {
		return nil
	}
	file.Replaces = of
	f := room.Files[file.Filename]
	if f == nil {
		return nil
	}
	now := f.Current()
	if now.AttachmentID == of || now.SHA256 == from.File.SHA256 || now.SHA256 == file.SHA256 {
		return nil
	}
	by := d.s.participant(now.By)
	err := protocol.Refuse(protocol.StaleFile, "%s is now v%d, by %s. Fetch it and redo.", file.Filename, now.Number, by.Name)
	err.File = &protocol.FileVersion{Name: file.Filename, Version: now.Number, AttachmentID: now.AttachmentID, By: by}
	return err
}

// participant is somebody by id, with the name they have now.
func (s *State) participant(id string) protocol.Participant {
	kinds := map[string]protocol.ActorKind{
		protocol.PrefixPerson: protocol.KindPerson, protocol.PrefixHarness: protocol.KindHarness, protocol.PrefixAgent: protocol.KindAgent,
	}
	return protocol.Participant{ID: id, Kind: cmp.Or(kinds[protocol.PrefixOf(id)], protocol.KindSystem), Name: s.NameOf(id)}
}

// evolveFiles makes the files of a post versions of the room's. The same bytes again are no new version.
func (r *Room) evolveFiles(e protocol.Event, attachments []protocol.Attachment) {
	for _, a := range attachments {
		f := r.Files[a.Filename]
		if f != nil && f.Current().SHA256 == a.SHA256 {
			continue
		}
		if f == nil {
			f = &File{Last: r.Forgotten[a.Filename]}
			delete(r.Forgotten, a.Filename)
			if r.Files == nil {
				r.Files = map[string]*File{}
			}
			r.Files[a.Filename] = f
		}
		f.Last++
		f.Versions = append(f.Versions, VersionOf(f.Last, e, a))
		if len(f.Versions) > keptVersions {
			f.Older = append(f.Older, OlderVersion{f.Versions[0].Number, f.Versions[0].Seq})
			f.Versions = slices.Delete(f.Versions, 0, 1)
		}
		if n := len(f.Older) - olderVersions; n > 0 {
			f.Older = slices.Delete(f.Older, 0, n)
		}
	}
	for len(r.Files) > MaxRoomFiles {
		files := r.NewestFiles(len(r.Files))
		r.forgetFile(files[len(files)-1].Name)
	}
}

// forgetFile forgets a name, but for the number of its newest version: versions keep their numbers, also where none is known.
func (r *Room) forgetFile(name string) {
	last := r.Files[name].Last
	delete(r.Files, name)
	if r.Forgotten == nil {
		r.Forgotten = map[string]int{}
	}
	if len(r.Forgotten) < MaxRoomFiles {
		r.Forgotten[name] = last
	}
}

// evolveFilesGone takes the files of a deleted message out of the room's versions.
func (r *Room) evolveFilesGone(messageID string) {
	seq, _ := protocol.SeqOf(messageID)
	for name, f := range r.Files {
		f.Versions = slices.DeleteFunc(f.Versions, func(v Version) bool { return v.Seq == seq })
		f.Older = slices.DeleteFunc(f.Older, func(v OlderVersion) bool { return v.Seq == seq })
		if len(f.Versions) == 0 {
			r.forgetFile(name)
		}
	}
}

// NamedVersion is the current version of a file by name.
type NamedVersion struct {
	Name string
	Version
}

// NewestFiles are the current versions of the room's newest n files: the newest post first, and within one post by name.
func (r *Room) NewestFiles(n int) []NamedVersion {
	n = min(n, len(r.Files))
	files := make([]NamedVersion, 0, n+1)
	order := func(a, b NamedVersion) int { return cmp.Or(cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.Name, b.Name)) }
	for name, f := range r.Files {
		one := NamedVersion{name, f.Current()}
		if at, _ := slices.BinarySearchFunc(files, one, order); at < n {
			files = slices.Insert(files, at, one)
			files = files[:min(n, len(files))]
		}
	}
	return files
}
