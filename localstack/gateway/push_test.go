package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/session"
)

func TestAnswersAndPushesGoOutInTheOrderOfTheCalls(t *testing.T) {
	f := &fixture{}
	f.message = func(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
		for i := range 3 {
			if err := f.Post(ctx, e.RequestContext.ConnectionID, fmt.Appendf(nil, "%s push %d", e.Body, i)); err != nil {
				t.Error(err)
			}
		}
		return events.APIGatewayProxyResponse{StatusCode: 200, Body: e.Body + " answer"}, nil
	}
	serve(t, Config{}, f)
	c := f.dial(nil)
	for i := range 50 {
		c.send(fmt.Sprint(i))
	}
	for i := range 50 {
		for j := range 3 {
			c.want(fmt.Sprintf("%d push %d", i, j))
		}
		c.want(fmt.Sprintf("%d answer", i))
	}
}

func TestPost(t *testing.T) {
	f := serve(t, Config{}, nil)
	c := f.dial(nil)
	ctx := t.Context()
	if err := f.Post(ctx, "nobody", []byte("x")); !errors.Is(err, session.ErrGone) {
		t.Errorf("to nobody: %v", err)
	}
	if err := f.Post(ctx, c.id, make([]byte, MessageLimit+1)); !errors.Is(err, session.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	f.Throttle(func(id string) bool { return id == c.id })
	if err := f.Post(ctx, c.id, []byte("x")); !errors.Is(err, session.ErrThrottled) {
		t.Errorf("throttled: %v", err)
	}
	f.Throttle(nil)
	if err := f.Post(ctx, c.id, []byte("one")); err != nil {
		t.Error(err)
	}
	if err := f.Close(ctx, c.id, 1013, strings.Repeat("long ", 50), []byte("last")); err != nil {
		t.Error(err)
	}
	if err := f.Post(ctx, c.id, []byte("two")); !errors.Is(err, session.ErrGone) {
		t.Errorf("after the close: %v", err)
	}
	if d := cmp.Diff([]string{"one", "last"}, c.wantClose(1013)); d != "" {
		t.Error(d)
	}
	eventually(t, "$disconnect", func() bool { return slices.Contains(f.routes(), "$disconnect") })
}

// covers: KEEP-3, KEEP-4, KEEP-6, KEEP-7
func TestAConsumerTooFarBehindIsCut(t *testing.T) {
	f := serve(t, Config{BacklogFrames: 20}, nil)
	c, neighbour := f.dial(nil), f.dial(nil)
	frame := bytes.Repeat([]byte("x"), MessageLimit)
	posted := f.stuff(c, frame)
	// One is being written; so many more may wait, and no more.
	for i := range 19 {
		if err := f.Post(t.Context(), c.id, frame); err != nil {
			t.Fatalf("frame %d behind: %v", i+2, err)
		}
	}
	if err := f.Post(t.Context(), c.id, frame); !errors.Is(err, session.ErrBehind) {
		t.Fatalf("frame 21 behind: %v", err)
	}
	if err := f.Post(t.Context(), c.id, frame); !errors.Is(err, session.ErrGone) {
		t.Fatalf("after the cut: %v", err)
	}
	if err := f.Post(t.Context(), neighbour.id, []byte("hi")); err != nil {
		t.Fatal(err)
	}
	neighbour.want("hi")
	before := c.wantClose(websocket.StatusPolicyViolation)
	if len(before) == 0 || !strings.HasPrefix(before[len(before)-1], `{"frame":"error","code":"too_far_behind"`) {
		t.Fatalf("%d frames and no error at their end", len(before))
	}
	if len(before)-1 != posted {
		t.Fatalf("%d frames were delivered of the %d that were written or being written before the cut: nothing else may be held", len(before)-1, posted)
	}
}

// A connection whose access was taken back is sent nothing that waited, and nothing it wrote is being handled when Close returns.
func TestTakenBackIsOverAtOnce(t *testing.T) {
	handling, goOn := make(chan struct{}), make(chan struct{})
	f := &fixture{}
	f.message = func(_ context.Context, e events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
		handling <- struct{}{}
		<-goOn
		return events.APIGatewayProxyResponse{StatusCode: 200}, nil
	}
	serve(t, Config{}, f)
	c := f.dial(nil)
	posted := f.stuff(c, bytes.Repeat([]byte("x"), MessageLimit))
	for range 5 {
		if err := f.Post(t.Context(), c.id, []byte("waits")); err != nil {
			t.Fatal(err)
		}
	}
	c.send("first")
	c.send("second")
	<-handling
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = f.Close(t.Context(), c.id, 1008, "access was taken back", nil)
	}()
	eventually(t, "the socket takes no more", func() bool { return f.find(c.id) == nil })
	select {
	case <-closed:
		t.Error("closed while a message is being handled")
	default:
	}
	goOn <- struct{}{}
	<-closed
	if got := c.wantClose(1008); len(got) != posted || slices.Contains(got, "waits") {
		t.Errorf("%d frames were delivered, %d were written or being written", len(got), posted)
	}
	eventually(t, "$disconnect", func() bool { return slices.Contains(f.routes(), "$disconnect") })
	if n := len(f.routes()); n != 3 {
		t.Errorf("%d calls: the second message was handled", n)
	}
}

// A function that closes the connection whose message it handles does not wait for itself.
func TestAMessageMayCloseItsConnection(t *testing.T) {
	f := &fixture{}
	f.message = func(ctx context.Context, e events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error) {
		err := f.Close(ctx, e.RequestContext.ConnectionID, 1008, "over", []byte("last"))
		if ctx.Err() != nil {
			t.Error("it waited for itself")
		}
		return events.APIGatewayProxyResponse{StatusCode: 200}, err
	}
	serve(t, Config{}, f)
	c := f.dial(nil)
	c.send("over")
	if d := cmp.Diff([]string{"last"}, c.wantClose(1008)); d != "" {
		t.Error(d)
	}
}

// What a connection's own work posts waits for room instead: a replay is as fast as its reader, and no reason to cut it.
func TestPacedPostsWait(t *testing.T) {
	f := serve(t, Config{BacklogFrames: 20}, nil)
	c := f.dial(nil)
	frame := bytes.Repeat([]byte("x"), MessageLimit)
	ctx := session.Paced(t.Context())
	posted := make(chan error)
	go func() {
		defer close(posted)
		for range 200 {
			posted <- f.Post(ctx, c.id, frame)
		}
	}()
	for range 200 {
		select {
		case err := <-posted:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Millisecond):
			c.want(string(frame))
		}
	}
	f.stuff(c, frame)
	for f.find(c.id).waiting() < pacedFrames {
		if err := f.Post(t.Context(), c.id, frame); err != nil {
			t.Fatal(err)
		}
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := f.Post(short, c.id, frame); !errors.Is(err, session.ErrThrottled) {
		t.Errorf("out of time: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- f.Post(ctx, c.id, frame) }()
	_ = c.CloseNow()
	if err := <-ended; !errors.Is(err, session.ErrGone) {
		t.Errorf("after the end: %v", err)
	}
}

func TestBytesThatWaitAreBounded(t *testing.T) {
	f := serve(t, Config{BacklogBytes: 300 << 10}, nil)
	c := f.dial(nil)
	frame := bytes.Repeat([]byte("x"), MessageLimit)
	var err error
	taken := 0
	for ; err == nil && taken < 1000; taken++ {
		err = f.Post(t.Context(), c.id, frame)
	}
	if !errors.Is(err, session.ErrThrottled) {
		t.Fatalf("after %d frames: %v", taken, err)
	}
	for range taken - 1 {
		c.want(string(frame))
	}
	if err := f.Post(t.Context(), c.id, frame); err != nil {
		t.Fatalf("with nothing waiting: %v", err)
	}
}

func TestAConsumerThatNeverReadsIsNotHeld(t *testing.T) {
	f := serve(t, Config{BacklogFrames: 20, Grace: 50 * time.Millisecond}, nil)
	c := f.dial(nil)
	frame := bytes.Repeat([]byte("x"), MessageLimit)
	for f.Post(t.Context(), c.id, frame) == nil {
	}
	eventually(t, "$disconnect", func() bool { return slices.Contains(f.routes(), "$disconnect") })
}
