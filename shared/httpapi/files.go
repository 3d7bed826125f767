package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/chipschat/chips-aws/shared/attachment"
	"github.com/chipschat/chips-aws/shared/delivery"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/workspace"
)

// upload takes a file as the body (with ?filename=), or announces one that is to be put to a URL.
func (a *api) upload(c *call) (any, error) {
	q, err := readQuery(c)
	if err != nil {
		return nil, err
	}
	if err := a.see(c, func(*workspace.State) error { return nil }); err != nil {
		return nil, err
	}
	if name, whole := q["filename"]; whole {
		file, err := a.Files.Upload(c.ctx, c.caller, name, c.body)
		return &file, err
	}
	if len(c.body) > maxBody {
		return nil, protocol.Refuse(protocol.TooLarge, "the body has more than %d bytes; a file itself goes with ?filename=", maxBody)
	}
	in, err := read[struct {
		Filename *string `json:"filename"`
		ByteSize *int64  `json:"byte_size"`
	}](c)
	switch {
	case err != nil:
		return nil, err
	case in.Filename == nil:
		return nil, missing("filename")
	case in.ByteSize == nil:
		return nil, missing("byte_size")
	}
	started, err := a.Files.Begin(c.ctx, c.caller, *in.Filename, *in.ByteSize)
	return &started, err
}

// receiveUpload takes the bytes that are put to a URL of ours.
func (a *api) receiveUpload(c *call) (any, error) {
	q, err := readQuery(c)
	if err != nil {
		return nil, err
	}
	return nothing{}, a.Files.Receive(c.ctx, c.params[protocol.PrefixAttachment], q["exp"], q["sig"], c.body)
}

// finishUpload says that the bytes were put.
func (a *api) finishUpload(c *call) (any, error) {
	file, err := a.Files.Done(c.ctx, c.caller, c.params[protocol.PrefixAttachment])
	return &file, err
}

// attachmentURL answers a fresh URL of a file.
func (a *api) attachmentURL(c *call) (any, error) {
	url, until, err := a.Files.URL(c.ctx, c.caller, c.params[protocol.PrefixAttachment])
	return struct {
		URL          string        `json:"url"`
		URLExpiresAt protocol.Time `json:"url_expires_at"`
	}{url, until}, err
}

// fetchAttachment answers a file's bytes to whoever has a URL that is good.
func (a *api) fetchAttachment(c *call) (any, error) {
	q, err := readQuery(c)
	if err != nil {
		return nil, err
	}
	content, err := a.Files.Open(c.ctx, c.params[protocol.PrefixAttachment], q["exp"], q["tok"], q["sig"])
	return served{content}, err
}

// served is an answer that is a file.
type served struct{ attachment.Content }

// write writes the file, or the part of it that is asked for, and answers the status; where there is no such part nothing is written but
// how long the file is. Whatever it holds, it does not run in the origin of Chips: its type is not guessed at, what is not known to be
// harmless is saved and not shown, and what is shown is in a sandbox.
func (s served) write(w http.ResponseWriter, r *http.Request) (int, *protocol.Error) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src 'self'")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // apps of other origins show it
	h.Set("Referrer-Policy", "no-referrer")               // the URL is a secret
	head := r.Method == http.MethodHead
	switch {
	case s.Location != "" && head: // what is signed is a GET
		s.describe(h)
		h.Set("Content-Length", strconv.FormatInt(s.File.ByteSize, 10))
		w.WriteHeader(http.StatusOK)
		return http.StatusOK, nil
	case s.Location != "":
		h.Set("Cache-Control", "no-store")
		h.Set("Location", s.Location)
		w.WriteHeader(http.StatusFound)
		return http.StatusFound, nil
	}
	whole := r.Clone(r.Context())
	whole.Header.Del("Range")
	if head { // only a GET has ranges
		r = whole
	}
	status := s.part(w, r)
	if status == http.StatusRequestedRangeNotSatisfiable && h.Get("Content-Range") == "" { // it is no range, and says nothing
		status = s.part(w, whole)
	}
	if status == http.StatusRequestedRangeNotSatisfiable {
		h.Del("Content-Disposition")
		return 0, protocol.Refuse(protocol.RangeNotSatisfiable, "Range asks for nothing of the file, which has %d bytes", s.File.ByteSize)
	}
	return status, nil
}

// describe sets the headers that say what the file is.
func (s served) describe(h http.Header) {
	h.Set("Cache-Control", "private, max-age=60") // access ends; not for long does a copy go on
	h.Set("Content-Type", attachment.ContentType(s.File))
	h.Set("Content-Disposition", s.Disposition)
	h.Set("ETag", strconv.Quote(s.File.SHA256))
}

// part writes the part of the file that is asked for and answers the status. 416 is answered and not written.
func (s served) part(w http.ResponseWriter, r *http.Request) int {
	s.describe(w.Header())
	answer := &partOf{ResponseWriter: w, status: http.StatusOK}
	http.ServeContent(answer, r, "", time.Time{}, bytes.NewReader(s.Body))
	return answer.status
}

// partOf remembers the status that was written, and keeps back a 416 with its words.
type partOf struct {
	http.ResponseWriter
	status int
}

// WriteHeader writes the status.
func (w *partOf) WriteHeader(status int) {
	w.status = status
	if status != http.StatusRequestedRangeNotSatisfiable {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write writes what is no 416's.
func (w *partOf) Write(p []byte) (int, error) {
	if w.status == http.StatusRequestedRangeNotSatisfiable {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// listed is a version of a room's file as it is listed: with the message that posted it, what that said it was made from, and what an
// image or a video measures.
type listed struct {
	protocol.File
	MessageID  string `json:"message_id"`
	Replaces   string `json:"replaces,omitzero"`
	Width      int    `json:"width,omitzero"`
	Height     int    `json:"height,omitzero"`
	DurationMS int64  `json:"duration_ms,omitzero"`

	seq int64
}

// filesPage are files of a room, newest first; NextBefore is what to ask for the rest with.
type filesPage struct {
	Files      []jsontext.Value `json:"files"`
	NextBefore int64            `json:"next_before,omitzero"`
}

// listFiles answers the current version of each of a room's files, or with ?name= all versions of one.
func (a *api) listFiles(c *call) (any, error) {
	q, err := readQuery(c)
	if err != nil {
		return nil, err
	}
	before, err := q.seq("before")
	if err != nil {
		return nil, err
	}
	links, err := a.Files.Links(c.ctx, c.caller.Credential)
	if err != nil {
		return nil, err
	}
	var files []listed
	more := false
	if name, one := q["name"]; one {
		files, more, err = a.versions(c, attachment.CleanFilename(name), before, q.limit())
	} else {
		files, more, err = a.currentFiles(c, before, q.limit())
	}
	if err != nil {
		return nil, err
	}
	for i := range files {
		url, until := links(files[i].AttachmentID)
		files[i].URL, files[i].URLExpiresAt = url, &until
	}
	var page filesPage
	var after string
	page.Files, after, err = list(files, func(f listed) string { return strconv.FormatInt(f.seq, 10) }, more)
	if after != "" {
		page.NextBefore, _ = strconv.ParseInt(after, 10, 64)
	}
	return page, err
}

// inRoom calls fn with the path's room, if the caller is in it, and in whose view it is shown.
func (a *api) inRoom(c *call, fn func(*workspace.State, *workspace.Room, delivery.Recipient)) error {
	return a.see(c, func(st *workspace.State) error {
		room, err := roomFor(st, c.caller, c.params[protocol.PrefixSpace])
		if err == nil {
			fn(st, room, delivery.Recipient{Kind: c.caller.Kind, ID: c.caller.ID, Credential: c.caller.Credential}.At(st))
		}
		return err
	})
}

func listedOf(st *workspace.State, r delivery.Recipient, name string, v workspace.Version) listed {
	return listed{
		File: delivery.FileOf(st, r, name, v), MessageID: v.MessageID, Replaces: v.Replaces, Width: v.Width, Height: v.Height, DurationMS: v.DurationMS,
		seq: v.Seq,
	}
}

// currentFiles are the files whose current version was posted below before. What one post brought is never parted.
func (a *api) currentFiles(c *call, before int64, limit int) (files []listed, more bool, err error) {
	err = a.inRoom(c, func(st *workspace.State, room *workspace.Room, r delivery.Recipient) {
		for _, f := range room.NewestFiles(len(room.Files)) {
			if before >= 0 && f.Seq >= before {
				continue
			}
			if len(files) >= limit && f.Seq != files[len(files)-1].seq {
				more = true
				return
			}
			files = append(files, listedOf(st, r, f.Name, f.Version))
		}
	})
	return files, more, err
}

// versions are those of one file that were posted below before. The state knows the newest of them, and of the others where they are.
func (a *api) versions(c *call, name string, before int64, limit int) (files []listed, more bool, err error) {
	var older []workspace.OlderVersion
	err = a.inRoom(c, func(st *workspace.State, room *workspace.Room, r delivery.Recipient) {
		f := room.Files[name]
		if f == nil {
			return
		}
		for _, v := range slices.Backward(f.Versions) {
			if before < 0 || v.Seq < before {
				files = append(files, listedOf(st, r, name, v))
			}
		}
		for _, v := range slices.Backward(f.Older) {
			if before < 0 || v.Seq < before {
				older = append(older, v)
			}
		}
	})
	if err != nil {
		return nil, false, err
	}
	if more = len(files)+len(older) > limit; more {
		files = files[:min(limit, len(files))]
		older = older[:limit-len(files)]
	}
	read, err := a.readVersions(c, name, older)
	if err != nil {
		return nil, false, err
	}
	err = a.inRoom(c, func(st *workspace.State, _ *workspace.Room, r delivery.Recipient) {
		for _, v := range read {
			files = append(files, listedOf(st, r, name, v))
		}
	})
	return files, more, err
}

// atOnce is how many older versions are read side by side.
const atOnce = 8

// readVersions reads versions of a file from the log.
func (a *api) readVersions(c *call, name string, older []workspace.OlderVersion) ([]workspace.Version, error) {
	read := make([]workspace.Version, len(older))
	err := engine.Beside(len(older), atOnce, func(i int) (err error) {
		read[i], err = a.readVersion(c, name, older[i])
		return err
	})
	return read, err
}

func (a *api) readVersion(c *call, name string, v workspace.OlderVersion) (workspace.Version, error) {
	commits, err := a.Engine.Commits(c.ctx, c.caller.Workspace, v.Seq, 1)
	if err != nil {
		return workspace.Version{}, err
	}
	for _, commit := range commits {
		events, err := commit.Decode()
		if err != nil {
			return workspace.Version{}, err
		}
		for _, e := range events {
			post, ok := e.Data.(*protocol.MessagePost)
			if !ok || e.Seq != v.Seq {
				continue
			}
			for _, file := range post.Attachments {
				if file.Filename == name {
					return workspace.VersionOf(v.Number, e, file), nil
				}
			}
		}
	}
	return workspace.Version{}, fmt.Errorf("log of %s: no file at seq %d", c.caller.Workspace, v.Seq)
}
