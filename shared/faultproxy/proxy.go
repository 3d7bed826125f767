package faultproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Fault is what happens to one call.
type Fault string

// The faults. After Refused, Broken, Dropped and Gone nothing was done; after the others the call was, or will be.
const (
	None        Fault = ""
	Refused     Fault = "refused"      // throttled: a ThrottlingException, or 429 of a connection
	Broken      Fault = "broken"       // 500
	Dropped     Fault = "dropped"      // the connection ends before the call arrives
	Gone        Fault = "gone"         // 410, of a connection
	BrokenReply Fault = "broken reply" // 500 though it was done
	LostReply   Fault = "lost reply"   // the connection ends before the answer
	HalfReply   Fault = "half a reply" // the connection ends within the answer
	Hung        Fault = "hung"         // done, and not answered until the caller gives up
	Late        Fault = "late"         // the connection ends, and the call is done after a later one, or by Release
)

// Call is what a rule goes by.
type Call struct {
	// Operation is the API's name of what is called, such as PutItem or PostToConnection; "" where the proxy does not know it.
	Operation string
	// Key is the sort key of the item that is read or written, or the id of the connection.
	Key string
}

// Proxy is an http.Handler that forwards to one URL. It is safe for concurrent use.
type Proxy struct {
	// Hang is how long a hung call hangs before its connection ends, if its caller does not give up before; zero is for ever.
	Hang time.Duration

	target *url.URL

	mu   sync.Mutex
	rule func(Call) Fault
	late []func()
	seen map[Fault]int
}

// New makes a proxy that forwards to target, and fails nothing until a rule is set.
func New(target *url.URL) *Proxy {
	return &Proxy{target: target, seen: map[Fault]int{}}
}

// Set has rule say what happens to each call from now on; nil is nothing. It is called for one call at a time.
func (p *Proxy) Set(rule func(Call) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// Release does what is still late.
func (p *Proxy) Release() {
	p.mu.Lock()
	late := p.late
	p.late = nil
	p.mu.Unlock()
	for _, do := range late {
		do()
	}
}

// Seen is how often each fault happened.
func (p *Proxy) Seen() map[Fault]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[Fault]int{}
	for f, n := range p.seen {
		seen[f] = n
	}
	return seen
}

func (p *Proxy) fault(c Call) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rule == nil {
		return None
	}
	f := p.rule(c)
	if f != None {
		p.seen[f]++
	}
	return f
}

// ServeHTTP forwards a call, or does to it what the rule says.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	call := callOf(r, body)
	switch fault := p.fault(call); fault {
	case Refused, Broken, Gone:
		refuse(w, call, fault)
	case Dropped:
		panic(http.ErrAbortHandler)
	case Late:
		p.mu.Lock()
		later := r.Clone(context.WithoutCancel(r.Context()))
		p.late = append(p.late, func() { _, _ = p.forward(later, body) })
		p.mu.Unlock()
		panic(http.ErrAbortHandler)
	default:
		answer, err := p.forward(r, body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if fault == None {
			p.Release()
		}
		if fault == Hung {
			p.hang(r.Context())
		}
		answer.send(w, call, fault)
	}
}

func (p *Proxy) hang(ctx context.Context) {
	if p.Hang > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.Hang)
		defer cancel()
	}
	<-ctx.Done()
}

// answer is what the target answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// forward does the call, also when its caller is gone meanwhile: what arrived is done.
func (p *Proxy) forward(r *http.Request, body []byte) (answer, error) {
	out := r.Clone(context.WithoutCancel(r.Context()))
	out.URL.Scheme, out.URL.Host, out.RequestURI = p.target.Scheme, p.target.Host, ""
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.ContentLength = int64(len(body))
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	a.body, err = io.ReadAll(resp.Body)
	return a, err
}

// send answers, as far as the fault lets it.
func (a answer) send(w http.ResponseWriter, c Call, fault Fault) {
	switch fault {
	case LostReply, Hung:
		panic(http.ErrAbortHandler)
	case BrokenReply:
		refuse(w, c, fault)
		return
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	if fault != HalfReply {
		_, _ = w.Write(a.body)
		return
	}
	_, _ = w.Write(a.body[:len(a.body)/2])
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func refuse(w http.ResponseWriter, c Call, fault Fault) {
	status, name := http.StatusInternalServerError, "InternalServerError"
	connection := strings.HasSuffix(c.Operation, "Connection")
	switch {
	case fault == Gone:
		status, name = http.StatusGone, "GoneException"
	case fault == Refused && connection:
		status, name = http.StatusTooManyRequests, "LimitExceededException"
	case fault == Refused:
		status, name = http.StatusBadRequest, "ThrottlingException"
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("x-amzn-ErrorType", name)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"__type":"`+name+`","message":"made up"}`)
}

// callOf reads what a call is about. It looks at the path first, since a management call has no target.
func callOf(r *http.Request, body []byte) Call {
	if _, id, ok := strings.Cut(r.URL.Path, "/@connections/"); ok {
		return Call{Operation: map[string]string{
			http.MethodPost: "PostToConnection", http.MethodDelete: "DeleteConnection", http.MethodGet: "GetConnection",
		}[r.Method], Key: id}
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	type key struct {
		SK struct{ S string } `json:"sk"`
	}
	var in struct{ Item, Key key }
	_ = json.Unmarshal(body, &in) // another service's body has no such key
	return Call{Operation: operation, Key: in.Item.SK.S + in.Key.SK.S}
}
