package awscall_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// An answer that does not end is given up, whatever it says it is: memory is bounded.
func TestEndlessAnswers(t *testing.T) {
	for _, status := range []int{200, 400, 500} {
		w := newWire(t, func(_ int, w http.ResponseWriter) {
			w.WriteHeader(status)
			_, err := io.WriteString(w, `{"Item":{"pk":{"S":"`)
			for x := strings.Repeat("x", 1<<20); err == nil; {
				_, err = io.WriteString(w, x)
			}
		})
		s := w.service("dynamodb", "")
		err := s.Call(t.Context(), getItem, get(), new(dynamodb.GetItemOutput), aws.NopRetryer{})
		if _, cut := errors.AsType[*http.MaxBytesError](err); !cut {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// A redirect is a refusal: nothing that is signed goes on to where it says.
func TestNoRedirects(t *testing.T) {
	other := newWire(t, func(_ int, w http.ResponseWriter) { _, _ = io.WriteString(w, `{}`) })
	for _, status := range []int{301, 302, 303, 307, 308} {
		w := newWire(t, func(_ int, w http.ResponseWriter) {
			w.Header().Set("Location", other.URL)
			w.WriteHeader(status)
		})
		s := w.service("dynamodb", "")
		err := s.Call(t.Context(), getItem, get(), new(dynamodb.GetItemOutput), aws.NopRetryer{})
		if refused, ok := errors.AsType[*awshttp.ResponseError](err); !ok || refused.HTTPStatusCode() != status || len(other.requests()) > 0 {
			t.Errorf("%d: %v, %d calls elsewhere", status, err, len(other.requests()))
		}
	}
}
