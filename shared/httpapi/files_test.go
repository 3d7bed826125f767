package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/attachment"
)

// upload stores a file and answers its id.
func (w *world) upload(by client, name, content string) string {
	w.t.Helper()
	return str(by.must("POST", "/v1/uploads?filename="+url.QueryEscape(name), content), "attachment_id")
}

// begin announces a file and answers its id and what to put it to, without the host.
func (w *world) begin(by client, name string, size int) (id, target string) {
	w.t.Helper()
	j := by.must("POST", "/v1/uploads", J{"filename": name, "byte_size": size})
	target, ours := strings.CutPrefix(str(j, "put_url"), publicURL)
	if !ours {
		w.t.Errorf("it is put to %q", str(j, "put_url"))
	}
	return str(j, "attachment_id"), target
}

// urlOf is a file's URL for a caller, without the host.
func (w *world) urlOf(by client, id string) string {
	w.t.Helper()
	target, ours := strings.CutPrefix(str(by.must("GET", "/v1/attachments/"+id+"/url", nil), "url"), publicURL)
	if !ours {
		w.t.Errorf("the URL leads to %q", target)
	}
	return target
}

// post posts files and answers the message's id.
func (w *world) post(by client, room string, extra J, ids ...string) string {
	w.t.Helper()
	ev := J{"type": "message.post", "space_id": room, "text": "here", "upload_ids": ids, "idempotency_key": fmt.Sprint("post-", keys.Add(1))}
	for k, v := range extra {
		ev[k] = v
	}
	seq := num(by.must("POST", "/v1/events", ev), "seq")
	j := w.arjun.must("GET", fmt.Sprintf("/v1/events?since=%d&limit=1", seq-1), nil)
	return strings.Replace(str(j["events"].([]any)[0].(J), "id"), "evt_", "msg_", 1)
}

// fetch fetches a URL, without the host, as nobody.
func (w *world) fetch(target string, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest("GET", target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	return rec
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// covers: FILE-1, HLD-6, HLD-7, HLD-8, HLD-9
func TestUploads(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct{ filename, content, kept, mime string }{
		"text":                     {"a.png", "just words", "a.png", "text/plain"},
		"nothing":                  {"empty.txt", "", "empty.txt", "text/plain"},
		"what says it is JSON":     {"b.json", `{"filename":"c","byte_size":5}`, "b.json", "text/plain"},
		"a path":                   {"../../etc/pass\x00wd", "x", "passwd", "text/plain"},
		"a path of Windows":        {`C:\Users\a\plan.txt`, "x", "plan.txt", "text/plain"},
		"what turns text around":   {"exe\u202etxt.gpj", "x", "exetxt.gpj", "text/plain"},
		"two ways to write é":      {"cafe\u0301.txt", "x", "caf\u00e9.txt", "text/plain"},
		"no name":                  {"", "x", "file", "text/plain"},
		"a name of nothing":        {"..", "x", "file", "text/plain"},
		"a long name":              {strings.Repeat("é", 200) + ".html", "x", strings.Repeat("é", 147) + ".html", "text/plain"},
		"a page":                   {"a.txt", "<!DOCTYPE html><p>hi", "a.txt", "text/html"},
		"a page after a mark":      {"a.txt", "\ufeff<html>", "a.txt", "text/html"},
		"a picture that could run": {"pwn.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`, "pwn.svg", "image/svg+xml"},
		"the same after a comment": {"pwn.txt", "<?xml version=\"1.0\"?>\n<!-- c --> <!DOCTYPE svg>\n<SVG>", "pwn.txt", "image/svg+xml"},
		"a picture":                {"a.txt", "\x89PNG\x0d\x0a\x1a\x0a", "a.txt", "image/png"},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.scout.must("POST", "/v1/uploads?filename="+url.QueryEscape(c.filename), c.content, "Content-Type", "image/jpeg")
			want := J{
				"attachment_id": got["attachment_id"], "filename": c.kept, "mime_type": c.mime, "byte_size": float64(len(c.content)), "sha256": digest(c.content),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			id, target := w.begin(w.scout.client, c.filename, len(c.content))
			if r := w.nobody.do("PUT", target, c.content); r.status != http.StatusNoContent {
				t.Fatalf("put: %v", r)
			}
			want["attachment_id"] = id
			for range 2 { // it may be said again
				if diff := cmp.Diff(want, w.scout.must("POST", "/v1/uploads/"+id+"/done", nil)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestUploadsRefused(t *testing.T) {
	w := newWorld(t)
	for _, b := range []any{J{"byte_size": 1}, J{"filename": "a"}, J{"filename": "a", "byte_size": -1}, J{"filename": "a", "byte_size": 1.5}, nil} {
		w.priya.refused(http.StatusBadRequest, "invalid_request", "POST", "/v1/uploads", b)
	}
	w.priya.refused(http.StatusRequestEntityTooLarge, "too_large", "POST", "/v1/uploads", J{"filename": "a", "byte_size": attachment.MaxBytes + 1})
	w.priya.refused(http.StatusBadRequest, "invalid_request", "POST", "/v1/uploads?filename=a&filename=b", "x")

	id, target := w.begin(w.priya.client, "a.txt", 3)
	done := "/v1/uploads/" + id + "/done"
	w.priya.refused(http.StatusBadRequest, "invalid_request", "POST", done, nil) // nothing was put
	w.nobody.refused(http.StatusBadRequest, "invalid_request", "PUT", target, "four")
	w.nobody.refused(http.StatusForbidden, "forbidden", "PUT", target+"0", "abc")
	w.nobody.refused(http.StatusForbidden, "forbidden", "PUT", strings.Replace(target, id, "att_01JABCDEFGHJKMNPQRSTVWXYZ0", 1), "abc")
	w.arjun.refused(http.StatusNotFound, "not_found", "POST", done, nil) // another's
	w.arjun.refused(http.StatusNotFound, "not_found", "POST", "/v1/uploads/att_01JABCDEFGHJKMNPQRSTVWXYZ0/done", nil)
	w.nobody.do("PUT", target, "abc")
	w.priya.must("POST", done, nil)
	w.nobody.refused(http.StatusForbidden, "forbidden", "PUT", target, "xyz") // what is done stays as it is
	w.arjun.refused(http.StatusNotFound, "not_found", "GET", "/v1/attachments/"+id+"/url", nil)
}

// A file of 25 MB is taken, and one byte more is not.
func TestLargestUpload(t *testing.T) {
	w := newWorld(t)
	content := strings.Repeat("0123456789abcdef", attachment.MaxBytes/16)
	j := w.priya.must("POST", "/v1/uploads?filename=large.bin", content)
	if num(j, "byte_size") != attachment.MaxBytes || str(j, "sha256") != digest(content) {
		t.Errorf("stored %v", j)
	}
	if got := w.fetch(w.urlOf(w.priya.client, str(j, "attachment_id"))); got.Code != http.StatusOK || got.Body.String() != content {
		t.Errorf("fetched: %d, %d bytes", got.Code, got.Body.Len())
	}
	w.priya.refused(http.StatusRequestEntityTooLarge, "too_large", "POST", "/v1/uploads?filename=large.bin", content+"x")
	_, target := w.begin(w.priya.client, "large.bin", attachment.MaxBytes)
	w.nobody.refused(http.StatusRequestEntityTooLarge, "too_large", "PUT", target, content+"x")
	if r := w.nobody.do("PUT", target, content); r.status != http.StatusNoContent {
		t.Errorf("put: %v", r)
	}
}

// covers: DLV-5, FILE-12
func TestFetching(t *testing.T) {
	w := newWorld(t)
	content := "0123456789"
	id := w.upload(w.arjun.client, `pláň "a";.txt`, content)
	w.post(w.arjun.client, w.room, nil, id)
	target := w.urlOf(w.priya.client, id)
	got := w.fetch(target)
	if got.Code != http.StatusOK || got.Body.String() != content {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff",
		"Content-Disposition": `inline; filename="pl__ _a__.txt"; filename*=UTF-8''pl%C3%A1%C5%88%20%22a%22%3B.txt`,
		"Etag":                `"` + digest(content) + `"`, "Content-Length": "10", "Cache-Control": "private, max-age=60",
	} {
		if got.Header().Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Header().Get(name), want)
		}
	}
	part, whole, none := http.StatusPartialContent, http.StatusOK, http.StatusRequestedRangeNotSatisfiable
	for asked, want := range map[string]struct {
		status             int
		body, contentRange string
	}{
		"bytes=2-4": {part, "234", "bytes 2-4/10"}, "bytes=-3": {part, "789", "bytes 7-9/10"}, "bytes=8-": {part, "89", "bytes 8-9/10"},
		"bytes=10-": {none, `{"code":"range_not_satisfiable","message":"Range asks for nothing of the file, which has 10 bytes"}`, "bytes */10"},
		// What is no range of bytes says nothing.
		"nonsense": {whole, content, ""}, "lines=1-2": {whole, content, ""}, "bytes=4-2": {whole, content, ""}, "bytes=a-b": {whole, content, ""},
		"bytes=": {whole, content, ""}, "bytes=1-2,x": {whole, content, ""},
	} {
		got := w.fetch(target, "Range", asked)
		kind := map[bool]string{true: "application/json", false: "text/plain; charset=utf-8"}[want.status == none]
		if got.Code != want.status || got.Body.String() != want.body || got.Header().Get("Content-Range") != want.contentRange || got.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %d %q %v", asked, got.Code, got.Body, got.Header())
		}
		if want.status == whole && (got.Header().Get("Etag") == "" || got.Header().Get("Content-Length") != "10") {
			t.Errorf("%s: %v", asked, got.Header())
		}
	}
	for _, asked := range []string{"", "bytes=2-4", "bytes=10-"} { // only a GET has ranges
		if got := w.nobody.do("HEAD", target, nil, "Range", asked); got.status != whole || len(got.body) > 0 || got.header.Get("Content-Length") != "10" {
			t.Errorf("HEAD with %q: %v %v", asked, got, got.header)
		}
	}
	if got := w.fetch(target, "If-None-Match", `"`+digest(content)+`"`); got.Code != http.StatusNotModified || got.Body.Len() > 0 {
		t.Errorf("what is known already: %d", got.Code)
	}
	empty := w.urlOf(w.arjun.client, w.upload(w.arjun.client, "none", ""))
	if got := w.fetch(empty); got.Code != http.StatusOK || got.Body.Len() != 0 {
		t.Errorf("a file of nothing: %d", got.Code)
	}
	if got := w.fetch(empty, "Range", "bytes=0-"); got.Code != http.StatusOK {
		t.Errorf("a part of nothing: %d", got.Code)
	}

	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for name, change := range map[string]func(url.Values){
		"no sig": func(q url.Values) { q.Del("sig") }, "another sig": func(q url.Values) { q.Set("sig", strings.Repeat("0", 64)) },
		"longer": func(q url.Values) { q.Set("exp", q.Get("exp")+"0") }, "past": func(q url.Values) { q.Set("exp", "1000000000") },
		"another's": func(q url.Values) { q.Set("tok", w.scout.tokenID) }, "exp of words": func(q url.Values) { q.Set("exp", "never") },
	} {
		bad := url.Values{}
		for k := range q {
			bad.Set(k, q.Get(k))
		}
		change(bad)
		if got := w.fetch(u.Path + "?" + bad.Encode()); got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), `"forbidden"`) {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	other := w.upload(w.arjun.client, "other.txt", "other")
	if got := w.fetch("/v1/attachments/" + other + "?" + q.Encode()); got.Code != http.StatusForbidden {
		t.Errorf("another file by this URL: %d", got.Code)
	}
}

// What could run is never shown in the origin of Chips.
func TestNothingRuns(t *testing.T) {
	w := newWorld(t)
	for name, content := range map[string]string{
		"a.png": "<b>x", "a.html": "\ufeff<html>", "pwn.svg": `<svg onload="alert(1)"/>`, "a.pdf": "%PDF-1.7", "a.js": "alert(1)", "a.xml": "<?xml version='1.0'?><a/>",
	} {
		got := w.fetch(w.urlOf(w.arjun.client, w.upload(w.arjun.client, name, content)))
		h := got.Header()
		if h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox;") {
			t.Errorf("%s: %v", name, h)
		}
		if kind := h.Get("Content-Type"); !strings.HasPrefix(h.Get("Content-Disposition"), "attachment;") && kind != "text/plain; charset=utf-8" {
			t.Errorf("%s is shown as %s", name, kind)
		}
	}
}

// covers: FILE-3, FILE-4, FILE-6, FILE-10, FILE-11, FILE-15, FILE-22, FILE-23, FILE-24, FILE-25
func TestListingFiles(t *testing.T) {
	w := newWorld(t)
	files := "/v1/spaces/" + w.room + "/files"
	list := func(by client, query string) []any { return by.must("GET", files+query, nil)["files"].([]any) }
	v1 := w.upload(w.arjun.client, "plan.gif", gif(1, 2))
	m1 := w.post(w.arjun.client, w.room, nil, v1)
	v2 := w.upload(w.scout.client, "plan.gif", gif(3, 4))
	m2 := w.post(w.scout.client, w.room, J{"replaces": J{v2: v1}}, v2)
	a := w.upload(w.priya.client, "a.txt", "a")
	w.post(w.priya.client, w.room, nil, a)

	got := list(w.priya.client, "")
	if len(got) != 2 || str(got[0].(J), "name") != "a.txt" {
		t.Fatalf("listed %v", got)
	}
	plan := got[1].(J)
	want := J{
		"name": "plan.gif", "version": 2.0, "attachment_id": v2, "sha256": digest(gif(3, 4)), "byte_size": float64(len(gif(3, 4))), "mime_type": "image/gif",
		"by": J{"id": w.scout.agent, "kind": "agent", "name": "Scout"}, "message_id": m2, "replaces": v1, "width": 3.0, "height": 4.0,
		"at": plan["at"], "url": plan["url"], "url_expires_at": plan["url_expires_at"],
	}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Error(diff)
	}
	if got := w.fetch(strings.TrimPrefix(str(plan, "url"), publicURL)); got.Code != http.StatusOK || got.Body.String() != gif(3, 4) {
		t.Errorf("its URL: %d", got.Code)
	}
	// A harness of before agents is shown itself.
	if by := list(w.ledger.client, "")[1].(J)["by"]; cmp.Diff(by, J{"id": w.scout.agent, "kind": "harness", "name": "Scout"}) != "" {
		t.Errorf("to Ledger it is by %v", by)
	}

	// All versions, also those that only the log knows, newest first and in pages.
	for i := range 5 {
		w.post(w.arjun.client, w.room, nil, w.upload(w.arjun.client, "plan.gif", gif(5+i, 5)))
	}
	var numbers, widths []float64
	for before, more := "", true; more; {
		j := w.priya.must("GET", files+"?name=plan.gif&limit=2"+before, nil)
		for _, f := range j["files"].([]any) {
			numbers, widths = append(numbers, f.(J)["version"].(float64)), append(widths, f.(J)["width"].(float64))
		}
		_, more = j["next_before"]
		before = fmt.Sprint("&before=", num(j, "next_before"))
	}
	if !cmp.Equal(numbers, []float64{7, 6, 5, 4, 3, 2, 1}) || !cmp.Equal(widths, []float64{9, 8, 7, 6, 5, 3, 1}) {
		t.Errorf("versions %v, of widths %v", numbers, widths)
	}
	if oldest := list(w.priya.client, "?name=plan.gif")[6].(J); str(oldest, "message_id") != m1 || str(oldest, "attachment_id") != v1 || oldest["replaces"] != nil {
		t.Errorf("the oldest: %v", oldest)
	}
	if page := w.priya.must("GET", files+"?limit=1", nil); len(page["files"].([]any)) != 1 || num(page, "next_before") == 0 {
		t.Errorf("a page of one: %v", page)
	} else if rest := list(w.priya.client, fmt.Sprint("?before=", num(page, "next_before"))); len(rest) != 1 || str(rest[0].(J), "name") != "a.txt" {
		t.Errorf("the rest: %v", rest)
	}
	if got := list(w.priya.client, "?name=none"); len(got) != 0 {
		t.Errorf("a file there is none of: %v", got)
	}

	// What is heard says how long it takes, and when it was posted.
	m := w.post(w.priya.client, w.room, nil, w.upload(w.priya.client, "note.wav", "RIFF\x00\x00\x00\x00WAVEfmt "))
	logged := w.priya.must("GET", "/v1/events?limit=500&space_id="+w.room, nil)["events"].([]any)
	last, note := logged[len(logged)-1].(J), list(w.priya.client, "")[0].(J)
	if num(note, "duration_ms") != 4200 || str(note, "message_id") != m || str(note, "at") == "" || str(note, "at") != str(last, "ts") {
		t.Errorf("a voice note is listed as %v, posted at %v", note, last["ts"])
	}

	ev := J{
		"type": "message.post", "space_id": w.room, "text": "stale", "idempotency_key": "stale", "upload_ids": []string{w.upload(w.scout.client, "plan.gif", "mine")},
	}
	ev["replaces"] = J{ev["upload_ids"].([]string)[0]: v2}
	r := w.scout.refused(http.StatusConflict, "stale_file", "POST", "/v1/events", ev)
	if str(r.j, "message") != "plan.gif is now v7, by Arjun. Fetch it and redo." || num(r.j["file"].(J), "version") != 7 {
		t.Errorf("stale: %v", r)
	}
	w.ada.refused(http.StatusForbidden, "forbidden", "GET", files, nil)
}

// gif is a picture of a size.
func gif(width, height int) string {
	return string(append([]byte("GIF89a"), byte(width), 0, byte(height), 0, 0, 0, 0, 0x3b))
}

// A deleted message's files are gone at once, and the same bytes elsewhere stay.
// covers: HLD-10
func TestFilesOfDeletedMessages(t *testing.T) {
	w := newWorld(t)
	q := w.open(w.arjun, "Q", w.priya.id)
	one, two, three := w.upload(w.arjun.client, "a.txt", "same"), w.upload(w.arjun.client, "b.txt", "same"), w.upload(w.arjun.client, "c.txt", "same")
	m1 := w.post(w.arjun.client, w.room, nil, one)
	w.post(w.arjun.client, q, nil, two)
	w.post(w.arjun.client, w.room, nil, three)
	mine, theirs := w.urlOf(w.arjun.client, one), w.urlOf(w.priya.client, one)
	w.arjun.must("POST", "/v1/events", J{"type": "message.deleted", "space_id": w.room, "message_id": m1, "idempotency_key": "d"})
	for _, target := range []string{mine, theirs} {
		if got := w.fetch(target); got.Code != http.StatusForbidden {
			t.Errorf("a deleted message's file: %d %s", got.Code, got.Body)
		}
	}
	w.arjun.refused(http.StatusNotFound, "not_found", "GET", "/v1/attachments/"+one+"/url", nil)
	for _, id := range []string{two, three} {
		if got := w.fetch(w.urlOf(w.priya.client, id)); got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), []byte("same")) {
			t.Errorf("the same bytes elsewhere: %d", got.Code)
		}
	}
	if got := w.arjun.must("GET", "/v1/spaces/"+w.room+"/files", nil)["files"].([]any); len(got) != 1 || str(got[0].(J), "name") != "c.txt" {
		t.Errorf("listed: %v", got)
	}
}
