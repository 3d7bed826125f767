package apigw

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/chipschat/chips-aws/shared/embedded"
	"github.com/chipschat/chips-aws/shared/engine"
	"github.com/chipschat/chips-aws/shared/protocol"
	"github.com/chipschat/chips-aws/shared/session"
	"github.com/chipschat/chips-aws/shared/workspace"
)

const aConnection = "S2b3kcXzFiACIhw="

// pushed notes what is pushed, and says so once a context is over, as a transport would.
type pushed struct{ calls []string }

func (p *pushed) Post(ctx context.Context, connID string, frame []byte) error {
	p.calls = append(p.calls, "post "+connID+" "+string(frame))
	return ctx.Err()
}

func (p *pushed) Close(ctx context.Context, connID string, code int, _ string, last []byte) error {
	line, _ := json.Marshal([]any{"close", connID, code, string(last)})
	p.calls = append(p.calls, string(line))
	return ctx.Err()
}

type socketWorld struct {
	table   *embedded.Table
	push    *pushed
	log     bytes.Buffer
	handle  func(context.Context, events.APIGatewayWebsocketProxyRequest) (events.APIGatewayProxyResponse, error)
	harness string
}

// newSocketWorld is a workspace with one harness, the real session and engine over a table, and the handler.
func newSocketWorld(t *testing.T) *socketWorld {
	t.Helper()
	w := &socketWorld{table: newTable(t), push: &pushed{}}
	log := slog.New(slog.NewJSONHandler(&w.log, nil))
	e := engine.New(w.table, engine.Options{Now: time.Now})
	ctx := context.Background()
	do := func(by workspace.Caller, d protocol.Data) engine.Outcome {
		out, err := e.Do(ctx, aWorkspace, workspace.Command{By: by, Draft: workspace.Draft(d), Operation: true})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	opened := do(workspace.Caller{Workspace: aWorkspace, Kind: protocol.KindSystem, ID: protocol.SystemID}, &workspace.NameDraft{OwnerName: "Arjun"})
	name := "Scout"
	var owner string
	for _, ev := range opened.Events {
		if p, ok := ev.Data.(*protocol.PersonAdded); ok {
			owner = p.PersonID
		}
	}
	made := do(workspace.Caller{Workspace: aWorkspace, Kind: protocol.KindPerson, ID: owner}, &workspace.HarnessDraft{DisplayName: &name})
	for _, ev := range made.Events {
		if h, ok := ev.Data.(*protocol.HarnessAdded); ok {
			w.harness = h.HarnessID
		}
	}
	sessions := session.New(session.Config{
		Engine: e, Rows: w.table, Push: w.push, Server: protocol.Server{Name: "chips", Version: "test"}, Now: time.Now, Log: log,
	})
	w.handle = Socket(sessions, log)
	return w
}

func (w *socketWorld) event(t *testing.T, name string) events.APIGatewayWebsocketProxyRequest {
	t.Helper()
	var e events.APIGatewayWebsocketProxyRequest
	fixture(t, name, &e, aHarness, w.harness)
	return e
}

func (w *socketWorld) connect(t *testing.T) {
	t.Helper()
	if answer, err := w.handle(context.Background(), w.event(t, "socket-connect.json")); err != nil || answer.StatusCode != 200 {
		t.Fatalf("connect: %d, %v\n%s", answer.StatusCode, err, w.log.String())
	}
}

func (w *socketWorld) rows(t *testing.T) int {
	t.Helper()
	rows, err := w.table.Query(context.Background(), "X#"+aWorkspace, "", 10)
	if err != nil {
		t.Fatal(err)
	}
	return len(rows)
}

func TestSocketFromConnectToDisconnect(t *testing.T) {
	w := newSocketWorld(t)
	ctx := context.Background()
	w.connect(t)
	if w.rows(t) != 1 || len(w.push.calls) != 0 {
		t.Fatalf("after $connect: %d rows, pushed %q; nothing may be posted to a connection that is not there yet", w.rows(t), w.push.calls)
	}
	for name, change := range map[string]func(*events.APIGatewayWebsocketProxyRequest){
		"text": func(*events.APIGatewayWebsocketProxyRequest) {},
		"a binary frame": func(e *events.APIGatewayWebsocketProxyRequest) {
			e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(e.Body)), true
		},
		"a message that calls itself a disconnect": func(e *events.APIGatewayWebsocketProxyRequest) { e.RequestContext.RouteKey = "$disconnect" },
	} {
		e := w.event(t, "socket-message.json")
		change(&e)
		answer, err := w.handle(ctx, e)
		var frame struct {
			Frame string `json:"frame"`
		}
		if err != nil || answer.StatusCode != 200 || json.Unmarshal([]byte(answer.Body), &frame) != nil || !slices.Contains([]string{"event", "error"}, frame.Frame) {
			t.Errorf("%s: %d %s, %v: want a frame as the answer", name, answer.StatusCode, answer.Body, err)
		}
	}
	if answer, err := w.handle(ctx, w.event(t, "socket-disconnect.json")); err != nil || answer.StatusCode != 200 || w.rows(t) != 0 {
		t.Errorf("disconnect: %d, %v, %d rows", answer.StatusCode, err, w.rows(t))
	}
}

// An answer after which the socket closes goes out as the last frame of the close, and not as the body.
func TestSocketClosesAfterTheLastFrame(t *testing.T) {
	w := newSocketWorld(t)
	w.connect(t)
	e := w.event(t, "socket-message.json")
	e.Body = `{"frame":"hello","protocol":{"min":2,"max":3},"client":{"name":"x","version":"1"}}`
	answer, err := w.handle(context.Background(), e)
	if err != nil || answer.StatusCode != 200 || answer.Body != "" {
		t.Errorf("%d %q, %v: want no body", answer.StatusCode, answer.Body, err)
	}
	// covers: HEL-3
	if len(w.push.calls) != 1 || !strings.Contains(w.push.calls[0], `"close","`+aConnection+`",1002`) || !strings.Contains(w.push.calls[0], "unsupported_protocol") {
		t.Errorf("pushed %q", w.push.calls)
	}
}

// What is nobody's fault is no answer: the socket is closed, even when the function's time is up.
func TestSocketClosesOnAFault(t *testing.T) {
	for name, broken := range map[string]func(*socketWorld, *events.APIGatewayWebsocketProxyRequest){
		"no table":      func(w *socketWorld, _ *events.APIGatewayWebsocketProxyRequest) { _ = w.table.Close() },
		"no authorizer": func(_ *socketWorld, e *events.APIGatewayWebsocketProxyRequest) { e.RequestContext.Authorizer = nil },
		"not base64":    func(_ *socketWorld, e *events.APIGatewayWebsocketProxyRequest) { e.IsBase64Encoded = true },
	} {
		w := newSocketWorld(t)
		w.connect(t)
		e := w.event(t, "socket-message.json")
		broken(w, &e)
		answer, err := w.handle(context.Background(), e)
		if err != nil || answer.StatusCode != 500 || answer.Body != "" {
			t.Errorf("%s: %d %q, %v", name, answer.StatusCode, answer.Body, err)
		}
		if diff := cmp.Diff([]string{`["close","` + aConnection + `",1013,""]`}, w.push.calls); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSocketRefusesWhatIsNone(t *testing.T) {
	w := newSocketWorld(t)
	nobody := w.event(t, "socket-connect.json")
	nobody.RequestContext.Authorizer = map[string]any{"principalId": w.harness}
	if answer, err := w.handle(context.Background(), nobody); err != nil || answer.StatusCode != 500 {
		t.Errorf("a $connect without the authorizer: %d, %v", answer.StatusCode, err)
	}
	odd := w.event(t, "socket-connect.json")
	odd.RequestContext.EventType = "PING"
	if _, err := w.handle(context.Background(), odd); err == nil {
		t.Error("an event of no kind was served")
	}
	if w.rows(t) != 0 {
		t.Error("a connection was written")
	}
}

func TestTimeIsKeptBack(t *testing.T) {
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(time.Hour))
	defer cancel()
	outer, _ := ctx.Deadline()
	inner, stop := keepBack(ctx, time.Minute)
	defer stop()
	if deadline, ok := inner.Deadline(); !ok || outer.Sub(deadline) != time.Minute {
		t.Errorf("deadline %v of %v", deadline, outer)
	}
	if _, ok := func() (time.Time, bool) {
		c, stop := keepBack(context.Background(), 1)
		defer stop()
		return c.Deadline()
	}(); ok {
		t.Error("a deadline out of nothing")
	}
}
