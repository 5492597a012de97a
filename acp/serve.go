package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sandboxd/internal/jsonrpc"
	"sandboxd/ipc"
)

// handler serves a request of the agent in a session. It returns the result; nil where the editor is to answer.
type handler func(context.Context, *session, *call) (json.RawMessage, error)

// handlers are the requests that the proxy serves.
var handlers map[string]handler

func init() { // handlers refer to the proxy, which refers to them
	handlers = map[string]handler{
		"fs/read_text_file":          of(readFile),
		"fs/write_text_file":         of(writeFile),
		"terminal/create":            of(createTerminal),
		"terminal/output":            of(terminalOutput),
		"terminal/wait_for_exit":     of(waitForExit),
		"terminal/kill":              of(killTerminal),
		"terminal/release":           of(releaseTerminal),
		"session/request_permission": of(permit),
	}
}

// served reports whether requests of the method never reach the editor unseen: those of later versions, too.
func served(method string) bool {
	return strings.HasPrefix(method, "fs/") || strings.HasPrefix(method, "terminal/") || handlers[method] != nil
}

// of makes a handler of a function with parameters and a result of its own. A parameter with another type than the
// protocol's, or with a name twice, is refused.
func of[P, R any](f func(context.Context, *session, *call, P) (*R, error)) handler {
	return func(ctx context.Context, s *session, c *call) (json.RawMessage, error) {
		var params P
		err := ipc.OneMeaning(c.params, params)
		if err == nil {
			err = json.Unmarshal(c.params, &params)
		}
		if err != nil {
			return nil, &Error{Code: invalidParams, Message: c.method + ": " + err.Error()}
		}
		r, err := f(ctx, s, c, params)
		if r == nil || err != nil {
			return nil, err
		}
		return encoded(r), nil
	}
}

// call is a request of the agent that is served.
type call struct {
	id      json.RawMessage
	method  string
	params  json.RawMessage
	line    []byte // as it came
	session *session
	cancel  context.CancelFunc
}

// serve has a request answered while others are read.
func (p *Proxy) serve(ctx context.Context, m jsonrpc.Message, line []byte) error {
	id := string(bytes.TrimSpace(m["id"]))
	if id == "" {
		return nil // a notification has no answer, and these methods no effect without one
	}
	c := &call{id: m["id"], method: m.Text("method"), params: m["params"], line: line}
	h := handlers[c.method]
	var err error
	if h == nil {
		err = &Error{Code: noMethod, Message: "the method is not known: " + c.method}
	} else {
		c.session, err = p.session(c.params)
	}
	if err != nil {
		return p.agent(failed(m["id"], err))
	}
	ctx, c.cancel = context.WithCancel(ctx)
	if err := p.begin(id, c); err != nil {
		c.cancel()
		return p.agent(failed(m["id"], err))
	}
	go func() {
		defer p.work.Done()
		defer c.cancel()
		result, err := h(ctx, c.session, c)
		p.mu.Lock()
		delete(p.serving, id)
		p.mu.Unlock()
		switch {
		case err != nil:
			c.session.lost(err)
			err = p.agent(failed(m["id"], err))
		case result != nil:
			err = p.agent(encoded(struct {
				Version string          `json:"jsonrpc"`
				ID      json.RawMessage `json:"id"`
				Result  json.RawMessage `json:"result"`
			}{"2.0", m["id"], result}))
		}
		_ = err // the agent reads no more: the end of its output ends the proxy
	}()
	return nil
}

// begin enters a request into those that are served.
func (p *Proxy) begin(id string, c *call) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.serving == nil {
		p.serving = map[string]*call{}
	}
	switch {
	case p.serving[id] != nil:
		return &Error{Code: invalidRequest, Message: "the id " + id + " is that of a request without an answer yet"}
	case len(p.serving) >= maxServing:
		return &Error{Code: invalidRequest, Message: fmt.Sprintf("%d requests have no answer yet: wait for one", maxServing)}
	}
	p.serving[id] = c
	p.work.Add(1)
	return nil
}

// withdraw cancels a request that is served, as its agent asks. It is false where there is none.
func (p *Proxy) withdraw(m jsonrpc.Message) bool {
	params := jsonrpc.Message{}
	if json.Unmarshal(m["params"], &params) != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.serving[string(bytes.TrimSpace(params["requestId"]))]
	if c != nil {
		c.cancel()
	}
	return c != nil
}

// interrupt cancels requests that may wait for a person, as the editor's user cancelled the turn. The agent ends its
// commands itself.
func (p *Proxy) interrupt(m jsonrpc.Message) {
	s, err := p.session(m["params"])
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.serving {
		if c.session == s && c.method != "terminal/wait_for_exit" {
			c.cancel()
		}
	}
}
