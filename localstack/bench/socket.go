package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"github.com/chipschat/chips-aws/shared/client"
)

// socket is a client's end that does as little as can be with a frame, so that the server is what is measured.
type socket struct {
	conn *websocket.Conn
	in   bytes.Buffer
	out  []byte
	sent int
	name string
	stop func() bool
}

// dial opens a socket for whoever api is of, and says hello.
func dial(ctx context.Context, api client.API, name string) (*socket, error) {
	ticket, err := api.Ticket(ctx)
	if err != nil {
		return nil, fmt.Errorf("get a ticket: %w", err)
	}
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(api.URL, "http")+"/v1/ws?ticket="+url.QueryEscape(ticket), nil) //nolint:bodyclose // Dial closes it
	if err != nil {
		return nil, fmt.Errorf("open a socket: %w", err)
	}
	conn.SetReadLimit(1 << 20)
	s := &socket{conn: conn, name: name}
	// The socket ends with ctx. To say so to each read and write instead would cost more than they do.
	s.stop = context.AfterFunc(ctx, func() { _ = conn.CloseNow() })
	hello := `{"frame":"hello","protocol":{"min":1,"max":1},"client":{"name":"bench","version":"1"},"accepts":["events"]}`
	if err := s.send([]byte(hello)); err != nil {
		return nil, errors.Join(err, s.close())
	}
	frame, err := s.read()
	if err == nil && !bytes.Contains(frame, []byte(`"type":"hello"`)) {
		err = fmt.Errorf("hello was answered %.200s", frame)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *socket) close() error {
	s.stop()
	return s.conn.CloseNow()
}

func (s *socket) send(frame []byte) error {
	return s.conn.Write(context.Background(), websocket.MessageText, frame)
}

// read answers the next frame, which stands until the next call.
func (s *socket) read() ([]byte, error) {
	_, r, err := s.conn.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	s.in.Reset()
	_, err = io.Copy(&s.in, r)
	return s.in.Bytes(), err
}

// subscribe asks for what comes after a seq; what comes from now on where since is negative.
func (s *socket) subscribe(workspace string, since int64) error {
	frame := `{"frame":"subscribe","workspace_id":"` + workspace + `"`
	if since >= 0 {
		frame += `,"since":` + strconv.FormatInt(since, 10)
	}
	return s.send([]byte(frame + "}"))
}

// frameSize is how large a message is as a frame: that of the peers' messages.
const frameSize = 600

const filler = "The tests of the parser pass again, and what was slow is the second pass over the tokens; I have a change for it that needs a look before it goes in. "

// message is a message in a room as a frame, in the place of b. Its text begins with its key.
func message(key, space string, b []byte) []byte {
	b = append(b[:0], `{"frame":"event","event":{"v":1,"type":"message.post","space_id":"`...)
	b = append(append(append(append(b, space...), `","idempotency_key":"`...), key...), `","text":"`...)
	b = append(append(b, key...), ": "...)
	for len(b) < frameSize-3 {
		b = append(b, filler[:min(len(filler), frameSize-3-len(b))]...)
	}
	return append(b, `"}}`...)
}

// post writes the next message in a room without waiting for its ack. Its key is the socket's name and a number.
func (s *socket) post(space string) (key string, err error) {
	s.sent++
	key = fmt.Sprintf("%s-%06d", s.name, s.sent)
	s.out = message(key, space, s.out)
	return key, s.send(s.out)
}

// acked reads up to the ack of a key, and answers its seq.
func (s *socket) acked(key string) (int64, error) {
	for {
		frame, err := s.read()
		if err != nil {
			return 0, err
		}
		switch {
		case bytes.HasPrefix(frame, []byte(`{"frame":"ack"`)):
			seq, ok := seqIn(frame)
			if !ok || !bytes.Contains(frame, []byte(`"`+key+`"`)) || !bytes.Contains(frame, []byte(`"duplicate":false`)) {
				return 0, fmt.Errorf("%s was answered %s", key, frame)
			}
			return seq, nil
		case bytes.HasPrefix(frame, []byte(`{"frame":"error"`)):
			return 0, fmt.Errorf("%s was answered %s", key, frame)
		}
	}
}

// seqIn is the first seq in a frame. A quote within a JSON string is escaped, so no text can pass for one.
func seqIn(frame []byte) (int64, bool) {
	n, _, ok := cutSeq(frame)
	return n, ok
}

var seqField = []byte(`"seq":`)

// cutSeq is seqIn, and what stands after it.
func cutSeq(frame []byte) (seq int64, rest []byte, ok bool) {
	i := bytes.Index(frame, seqField)
	if i < 0 {
		return 0, nil, false
	}
	rest = frame[i+len(seqField):]
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		seq = seq*10 + int64(rest[n]-'0')
		n++
	}
	return seq, rest[n:], n > 0
}
