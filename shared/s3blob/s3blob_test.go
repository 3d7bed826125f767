package s3blob_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/sivchari/kumo"

	"github.com/chipschat/chips-aws/shared/apigw"
	"github.com/chipschat/chips-aws/shared/porttest"
	"github.com/chipschat/chips-aws/shared/s3blob"
)

// emulator is kumo, one for all tests: to start one while another puts objects is a data race of kumo's.
var emulator = sync.OnceValue(kumo.NewServer)

// onKumo is a bucket on kumo, an emulator that runs in the test's process, spoken to over HTTP.
func onKumo(t *testing.T) *s3blob.Blobs {
	t.Helper()
	env := map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_ENDPOINT_URL": emulator().URL}
	cfg, err := apigw.Config(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	bucket := "files-" + strings.ToLower(rand.Text()) // all of a process share their buckets
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Fatal(err)
	}
	return s3blob.New(cfg, bucket)
}

func TestBlobs(t *testing.T) { porttest.Blobs(t, onKumo(t)) }

func TestURLs(t *testing.T) {
	b := onKumo(t)
	put, err := b.PutURL(t.Context(), "uploads/att_1", 5, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	call(t, "PUT", put, "hello", http.StatusOK)
	if body, err := b.Get(t.Context(), "uploads/att_1", 5); err != nil || string(body) != "hello" {
		t.Errorf("put by its URL: %q, %v", body, err)
	}
	get, err := b.GetURL(t.Context(), "uploads/att_1", "text/html", `attachment; filename="a.html"`, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	header := call(t, "GET", get, "", http.StatusOK)
	for name, want := range map[string]string{"Content-Type": "text/html", "Content-Disposition": `attachment; filename="a.html"`} {
		if header.Get(name) != want {
			t.Errorf("%s: %q", name, header.Get(name))
		}
	}
	none, err := b.PutURL(t.Context(), "uploads/att_2", 0, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	call(t, "PUT", none, "", http.StatusOK)
	if body, err := b.Get(t.Context(), "uploads/att_2", 5); err != nil || len(body) != 0 {
		t.Errorf("nothing put by its URL: %q, %v", body, err)
	}
}

// kumo does not check signatures, so what is signed is looked at: S3 refuses a request in which a signed header is another.
func TestWhatIsSigned(t *testing.T) {
	cfg := aws.Config{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", "SESSION")}
	b := s3blob.New(cfg, "files-of-the-tests")
	link, err := b.PutURL(context.Background(), "uploads/att_1", 25<<20, 10*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if u.Scheme != "https" || u.Host != "files-of-the-tests.s3.eu-central-1.amazonaws.com" || u.Path != "/uploads/att_1" {
		t.Errorf("it is put to %s://%s%s", u.Scheme, u.Host, u.Path)
	}
	if !strings.Contains(q.Get("X-Amz-SignedHeaders"), "content-length") || q.Get("X-Amz-Expires") != "600" {
		t.Errorf("signed is %s, for %s s: want the length, for ten minutes", q.Get("X-Amz-SignedHeaders"), q.Get("X-Amz-Expires"))
	}
	for name := range q {
		if strings.Contains(strings.ToLower(name), "checksum") {
			t.Errorf("%s pins the bytes, which nobody knows as yet", name)
		}
	}
}

func call(t *testing.T, method, link, body string, want int) http.Header {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, link, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got, _ := io.ReadAll(res.Body); res.StatusCode != want {
		t.Errorf("%s: %s %s", method, res.Status, got)
	}
	return res.Header
}
