package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/chipschat/chips-aws/shared/client"
	"github.com/chipschat/chips-aws/shared/faultproxy"
	"github.com/chipschat/chips-aws/shared/protocol"
)

// town is who takes part: Arjun, who owns the workspace, and Priya; the harnesses Scout and Ledger; and a room with all of them.
type town struct {
	stack  *stack
	api    string // the emulator's URL
	web    *http.Client
	around *http.Client // as one that does not come by the edge
	out    io.Writer
	faults *faultproxy.Proxy

	workspace     client.Workspace
	priya         client.Person
	scout, ledger client.Harness
	room          string
	// asArjun and asPriya sign as their devices; Chips keeps no keys of people unless it is told to.
	asArjun, asPriya client.Credential

	// spoilt is a workspace whose log cannot be read.
	spoilt string

	// left says whether a connection that is to be swept still stands.
	left func() (bool, error)

	// listeners are the sockets, by who listens.
	listeners map[string]*listener
}

// step is one thing that is done and checked.
type step struct {
	what string
	do   func(context.Context) error
	// faults says that it needs them in front of the emulator.
	faults bool
}

func (t *town) steps() []step {
	return []step{
		{what: "a workspace by the admin token, which no other token makes; people with devices that sign, harnesses, a room", do: t.settle},
		{what: "a ticket opens one socket, and nothing else does, nor anything around the edge", do: t.tickets},
		{what: "five sockets say hello and subscribe", do: t.connect},
		{what: "a write is acked, a duplicate too, and reaches every socket once; message.new and message.overheard", do: t.write},
		{what: "an agent answers, and a refusal says why", do: t.answer},
		{what: "300 more events; two sockets at once replay the log, while more is written, and go live: each event once, in order", do: t.replay},
		{what: "a connection that answers 410 is forgotten, and the others are sent the event", do: t.gone},
		{what: "the sweep removes a connection that is gone", do: t.sweep},
		{what: "a copy that nobody makes is missed when it is due, by the queue", do: t.missedFork},
		{what: "a deadline too far for the queue is a schedule, made once, which rings and is gone", do: t.missedAgent},
		{what: "the stream's records again, twice and in any order: nobody is sent anything twice", do: t.again},
		{what: "a record that cannot be read goes to the failure queue while the next one is delivered", do: t.poison},
		{what: "a token taken back closes its socket", do: t.revoke},
		{what: "no function logged another fault, a secret or what was said", do: t.logs},
		{what: "each fault of a commit's put, the connection lost between claim and commit too: acked and in the log once", do: t.puts, faults: true},
		{what: "429, 410, 500 and no answer in the middle of a fan-out: each socket has every event once", do: t.pushes, faults: true},
		{what: "writes while a tenth of all calls fail: what is acked is in the log, once, and reaches everybody", do: t.storm, faults: true},
		{what: "in all of that no function panicked, or logged a secret or what was said", do: t.secrets, faults: true},
		{what: "the schedule's own sweep has removed another connection meanwhile", do: t.swept},
	}
}

// talk does each step in its order.
func talk(ctx context.Context, s *stack, e *emulator, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &town{
		stack: s, api: e.url, out: out, faults: e.faults,
		web:    &http.Client{Transport: edge{socket: e.socket(s.ids), http: e.http(s.ids), secret: s.edgeSecret}},
		around: &http.Client{Transport: edge{socket: e.socket(s.ids), http: e.http(s.ids), secret: "somebody's guess"}},
	}
	for _, step := range t.steps() {
		if step.faults && t.faults == nil {
			fmt.Fprintf(out, "     left out: %s\n", step.what)
			continue
		}
		start := time.Now()
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		took(out, step.what, start)
	}
	return nil
}

// as is the HTTP side under a credential, nil for none.
func (t *town) as(who client.Credential) client.API {
	return client.API{URL: host, Credential: who, HTTP: t.web}
}

func (t *town) arjun() client.API { return t.as(t.asArjun) }

// refused checks that an error is the refusal with a code.
func refused(err error, code protocol.Code) error {
	refusal, ok := errors.AsType[*protocol.Error](err)
	switch {
	case err == nil:
		return fmt.Errorf("it is done, and not refused with %s", code)
	case !ok || refusal.Code != code:
		return fmt.Errorf("not %s: %w", code, err)
	}
	return nil
}

func (t *town) settle(ctx context.Context) (err error) {
	if err := t.as(nil).Do(ctx, http.MethodGet, "/v1/health", nil, nil); err != nil {
		return err
	}
	_, err = t.as(client.Bearer("adm_somebody")).CreateWorkspace(ctx, "Acme", "Arjun")
	if err := refused(err, protocol.Unauthorized); err != nil {
		return err
	}
	if t.workspace, err = t.as(client.Bearer(t.stack.adminToken)).CreateWorkspace(ctx, "Acme", "Arjun"); err != nil {
		return err
	}
	if t.asArjun, err = t.pair(ctx, t.workspace.PairingCode); err != nil {
		return err
	}
	if t.priya, err = t.arjun().AddPerson(ctx, "Priya", protocol.Member); err != nil {
		return err
	}
	if t.asPriya, err = t.pair(ctx, t.priya.PairingCode); err != nil {
		return err
	}
	if t.scout, err = t.arjun().AddHarness(ctx, "Scout", "agents", "forks", "new_agents"); err != nil {
		return err
	}
	if t.ledger, err = t.arjun().AddHarness(ctx, "Ledger"); err != nil {
		return err
	}
	if t.room, err = t.arjun().OpenRoom(ctx, "Room", t.priya.PersonID); err != nil {
		return err
	}
	for _, agent := range []string{t.scout.AgentID, t.ledger.AgentID} {
		if err := t.arjun().Do(ctx, http.MethodPost, "/v1/agents/"+agent+"/move", map[string]string{"space_id": t.room}, nil); err != nil {
			return err
		}
	}
	return nil
}

// tickets opens a socket by hand.
func (t *town) tickets(ctx context.Context) error {
	ticket, err := t.arjun().Ticket(ctx)
	if err != nil {
		return err
	}
	dial := func(by *http.Client, query string) error {
		conn, _, err := websocket.Dial(ctx, "ws"+host[len("http"):]+"/v1/ws"+query, &websocket.DialOptions{HTTPClient: by}) //nolint:bodyclose // Dial closes it
		if err == nil {
			_ = conn.Close(websocket.StatusNormalClosure, "")
		}
		return err
	}
	if dial(t.around, "?ticket="+ticket) == nil {
		return errors.New("around the edge a socket opens")
	}
	_, err = client.API{URL: host, Credential: t.asArjun, HTTP: t.around}.Ticket(ctx)
	if err := refused(err, protocol.Forbidden); err != nil {
		return fmt.Errorf("around the edge: %w", err)
	}
	if err := dial(t.web, "?ticket="+ticket); err != nil {
		return err
	}
	for _, query := range []string{"?ticket=" + ticket, "?ticket=tkt_none", ""} {
		if dial(t.web, query) == nil {
			return fmt.Errorf("%q opens a socket", query)
		}
	}
	return nil
}

// connect opens the sockets side by side.
func (t *town) connect(ctx context.Context) error {
	t.listeners = map[string]*listener{}
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	for name, who := range map[string]client.Credential{
		"Arjun": t.asArjun, "Arjun again": t.asArjun, "Priya": t.asPriya,
		"Scout": client.Bearer(t.scout.Token), "Ledger": client.Bearer(t.ledger.Token),
	} {
		all.Go(func() {
			l, err := listen(ctx, t.web, name, who, nil)
			mu.Lock()
			defer mu.Unlock()
			t.listeners[name], errs = l, append(errs, err)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// say writes a message over a socket.
func (t *town) say(ctx context.Context, from, key, text string, to ...string) (protocol.Ack, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.listeners[from].Post(ctx, client.Draft{Key: key, SpaceID: t.room, Data: &protocol.MessagePost{Text: text, To: protocol.To{IDs: to}}})
}

// all waits until each of the sockets was sent an event, and checks what it came as: by who listens, else as written.
func (t *town) all(ctx context.Context, seq int64, types map[string]string, written string) error {
	for name, l := range t.listeners {
		e, err := l.await(ctx, seq)
		if err != nil {
			return err
		}
		want := types[name]
		if want == "" {
			want = written
		}
		if e.Type != want {
			return fmt.Errorf("%s was sent %d as %s, want %s", name, seq, e.Type, want)
		}
	}
	return nil
}

const theQuestion = "Scout, what is new?"

func (t *town) write(ctx context.Context) error {
	first, err := t.say(ctx, "Priya", "one", theQuestion, t.scout.AgentID)
	if err != nil {
		return err
	}
	again, err := t.say(ctx, "Priya", "one", theQuestion, t.scout.AgentID)
	if err != nil {
		return err
	}
	if first.Duplicate || !again.Duplicate || first.Seq != again.Seq {
		return fmt.Errorf("acked %+v, then %+v", first, again)
	}
	if err := t.all(ctx, first.Seq, map[string]string{"Scout": "message.new", "Ledger": "message.overheard"}, "message.post"); err != nil {
		return err
	}
	next, err := t.say(ctx, "Arjun", "two", "And all of you?", t.scout.AgentID, t.ledger.AgentID)
	if err != nil {
		return err
	}
	if err := t.all(ctx, next.Seq, map[string]string{"Scout": "message.new", "Ledger": "message.new"}, "message.post"); err != nil {
		return err
	}
	for name, l := range t.listeners {
		if n := l.Repeats(); n != 0 {
			return fmt.Errorf("%s was sent %d events twice", name, n)
		}
	}
	return nil
}

func (t *town) answer(ctx context.Context) error {
	ack, err := t.say(ctx, "Scout", "three", "Nothing.")
	if err != nil {
		return err
	}
	if err := t.all(ctx, ack.Seq, map[string]string{"Ledger": "message.overheard"}, "message.post"); err != nil {
		return err
	}
	_, err = t.listeners["Scout"].Post(ctx, client.Draft{Key: "four", SpaceID: t.room, Data: &protocol.SpaceRenamed{Title: "Mine"}})
	return refused(err, protocol.Forbidden)
}
