package ipc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/coder/websocket"
)

// call is one call that is being carried out.
type call struct {
	RPCCall
	route  Route
	held   int64 // bytes of its message that are counted
	cancel context.CancelFunc
	before *call         // the piece of input that must be taken first; nil: none
	done   chan struct{} // closed when it is over
}

// take begins a message's operation, and does not wait for its end. The error means that the socket
// can't continue.
func (s *socket) take(message []byte, held int64) error {
	kept := false
	defer func() {
		if !kept {
			s.tally.unbuffer(s.caller.Peer, held)
		}
	}()
	rpc, number, bad := readCall(message)
	if bad != nil {
		return s.reply(rpc.ID, number, bad)
	}
	if rpc.Method == rpcCancel {
		return s.cancelCall(rpc)
	}
	route, ok := s.names[rpc.Method]
	switch {
	case !ok:
		return s.reply(rpc.ID, rpcMethod, &Error{Code: CodeNoRoute,
			Message: fmt.Sprintf("there is no method %q on the %s socket", rpc.Method, s.role),
			Hint:    "see docs/protocol.md; the two sockets offer different things"})
	case route.out == nil:
		return s.reply(rpc.ID, rpcInvalid, badRequest("this is a WebSocket already"))
	case rpc.ID.RawMessage == nil:
		// A call without an answer could fail without a word.
		return s.reply(rpc.ID, rpcInvalid, badRequest("id is missing; only rpc.cancel goes without, and nothing was done"))
	}
	ctx, cancel := context.WithCancel(s.ctx)
	c := &call{RPCCall: rpc, route: route, held: held, cancel: cancel, done: make(chan struct{})}
	number, bad = s.enter(c)
	if bad != nil {
		cancel()
		return s.reply(rpc.ID, number, bad)
	}
	kept = true
	s.work.Go(func() { s.carryOut(ctx, c) })
	return nil
}

// enter puts the call among those in flight, or says why not.
func (s *socket) enter(c *call) (int, *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.calls[c.ID.key()] != nil:
		return rpcInvalid, badRequest(fmt.Sprintf("the id %s belongs to a call in flight", c.ID.RawMessage))
	case s.leaving:
		return rpcServer, &Error{Code: CodeShuttingDown, Message: "the daemon is ending"}
	case len(s.calls) >= s.limits.Calls:
		return rpcServer, &Error{Code: CodeLimit, Message: "this WebSocket has too many calls in flight",
			Hint: "wait for some to end, then try again"}
	}
	s.calls[c.ID.key()] = c
	if c.route.Name == "exec.stdin" {
		id := inputOf(c.Params)
		c.before = s.inputs[id]
		s.inputs[id] = c
	}
	return 0, nil
}

// inputOf is the command that a piece of input is for.
func inputOf(params json.RawMessage) string {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	json.Unmarshal(params, &p) //nolint:errcheck // what is wrong with it is found when it is carried out
	return string(p.ID)
}

// drop removes the call. The reader of its answer may use its place.
func (s *socket) drop(c *call) {
	c.cancel()
	close(c.done)
	s.tally.unbuffer(s.caller.Peer, c.held)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c.ID.key())
	s.answering++
	if c.route.Name == "exec.stdin" {
		if id := inputOf(c.Params); s.inputs[id] == c {
			delete(s.inputs, id)
		}
	}
}

// answered closes the socket after the last answer of a server that ends.
func (s *socket) answered() {
	s.mu.Lock()
	s.answering--
	last := s.leaving && len(s.calls)+s.answering == 0
	s.mu.Unlock()
	if last {
		s.close(websocket.StatusGoingAway, "the daemon is ending")
	}
}

// cancelCall ends the call that params name. It is answered like any other; the call itself is
// answered with its result so far.
func (s *socket) cancelCall(rpc RPCCall) error {
	var p struct {
		Call RPCID `json:"call"`
	}
	if err := json.Unmarshal(rpc.Params, &p); err != nil || p.Call.RawMessage == nil {
		return s.reply(rpc.ID, rpcParams, badRequest("call: want the id of a call in flight"))
	}
	s.mu.Lock()
	c := s.calls[p.Call.key()]
	s.mu.Unlock()
	if c != nil {
		c.cancel()
	}
	if rpc.ID.RawMessage == nil {
		return nil
	}
	return s.result(rpc.ID, encode(Done{OK: c != nil}))
}

// carryOut performs the operation of the call, and answers it.
func (s *socket) carryOut(ctx context.Context, c *call) {
	result, bad := s.perform(ctx, c)
	s.drop(c)
	defer s.answered()
	// Where the answer can't be sent the socket is closed.
	if bad != nil {
		s.reply(c.ID, rpcServer, bad)
	} else {
		s.result(c.ID, result)
	}
}

// perform carries the call out as the HTTP request that means the same.
func (s *socket) perform(ctx context.Context, c *call) (result []byte, bad *Error) {
	if c.before != nil {
		// Also after a cancellation: later values must not overtake earlier ones.
		select {
		case <-c.before.done:
		case <-s.ctx.Done():
		}
		c.before = nil
	}
	if ctx.Err() != nil {
		return nil, cancelled
	}
	req, secret, bad := c.route.request(ctx, c.Params)
	if bad != nil {
		return nil, bad
	}
	caller := s.caller
	if secret != "" {
		caller.Secret = secret
	}
	if bad := s.tally.begin(caller.Peer); bad != nil {
		return nil, bad
	}
	defer s.tally.end(caller.Peer)
	out := &answerBuffer{header: http.Header{}}
	x := &exchange{ResponseWriter: out, endpoint: s.endpoint, r: req, caller: caller}
	defer func() { s.tally.unbuffer(caller.Peer, x.buffered) }()
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("call panicked", "method", c.Method, "panic", v, "stack", string(debug.Stack()))
			result, bad = nil, &Error{Code: CodeInternal, Message: "something in the daemon failed; nothing more was done",
				Hint: "its log says what"}
		}
	}()
	if c.route.follow != nil {
		bad = c.route.follow(x, func(value []byte) error { return s.value(c, value) })
		return encode(Done{OK: true}), bad
	}
	c.route.serve(x)
	if x.failed != nil && ctx.Err() != nil && s.ctx.Err() == nil {
		return nil, cancelled
	}
	return out.body.Bytes(), x.failed
}

// cancelled answers a call that rpc.cancel ended.
var cancelled = &Error{Code: CodeConflict, Message: "the call was cancelled"}

// result answers a call with the result of an operation.
func (s *socket) result(id RPCID, result []byte) error {
	return s.send(encode(RPCReply{JSONRPC: "2.0", ID: id, Result: RPCAny{bytes.TrimSpace(result)}}))
}

// reply answers a call with an error.
func (s *socket) reply(id RPCID, number int, e *Error) error {
	return s.send(encode(RPCReply{JSONRPC: "2.0", ID: id, Error: rpcError(number, e)}))
}

// value passes one value of a stream on.
func (s *socket) value(c *call, value []byte) error {
	return s.send(encode(RPCValue{JSONRPC: "2.0", Method: c.Method,
		Params: RPCValueParams{Call: c.ID, Value: RPCAny{bytes.TrimSpace(value)}}}))
}

// answerBuffer takes the one answer of an operation.
type answerBuffer struct {
	header http.Header
	body   bytes.Buffer
}

func (a *answerBuffer) Header() http.Header         { return a.header }
func (a *answerBuffer) WriteHeader(int)             {}
func (a *answerBuffer) Write(b []byte) (int, error) { return a.body.Write(b) }
func (a *answerBuffer) Flush()                      {}
