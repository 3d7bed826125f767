package functions_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// The names in events/ that stand for what a deployment makes up.
const (
	eventsWorkspace  = "ws_01JDZ8Y2V5Q6W7R8T9A0B1C2D3"
	eventsHarness    = "hrn_01JDZ8Y4M3N4P5Q6R7S8T9V0W1"
	eventsToken      = "tok_01JDZ8Y5A1B2C3D4E5F6G7H8J9"
	eventsSpace      = "spc_01JDZ8Y6K7M8N9P0Q1R2S3T4V5"
	eventsConnection = "S2b3kcXzFiACIhw="
)

// world is Chips as it is deployed: every main as a process, over an emulated table.
type world struct {
	*cloud
	t    *testing.T
	http *function
	// key is the owner's.
	key string
	// ids takes the names in events/ to the ones made here.
	ids []string
}

// request sends one through the http function and reads the answer's body into out; it answers the status.
func (w *world) request(method, path, token string, in, out any) int {
	w.t.Helper()
	path, query, _ := strings.Cut(path, "?")
	e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: path, RawQueryString: query, Headers: map[string]string{"authorization": "Bearer " + token, "x-chips-edge": edgeSecret}}
	e.RequestContext.HTTP.Method = method
	e.RequestContext.RequestID = "req="
	if in != nil {
		body, _ := json.Marshal(in)
		e.Body = string(body)
		e.Headers["content-type"] = "application/json"
	}
	event, _ := json.Marshal(e)
	return w.answered(w.http.invoke(event), out)
}

func (w *world) answered(a answer, out any) int {
	w.t.Helper()
	var res events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(a.body, &res); a.failed || err != nil {
		w.t.Fatalf("the function answered %s", a.body)
	}
	if err := json.Unmarshal([]byte(res.Body), out); err != nil {
		w.t.Fatalf("%d %q: %v", res.StatusCode, res.Body, err)
	}
	return res.StatusCode
}

// TestMainsTogether takes the built mains through a conversation: events of events/ in, answers and pushes out, and no call of AWS
// that the template does not allow.
func TestMainsTogether(t *testing.T) {
	tp := readTemplate(t)
	c := newCloud(t)
	createTable(t, c.url, tableName)
	createBucket(t, c.url, bucketName)
	w := &world{cloud: c, t: t, http: c.start(t, tp, "http", "CHIPS_PERSON_KEYS=1")}

	var health struct{ Status string }
	if status := w.request("GET", "/v1/health", "", nil, &health); status != http.StatusOK || health.Status != "ok" {
		t.Fatalf("health: %d %+v", status, health)
	}
	var opened struct {
		Workspace string `json:"workspace_id"`
		Key       string `json:"key"`
	}
	w.request("POST", "/v1/workspaces", adminToken, map[string]any{"name": "Acme", "owner": map[string]any{"name": "Arjun"}}, &opened)
	var made struct {
		Harness string `json:"harness_id"`
		Token   string `json:"token"`
		TokenID string `json:"token_id"`
		Space   string `json:"space_id"`
	}
	if status := w.request("POST", "/v1/harnesses", opened.Key, map[string]any{"display_name": "Scout"}, &made); status/100 != 2 {
		t.Fatalf("a harness: %d %+v, of %+v", status, made, opened)
	}
	w.ids = []string{
		eventsWorkspace, opened.Workspace, eventsHarness, made.Harness, eventsToken, made.TokenID, eventsSpace, made.Space, "TOKEN", made.Token,
	}

	w.key = opened.Key

	w.isWalkedAroundByNobody(tp)
	w.opensSocket(tp)
	w.refusesWhatWasTakenBack(tp)
	w.postsAndIsSentIt(tp)
	w.keepsFiles(tp)
	w.catchesUp(tp)
	w.doesWhatIsDue(tp)
	w.freesFiles(tp)
	w.sweepsSockets(tp)
	w.saysWhoIsAway(tp)
	w.keepsToItsRights(tp)
}

// isWalkedAroundByNobody comes to both doors by the edge, as it is and as it was, and by API Gateway's own hosts.
func (w *world) isWalkedAroundByNobody(tp template) {
	authorize := w.start(w.t, tp, "authorize")
	for secret, in := range map[string]bool{edgeSecret: true, edgeBefore: true, "": false, "a guess of the secret": false} {
		replace := append([]string{"EDGE", secret, "TOKEN", w.ids[9]}, w.ids...)
		if a := authorize.invoke(payload(w.t, "authorize.json", replace...)); a.failed == in {
			w.t.Errorf("an upgrade that says %q of the edge: %s", secret, a.body)
		}
		var res events.APIGatewayV2HTTPResponse
		a := w.http.invoke(payload(w.t, "http.json", append(replace, "POST", "GET", "/v1/events", "/v1/health")...))
		if err := json.Unmarshal(a.body, &res); a.failed || err != nil || (res.StatusCode == http.StatusForbidden) == in {
			w.t.Errorf("a request that says %q of the edge: %s", secret, a.body)
		}
	}
}

// opensSocket goes through the authorizer, $connect and hello.
func (w *world) opensSocket(tp template) {
	authorize := w.start(w.t, tp, "authorize")
	// covers: TKT-3
	allowed := authorize.invoke(payload(w.t, "authorize.json", w.ids...))
	var policy events.APIGatewayCustomAuthorizerResponse
	if err := json.Unmarshal(allowed.body, &policy); allowed.failed || err != nil || policy.Context["id"] != w.ids[3] {
		w.t.Fatalf("authorize: %s", allowed.body)
	}
	var refusal struct {
		ErrorMessage string `json:"errorMessage"`
	}
	refused := authorize.invoke(payload(w.t, "authorize.json"))
	if err := json.Unmarshal(refused.body, &refusal); !refused.failed || err != nil || refusal.ErrorMessage != "Unauthorized" {
		w.t.Errorf("a wrong token: %s", refused.body)
	}
	if log := authorize.log.String(); strings.Contains(log, `"level":"ERROR"`) || strings.Contains(log, "TOKEN") {
		w.t.Errorf("a refusal is logged as\n%s", log)
	}
	var ticket struct{ Ticket string }
	// covers: TKT-4, TKT-5
	if w.request("POST", "/v1/socket-tickets", w.ids[9], nil, &ticket); ticket.Ticket == "" {
		w.t.Error("no ticket")
	}
	byTicket := payload(w.t, "authorize-ticket.json", append([]string{"TICKET", ticket.Ticket}, w.ids...)...)
	if first, second := authorize.invoke(byTicket), authorize.invoke(byTicket); first.failed || !second.failed {
		w.t.Errorf("by a ticket: %s, then %s", first.body, second.body)
	}
}

// refusesWhatWasTakenBack takes a token back after the authorizer let it in and before $connect: there is no socket, and no row of one.
func (w *world) refusesWhatWasTakenBack(tp template) {
	var second struct {
		TokenID string `json:"token_id"`
	}
	tokens := "/v1/harnesses/" + w.ids[3] + "/tokens"
	if status := w.request("POST", tokens, w.key, nil, &second); status/100 != 2 {
		w.t.Fatalf("another token: %d", status)
	}
	if status := w.request("DELETE", tokens+"/"+second.TokenID, w.key, nil, &struct{}{}); status/100 != 2 {
		w.t.Fatalf("taking it back: %d", status)
	}
	socket := w.start(w.t, tp, "socket")
	late := payload(w.t, "socket-connect.json", append([]string{eventsToken, second.TokenID}, w.ids...)...)
	if a := socket.invoke(late); a.failed || !strings.Contains(string(a.body), `"statusCode":401`) {
		w.t.Errorf("a credential that was taken back connects: %s", a.body)
	}
}

// frame sends one as a message of the socket and answers what it is answered.
func (w *world) frame(socket *function, frame any) string {
	w.t.Helper()
	var e map[string]any
	if err := json.Unmarshal(payload(w.t, "socket-message.json", w.ids...), &e); err != nil {
		w.t.Fatal(err)
	}
	if frame != nil {
		body, _ := json.Marshal(frame)
		e["body"] = string(body)
	}
	event, _ := json.Marshal(e)
	a := socket.invoke(event)
	var res events.APIGatewayProxyResponse
	if err := json.Unmarshal(a.body, &res); a.failed || err != nil || res.StatusCode != http.StatusOK {
		w.t.Fatalf("a frame was answered %s", a.body)
	}
	return res.Body
}

// postsAndIsSentIt says hello, subscribes, writes over both ways, and is pushed what the stream's records bring.
func (w *world) postsAndIsSentIt(tp template) {
	socket := w.start(w.t, tp, "socket")
	if a := socket.invoke(payload(w.t, "socket-connect.json", w.ids...)); a.failed || !strings.Contains(string(a.body), `"statusCode":200`) {
		w.t.Fatalf("connect: %s", a.body)
	}
	// covers: HEL-4, HEL-5
	if hello := w.frame(socket, nil); !strings.Contains(hello, `"type":"hello"`) || !strings.Contains(hello, w.ids[3]) {
		w.t.Errorf("hello was answered %s", hello)
	}
	if answer := w.frame(socket, map[string]any{"frame": "subscribe", "workspace_id": w.ids[1]}); answer != "" {
		w.t.Errorf("subscribe was answered %s", answer)
	}
	var ack struct{ Seq int64 }
	if status := w.answered(w.http.invoke(payload(w.t, "http.json", w.ids...)), &ack); status != http.StatusOK || ack.Seq == 0 {
		w.t.Fatalf("a post over HTTP: %d, seq %d", status, ack.Seq)
	}
	// covers: WRT-5
	written := w.frame(socket, map[string]any{"frame": "event", "event": map[string]any{
		"type": "message.post", "space_id": w.ids[7], "text": "And a good evening", "idempotency_key": "example-2",
	}})
	if want := fmt.Sprintf(`"seq":%d`, ack.Seq+1); !strings.Contains(written, `"frame":"ack"`) || !strings.Contains(written, want) {
		w.t.Errorf("a post over the socket was answered %s, want %s", written, want)
	}
	if early := w.take(); len(early) != 0 {
		w.t.Errorf("pushed before fan-out: %q", early)
	}

	fanout := w.start(w.t, tp, "fanout")
	stream := streamOf(w.t, w.url, w.ids[1])
	for range 2 { // at least once: the second time there is nothing to do
		if a := fanout.invoke(stream); a.failed || string(a.body) != `{"batchItemFailures":[]}` {
			w.t.Fatalf("fanout: %s", a.body)
		}
	}
	if a := fanout.invoke(payload(w.t, "fanout-ring.json", w.ids...)); a.failed || string(a.body) != `{"batchItemFailures":[]}` {
		w.t.Errorf("fanout, rung again: %s", a.body)
	}
	pushes := w.take()
	if len(pushes) != 2 || !strings.HasPrefix(pushes[0], "POST "+eventsConnection+" ") || !strings.Contains(pushes[0], "Good morning") || !strings.Contains(pushes[1], "good evening") {
		w.t.Errorf("pushed %q: want both posts, once, in order", pushes)
	}
	counts(w.t, fanout, 1, map[string]float64{"Deliveries": 2, "PushesGone": 0, "PushesThrottled": 0, "DeliveryLag": -1}) // one of three did something
	if !strings.Contains(fanout.log.String(), `"workspace_id":"`+w.ids[1]+`","Deliveries"`) {
		w.t.Errorf("the slowest workspace is not named in %s", fanout.log)
	}
	counts(w.t, socket, 1, map[string]float64{"Appends": 1, "Conflicts": 0}) // $connect, hello and subscribe count nothing
	w.leaves(socket)
}

// leaves disconnects, after which nothing is pushed.
func (w *world) leaves(socket *function) {
	if a := socket.invoke(payload(w.t, "socket-disconnect.json", w.ids...)); a.failed {
		w.t.Errorf("disconnect: %s", a.body)
	}
}

// catchesUp subscribes from the start: a short log within the frame, a long one through the replay function.
func (w *world) catchesUp(tp template) {
	socket := w.start(w.t, tp, "socket")
	connect := func() {
		socket.invoke(payload(w.t, "socket-connect.json", w.ids...))
		w.frame(socket, nil)
		w.frame(socket, map[string]any{"frame": "subscribe", "workspace_id": w.ids[1], "since": 0})
	}
	connect()
	if pushes := w.take(); len(w.invoked) != 0 || len(pushes) != 1 || !strings.Contains(pushes[0], `"frame":"events"`) {
		w.t.Errorf("a short replay: invoked %q, pushed %q", w.invoked, pushes)
	}
	w.leaves(socket)
	for i := range 110 {
		var ack struct{ Seq int64 }
		in := map[string]any{"type": "message.post", "space_id": w.ids[7], "text": fmt.Sprint("Line ", i), "idempotency_key": fmt.Sprint("line-", i)}
		if status := w.request("POST", "/v1/events", w.ids[9], in, &ack); status != http.StatusOK {
			w.t.Fatalf("post %d: %d", i, status)
		}
	}
	connect()
	if len(w.invoked) != 1 || len(w.take()) != 0 {
		w.t.Fatalf("a long replay: invoked %q", w.invoked)
	}
	replay := w.start(w.t, tp, "replay")
	if a := replay.invoke([]byte(w.invoked[0])); a.failed {
		w.t.Fatalf("replay: %s", a.body)
	}
	counts(w.t, replay, 1, map[string]float64{"Replays": 1})
	if all := strings.Join(w.take(), "\n"); strings.Count(all, "Line ") != 110 || !strings.Contains(all, "Good morning") {
		w.t.Errorf("the replay pushed %d of 110 lines: %.2000s", strings.Count(all, "Line "), all)
	}
	// What the stream has of all that was brought by the replay: live now, and behind nothing.
	if a := w.start(w.t, tp, "fanout").invoke(streamOf(w.t, w.url, w.ids[1])); a.failed || len(w.take()) != 0 {
		w.t.Errorf("fanout after a replay: %s", a.body)
	}
	for _, again := range [][]byte{[]byte(w.invoked[0]), payload(w.t, "replay.json", w.ids...)} { // Lambda may invoke twice, and late
		if a := replay.invoke(again); a.failed || len(w.take()) != 0 {
			w.t.Errorf("a replay that is nobody's: %s", a.body)
		}
	}
}

// keepsToItsRights compares what each function called with what its statements allow.
func (w *world) keepsToItsRights(tp template) {
	for name, f := range tp.functions(w.t) {
		var allowed []string
		for _, s := range statements(f) {
			for _, action := range list(at(s, "Action")) {
				for _, resource := range list(at(s, "Resource")) {
					for _, rows := range rowsAllowed(s) {
						allowed = append(allowed, strings.TrimSpace(fmt.Sprint(action, " ", short(resource), " ", rows)))
					}
				}
			}
		}
		w.mu.Lock()
		for _, call := range w.used[name] {
			anyRow := strings.Fields(call)[:2]
			if !slices.Contains(allowed, call) && !slices.Contains(allowed, strings.Join(anyRow, " ")) {
				w.t.Errorf("%s calls %s, which the template does not allow (%q)", name, call, allowed)
			}
		}
		if len(w.used[name]) == 0 {
			w.t.Errorf("%s called nothing: it was not tried", name)
		}
		w.mu.Unlock()
	}
}

// short is a resource of a statement in the words of cloud.used.
func short(resource any) string {
	s, _ := at(resource, "Fn::Sub").(string)
	if a, ok := at(resource, "Fn::GetAtt").(string); ok {
		s = "${" + a + "}"
	}
	switch {
	case strings.Contains(s, "@connections"):
		return strings.Split(s, "/")[2]
	case strings.HasPrefix(s, "${Table.Arn}"):
		return "table" + strings.TrimPrefix(s, "${Table.Arn}")
	case strings.HasSuffix(s, "Queue.Arn}"):
		return strings.TrimSuffix(strings.TrimPrefix(s, "${"), ".Arn}")
	case strings.HasSuffix(s, ":schedule/${ScheduleGroup}/*"):
		return "schedule"
	case strings.HasSuffix(s, "-replay"):
		return "replay"
	case strings.Contains(s, ":ssm:"):
		_, name, _ := strings.Cut(s, ":parameter")
		return "parameter" + strings.NewReplacer("${AdminTokenParameter}", "/chips/admin-token", "${AWS::StackName}", "chips").Replace(name)
	case strings.HasPrefix(s, "${Files.Arn}"):
		return "bucket" + strings.TrimPrefix(s, "${Files.Arn}")
	}
	return s
}
