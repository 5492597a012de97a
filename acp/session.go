package acp

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"sandboxd/internal/jsonrpc"
	"sandboxd/ipc"
)

// session is one of the agent's, which has a session of the daemon's from its first request on.
type session struct {
	proxy   *Proxy
	id, cwd string

	mu      sync.Mutex
	client  *ipc.Client // nil: there is no session of the daemon's
	daemon  string      // the id of the daemon's session
	tickets map[string]ipc.Secret
	env     map[string]string          // of the latest terminal, whose variables the agent gives the next one, too
	calls   map[string]jsonrpc.Message // the agent's tool calls as it reports them, by their ids
}

// open takes the directory of a session from the editor's request for it.
func (p *Proxy) open(m jsonrpc.Message, method string) error {
	params := jsonrpc.Message{}
	if json.Unmarshal(m["params"], &params) != nil {
		return &Error{Code: invalidParams, Message: method + ": params is no object"}
	}
	cwd, id := params.Text("cwd"), params.Text("sessionId")
	if !filepath.IsAbs(cwd) {
		return &Error{Code: invalidParams, Message: method + ": cwd is no absolute path"}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.opening) >= maxSessions || len(p.sessions) >= maxSessions {
		return &Error{Code: invalidRequest, Message: method + ": too many sessions"}
	}
	if id != "" && method != "session/fork" {
		p.add(id, filepath.Clean(cwd))
		return nil
	}
	if p.opening == nil {
		p.opening = map[string]string{}
	}
	p.opening[string(m["id"])] = filepath.Clean(cwd)
	return nil
}

// add makes a session, where none has that id and directory. p.mu is held.
func (p *Proxy) add(id, cwd string) {
	if s := p.sessions[id]; s != nil && s.cwd == cwd {
		return
	}
	if p.sessions == nil {
		p.sessions = map[string]*session{}
	}
	p.sessions[id] = &session{proxy: p, id: id, cwd: cwd}
}

// session returns the session that a message is about.
func (p *Proxy) session(params json.RawMessage) (*session, error) {
	m := jsonrpc.Message{}
	if json.Unmarshal(params, &m) != nil {
		return nil, &Error{Code: invalidParams, Message: "params is no object"}
	}
	id := m.Text("sessionId")
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sessions[id]; s != nil {
		return s, nil
	}
	return nil, &Error{Code: notFound, Message: "no session has the sessionId " + string(m["sessionId"])}
}

// turn reports to the daemon that the user spoke.
func (p *Proxy) turn(ctx context.Context, m jsonrpc.Message) {
	s, err := p.session(m["params"])
	if err != nil {
		return // the agent answers
	}
	s.mu.Lock()
	client, id := s.client, s.daemon
	s.mu.Unlock()
	if client == nil {
		return // its first turn
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err = client.Turn(ctx, ipc.TurnRequest{Session: id})
	s.lost(err)
}

// forget closes the daemon's session, and with it the session's commands.
func (p *Proxy) forget(ctx context.Context, m jsonrpc.Message) {
	s, err := p.session(m["params"])
	if err != nil {
		return
	}
	p.mu.Lock()
	delete(p.sessions, s.id)
	p.mu.Unlock()
	s.close(ctx)
}

// Close closes the daemon's sessions, which ends their commands.
func (p *Proxy) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p.mu.Lock()
	open := p.sessions
	p.sessions = nil
	p.mu.Unlock()
	for _, s := range open {
		s.close(ctx)
	}
}

func (s *session) close(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		// A daemon that does not answer has ended, and the session with it.
		_, _ = s.client.CloseSession(ctx, ipc.CloseRequest{Session: s.daemon})
		s.client.Close()
		s.client = nil
	}
}

// open returns the daemon's session, and opens it at the first call.
func (s *session) open(ctx context.Context) (*ipc.Client, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, s.daemon, nil
	}
	c, err := s.proxy.Connect(ctx)
	if err != nil {
		return nil, "", err
	}
	opened, err := c.OpenSession(ctx, ipc.SessionRequest{Kind: ipc.KindAPI, Agent: s.proxy.Name, Label: "sbx acp",
		Root: s.cwd, Cwd: s.cwd})
	if err != nil {
		return nil, "", err
	}
	s.client, s.daemon, s.tickets = &ipc.Client{Socket: c.Socket, Secret: opened.Secret}, opened.ID, nil
	return s.client, s.daemon, nil
}

// lost drops a session that the daemon does not know, as after its restart; the next request opens another one.
func (s *session) lost(err error) {
	if code := ipc.CodeOf(err); code != ipc.CodeNotFound && code != ipc.CodeSecret && !errors.Is(err, ipc.ErrNoDaemon) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = nil
}

// absolute refuses a path that is not.
func absolute(name, path string) error {
	if !filepath.IsAbs(path) {
		return &Error{Code: invalidParams, Message: name + " is no absolute path"}
	}
	return nil
}
