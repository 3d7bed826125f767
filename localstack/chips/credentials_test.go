package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/chipschat/chips-aws/shared/auth"
	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// device pairs a device with a code and is the person by its signature.
func (w *world) device(code, person string) (p *party, id string) {
	w.t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	nobody := &party{API: client.API{URL: w.url}, t: w.t, w: w}
	made := nobody.must(http.MethodPost, "/v1/devices", J{"pairing_code": code, "public_key": base64.RawURLEncoding.EncodeToString(public), "kind": "phone"})
	if str(made, "person_id") != person || str(made, "workspace", "id") != w.workspace.WorkspaceID {
		w.t.Errorf("paired as %v", made)
	}
	id = str(made, "device_id")
	p = &party{t: w.t, w: w, id: person, API: client.API{URL: w.url, Credential: func(r *http.Request, body []byte) error {
		return auth.Sign(r, body, id, private, time.Now(), rand.Text())
	}}}
	return p, id
}

// upgrade opens a socket by a ticket of the party's.
func (p *party) upgrade(more string) *stream {
	p.t.Helper()
	ticket, err := p.Ticket(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	s, status := p.w.dial("?ticket="+ticket, nil)
	if s == nil {
		p.t.Fatalf("refused with %d", status)
	}
	return p.greet(s, more)
}

// A person's device signs for a ticket and opens the one socket there is for everybody; what it signed is good once, and only as signed.
//
// covers: TKT-1, TKT-4, TKT-5, TKT-8
func TestADeviceGetsOn(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	vera := c.owner.must(http.MethodPost, "/v1/people", J{"name": "Vera", "role": "member"})
	phone, _ := c.device(str(vera, "pairing_code"), str(vera, "person_id"))
	for _, p := range []*party{phone, c.scouts} {
		made := p.must(http.MethodPost, "/v1/socket-tickets", nil)
		if str(made, "ticket") == "" || number(made, "expires_in") != 30 {
			t.Errorf("a ticket is %v", made)
		}
	}
	s := phone.upgrade("")
	if hello := read(t, s.hello); str(hello, "workspace_id") != c.workspace.WorkspaceID || hello["harness"] != nil {
		t.Errorf("hello is %v", hello)
	}
	room := str(s.write(phone.event("space.opened", J{"title": "Hers"})), "space_id")
	s.subscribe(`,"since":0`)
	said := s.lands("message.post", J{"space_id": room, "text": "by phone"})
	got := s.through(said)
	if e := read(t, got[len(got)-1]); str(e, "actor", "id") != str(vera, "person_id") || str(e, "actor", "kind") != "person" {
		t.Errorf("she is %v", e["actor"])
	}
	phone.must(http.MethodPatch, "/v1/spaces/"+room, J{"title": "By a signed body"})
	if logged := phone.log(0, room); len(logged) != 3 {
		t.Errorf("by a signed query she reads %d events", len(logged))
	}

	// The same signature again, one that is old, one over another body and one of nobody's are worth nothing.
	var once http.Header
	record := *phone
	record.Credential = func(r *http.Request, body []byte) error {
		err := phone.Credential(r, body)
		once = r.Header.Clone()
		return err
	}
	record.must(http.MethodPost, "/v1/socket-tickets", nil)
	for name, tamper := range map[string]func(*http.Request, []byte) error{
		"a replay": func(r *http.Request, _ []byte) error { r.Header = once.Clone(); return nil },
		"another body": func(r *http.Request, _ []byte) error {
			return phone.Credential(r, []byte(`{"title":"Forged"}`))
		},
		"another path": func(r *http.Request, body []byte) error {
			o, err := http.NewRequest(r.Method, c.url+"/v1/spaces", nil)
			if err == nil {
				err = phone.Credential(o, body)
			}
			r.Header = o.Header
			return err
		},
		"nothing": func(*http.Request, []byte) error { return nil },
	} {
		forged := &party{API: client.API{URL: c.url, Credential: tamper}, t: t, w: c.world}
		forged.fails(protocol.Unauthorized, http.MethodPost, "/v1/socket-tickets", J{"title": "Signed"})
		if name == "a replay" {
			forged.fails(protocol.Unauthorized, http.MethodPost, "/v1/socket-tickets", nil)
		}
	}
}

// A ticket opens one socket, however many try with it at once, whatever page the browser is on, and looking at it costs nothing.
//
// covers: TKT-5, TKT-6
func TestATicketOpensOneSocket(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	ticket := func() string {
		v, err := c.scouts.Ticket(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return "?ticket=" + v
	}
	for range 3 {
		query := ticket()
		var opened, refused atomic.Int64
		var tries sync.WaitGroup
		for range 20 {
			tries.Go(func() {
				conn, resp, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(c.url, "http")+"/v1/ws"+query, nil) //nolint:bodyclose // Dial closes it
				switch {
				case err == nil:
					opened.Add(1)
					_ = conn.CloseNow()
				case resp != nil && resp.StatusCode == http.StatusUnauthorized:
					refused.Add(1)
				}
			})
		}
		tries.Wait()
		if opened.Load() != 1 || refused.Load() != 19 {
			t.Errorf("%d opened, %d were refused", opened.Load(), refused.Load())
		}
	}
	for _, origin := range []string{"https://app.example", "null", "http://127.0.0.1:1"} {
		s, status := c.dial(ticket(), http.Header{"Origin": {origin}})
		if s == nil {
			t.Errorf("from %s it is refused with %d", origin, status)
			continue
		}
		c.scouts.greet(s, "")
	}
	// Looks: no upgrade at all, and one that cannot be.
	query := ticket()
	for _, look := range []string{
		"GET /v1/ws%s HTTP/1.1\r\n", "HEAD /v1/ws%s HTTP/1.1\r\n", "POST /v1/ws%s HTTP/1.1\r\nContent-Length: 0\r\n",
		"GET /v1/ws%s HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 7\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
		"GET /v1/ws%s HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, look+"Host: chips\r\n\r\n", query)
		answer := make([]byte, len("HTTP/1.1 400"))
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := conn.Read(answer); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 4") {
			t.Errorf("%.40q is answered %q, %v", look, answer, err)
		}
		_ = conn.Close()
	}
	s, status := c.dial(query, nil)
	if s == nil {
		t.Fatalf("after the looks it is refused with %d", status)
	}
	if again, status := c.dial(query, nil); again != nil || status != http.StatusUnauthorized {
		t.Errorf("a second time it is answered %d", status)
	}
	if strings.Contains(c.logs.String(), strings.TrimPrefix(query, "?ticket=")) {
		t.Error("the ticket was logged")
	}
}

// What is taken back is over at once: its sockets close, its tickets open none, its requests are refused; everybody else goes on.
//
// covers: TKT-6
func TestWhatIsTakenBackIsOver(t *testing.T) {
	t.Parallel()
	c := newTown(t)
	vera := c.owner.must(http.MethodPost, "/v1/people", J{"name": "Vera", "role": "admin"})
	key := c.party(str(vera, "person_id"), str(vera, "key"))
	phone, device := c.device(str(vera, "pairing_code"), key.id)
	code := str(key.must(http.MethodPost, "/v1/people/"+key.id+"/pairing-codes", nil), "pairing_code")
	tablet, _ := c.device(code, key.id)
	token := c.owner.must(http.MethodPost, "/v1/harnesses/"+c.scouts.id+"/tokens", nil)
	second := c.party(c.scouts.id, str(token, "token"))
	bystanders := []*stream{c.owner.live(""), c.scouts.live(""), c.priya.live("")}
	bot := key.must(http.MethodPost, "/v1/harnesses", J{"display_name": "Bot"})

	for _, x := range []struct {
		name    string
		take    string
		over    []*party
		remains []*party
	}{
		{"a device", "/v1/devices/" + device, []*party{phone}, []*party{tablet, key}},
		{"a token", "/v1/harnesses/" + c.scouts.id + "/tokens/" + str(token, "token_id"), []*party{second}, []*party{c.scouts}},
		{"a person", "/v1/people/" + key.id, []*party{tablet, key}, []*party{c.party(str(bot, "harness_id"), str(bot, "token"))}},
		{"a harness", "/v1/harnesses/" + c.ledger.id, []*party{c.ledger, c.ledger}, nil},
	} {
		var closing, staying []*stream
		var tickets []string
		for _, p := range x.over {
			silent, listening := p.upgrade(""), p.upgrade("")
			listening.subscribe("")
			closing = append(closing, silent, listening)
			ticket, err := p.Ticket(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tickets = append(tickets, ticket)
		}
		for _, p := range x.remains {
			staying = append(staying, p.upgrade(""))
		}
		c.owner.must(http.MethodDelete, x.take, nil)
		for _, s := range closing {
			if code := s.ended(); code != websocket.StatusPolicyViolation {
				t.Errorf("%s: a socket closed with %d", x.name, code)
			}
		}
		for i, p := range x.over {
			p.fails(protocol.Unauthorized, http.MethodGet, "/v1/events", nil)
			p.fails(protocol.Unauthorized, http.MethodPost, "/v1/socket-tickets", nil)
			if s, status := c.dial("?ticket="+tickets[i], nil); s != nil || status != http.StatusUnauthorized {
				t.Errorf("%s: a ticket from before is answered %d", x.name, status)
			}
		}
		for _, s := range staying {
			s.settle()
		}
	}
	end := c.fence()
	for _, s := range bystanders {
		s.through(end)
		s.lands("message.post", J{"space_id": c.room, "text": "still here"})
	}
	if h := c.owner.must(http.MethodGet, "/v1/harnesses/"+str(bot, "harness_id"), nil); str(h, "owner_id") != c.owner.id {
		t.Errorf("the harness of one who was removed is %v's", h["owner_id"])
	}
}
