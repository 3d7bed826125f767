package transcribe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/chipschat/chips-aws/shared/protocol"
)

// service stands in for Transcribe: a job is in progress when it is first asked about, and then as end says.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
	start string
}

func newService(t *testing.T, end string) *service {
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		s.mu.Lock()
		defer s.mu.Unlock()
		asked := slices.Contains(s.calls, action)
		s.calls = append(s.calls, action)
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"jobName":"x","results":{"transcripts":[{"transcript":"Call Northwind."}],"items":[]}}`)
			return
		}
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/transcribe/aws4_request") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		switch action {
		case "StartTranscriptionJob":
			s.start = string(body)
			_, _ = io.WriteString(w, `{"TranscriptionJob":{"TranscriptionJobStatus":"QUEUED"}}`)
		case "GetTranscriptionJob":
			status := "IN_PROGRESS"
			if asked {
				status = end
			}
			_, _ = fmt.Fprintf(w, `{"TranscriptionJob":{"TranscriptionJobStatus":%q,"FailureReason":"no speech","Transcript":{"TranscriptFileUri":"%s/transcript"}}}`, status, s.URL)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) listener() *Listener {
	l := New(aws.Config{
		Region: "eu-central-1", BaseEndpoint: &s.URL, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	}, "files", time.Now)
	l.every = time.Millisecond
	return l
}

var note = protocol.Attachment{AttachmentID: "att_01K4ZQPX0000000000000000F3", MimeType: "audio/wave", ByteSize: 9}

func TestHear(t *testing.T) {
	s := newService(t, "COMPLETED")
	got, err := s.listener().Hear(t.Context(), "files/abc", note)
	if err != nil || got.Transcript != "Call Northwind." {
		t.Errorf("%+v, %v", got, err)
	}
	if !strings.Contains(s.start, `"MediaFileUri":"s3://files/files/abc"`) || !strings.Contains(s.start, `"MediaFormat":"wav"`) {
		t.Errorf("asked for %s", s.start)
	}
	if last := s.calls[len(s.calls)-1]; last != "DeleteTranscriptionJob" {
		t.Errorf("the job is left: %v", s.calls)
	}
}

func TestHearNothing(t *testing.T) {
	s := newService(t, "FAILED")
	if _, err := s.listener().Hear(t.Context(), "files/abc", note); err == nil || !strings.Contains(err.Error(), "no speech") {
		t.Errorf("a job that fails: %v", err)
	}
	s = newService(t, "IN_PROGRESS")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.listener().Hear(ctx, "files/abc", note); err == nil || s.calls[len(s.calls)-1] != "DeleteTranscriptionJob" {
		t.Errorf("a job without an end: %v, %v", err, s.calls)
	}
	s = newService(t, "COMPLETED")
	other := note
	other.MimeType = "video/avi"
	if got, err := s.listener().Hear(t.Context(), "files/abc", other); err != nil || got.Transcript != "" || len(s.calls) > 0 {
		t.Errorf("what it does not take: %+v, %v, %v", got, err, s.calls)
	}
}
