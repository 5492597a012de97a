package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"sandboxd/internal/jsonrpc"
)

// Filter passes the messages of a client and a server on, and has the client's calls of tools judged.
type Filter struct {
	// Judge returns why a call of a tool is refused; "": it may be made. It is called for one call at a time.
	Judge func(ctx context.Context, tool string, arguments json.RawMessage) (refused string)
	// Client takes the messages of the server, and the answers to refused calls.
	Client io.Writer
	// Opening gets the id of the client's first request, initialize, and is closed at the end of Calls. It has room for
	// one. nil: nobody wants it.
	Opening chan json.RawMessage

	mu       sync.Mutex // of Client
	answered bool       // the server has sent something

	waitingMu sync.Mutex
	waiting   []*call
}

// most is the number of calls that may wait for their judgement.
const most = 1000

// call is a call of a tool that waits for its judgement. ctx ends with it, or when the client cancels the call.
type call struct {
	message
	ctx       context.Context
	cancel    context.CancelFunc
	cancelled bool // by the client
}

// message is one, or the parameters of a call of a tool.
type message = jsonrpc.Message

// maxMessage bounds a client's message, in bytes.
const maxMessage = 64 << 20

// Calls copies the client's messages, one a line, to the server until their end. Calls of tools wait for the judgement
// of earlier calls, other messages for nothing. A call that the client cancels before its judgement is dropped, and a
// call beyond [most] is refused. The server gets each message in the filter's own writing: one a line, each name once.
func (f *Filter) Calls(ctx context.Context, server io.Writer, client io.Reader) error {
	var mu sync.Mutex // of server
	pass := func(m message) error {
		line, err := json.Marshal(m)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		_, err = server.Write(append(line, '\n'))
		return err
	}
	calls, judged := make(chan *call, most), make(chan error, 1)
	go func() {
		var first error
		for c := range calls {
			if err := f.judge(c, pass); first == nil {
				first = err
			}
		}
		judged <- first
	}()
	err := jsonrpc.Lines(client, maxMessage, func(line []byte, err error) error {
		list, unread := messages(line)
		if err = errors.Join(err, unread); err != nil {
			return f.answer([]byte(noJSON))
		}
		for _, m := range list {
			switch m.Text("method") {
			case "initialize":
				select {
				case f.Opening <- m["id"]:
				default: // another one, or nobody wants it
				}
				err = pass(m)
			case "tools/call":
				err = f.enqueue(ctx, calls, m)
			case "notifications/cancelled":
				if !f.cancelled(m) {
					err = pass(m)
				}
			default:
				err = pass(m)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	close(calls)
	if f.Opening != nil {
		close(f.Opening)
	}
	return errors.Join(err, <-judged)
}

// enqueue has a call wait for its judgement, or refuses it where too many wait.
func (f *Filter) enqueue(ctx context.Context, calls chan<- *call, m message) error {
	c := &call{message: m}
	c.ctx, c.cancel = context.WithCancel(ctx)
	f.waitingMu.Lock()
	full := len(f.waiting) >= most
	if !full {
		f.waiting = append(f.waiting, c)
	}
	f.waitingMu.Unlock()
	if full {
		c.cancel()
		return f.refuse(m, fmt.Sprintf("Not run: %d calls of this server's tools wait already. Try later.", most))
	}
	calls <- c // it has room for all that wait
	return nil
}

// cancelled ends the judgement of the call that the client's notification names, and reports whether that call waited.
func (f *Filter) cancelled(m message) (waited bool) {
	params := message{}
	if json.Unmarshal(m["params"], &params) != nil || params["requestId"] == nil {
		return false
	}
	f.waitingMu.Lock()
	defer f.waitingMu.Unlock()
	for _, c := range f.waiting {
		if bytes.Equal(c.message["id"], params["requestId"]) {
			c.cancelled, waited = true, true
			c.cancel()
		}
	}
	return waited
}

// decided ends the wait of a call, and reports whether the client still expects an answer.
func (f *Filter) decided(c *call) bool {
	f.waitingMu.Lock()
	defer f.waitingMu.Unlock()
	c.cancel()
	f.waiting = slices.DeleteFunc(f.waiting, func(x *call) bool { return x == c })
	return !c.cancelled
}

// Answers copies the server's messages to the client until their end.
func (f *Filter) Answers(server io.Reader) error {
	return jsonrpc.Lines(server, 0, func(line []byte, _ error) error {
		f.mu.Lock()
		f.answered = true
		f.mu.Unlock()
		return f.answer(line)
	})
}

// Ended answers the request of that id for a server that ended before it answered any, so that the client's person
// reads why; nil: there is no request.
func (f *Filter) Ended(id json.RawMessage, why string) error {
	f.mu.Lock()
	answered := f.answered
	f.mu.Unlock()
	if answered || id == nil {
		return nil
	}
	type failure struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	line, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   failure         `json:"error"`
	}{"2.0", id, failure{-32000, why}})
	if err != nil {
		return err
	}
	return f.answer(append(line, '\n'))
}

func (f *Filter) answer(line []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.Client.Write(line)
	return err
}

// judge has one call judged, and passes it on or answers it.
func (f *Filter) judge(c *call, pass func(message) error) error {
	params, m := message{}, c.message
	refused := "it has no parameters"
	if json.Unmarshal(m["params"], &params) == nil {
		refused = f.Judge(c.ctx, params.Text("name"), params["arguments"])
	}
	switch {
	case !f.decided(c):
		return nil // the protocol wants no answer to it
	case refused != "":
		return f.refuse(m, refused)
	}
	var err error
	if m["params"], err = json.Marshal(params); err != nil {
		return err
	}
	return pass(m)
}

// refuse answers a call with the reason for which it is not made.
func (f *Filter) refuse(m message, reason string) error {
	if m["id"] == nil {
		return nil // a notification has no answer
	}
	type content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type result struct {
		Content []content `json:"content"`
		IsError bool      `json:"isError"`
	}
	line, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  result          `json:"result"`
	}{"2.0", m["id"], result{[]content{{"text", reason}}, true}})
	if err != nil {
		return err
	}
	return f.answer(append(line, '\n'))
}

// noJSON answers a line without a message: a server may read more than RFC 8259 permits.
const noJSON = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,` +
	`"message":"sbx mcp wrap: this is not JSON, or is too long"}}` + "\n"

// messages returns the messages of a line: one, or those of a batch.
func messages(line []byte) (list []message, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")) {
		err = json.Unmarshal(line, &list)
		return list, err
	}
	var m message
	err = json.Unmarshal(line, &m)
	return []message{m}, err
}
