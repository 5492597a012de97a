package ipc

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// webSocket serves GET /v1/ws (RFC 6455): JSON-RPC 2.0 with one message a
// call, under the names of the routes.
func webSocket() handler {
	return handler{status: http.StatusSwitchingProtocols, serve: serveWebSocket}
}

func serveWebSocket(x *exchange) {
	if bad := checkUpgrade(x.r, x.origins); bad != nil {
		if bad.Status == http.StatusUpgradeRequired {
			x.Header().Set("Connection", "Upgrade")
			x.Header().Set("Upgrade", "websocket")
		}
		x.refuse(bad)
		return
	}
	x.begun = true
	// The origin is checked above, to the letter.
	conn, err := websocket.Accept(x.ResponseWriter, x.r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		x.log.Debug("websocket", "peer", x.caller.Peer.String(), "error", err)
		return
	}
	conn.SetReadLimit(x.limits.message())
	ctx, cancel := context.WithCancel(x.r.Context())
	s := &socket{endpoint: x.endpoint, caller: x.caller, conn: conn, ctx: ctx, cancel: cancel, calls: map[string]*call{},
		inputs: map[string]*call{}}
	s.serve()
}

// message bounds one message, in bytes: a body and its envelope.
func (l Limits) message() int64 { return max(l.Body, l.FileBody) + 4096 }

// checkUpgrade returns why a request cannot become a WebSocket. A request with an Origin comes from
// a web page: it must be one of origins.
func checkUpgrade(r *http.Request, origins []string) *Error {
	if !r.ProtoAtLeast(1, 1) || !hasToken(r.Header["Connection"], "upgrade") ||
		!hasToken(r.Header["Upgrade"], "websocket") {
		return &Error{Code: CodeBadRequest, Status: http.StatusUpgradeRequired, Message: "this path speaks WebSocket only",
			Hint: "send Connection: Upgrade and Upgrade: websocket"}
	}
	if r.Header.Get("Sec-WebSocket-Version") != "13" {
		return badRequest("Sec-WebSocket-Version: want 13")
	}
	keys := r.Header["Sec-Websocket-Key"]
	if len(keys) != 1 {
		return badRequest("Sec-WebSocket-Key: want one")
	}
	if key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(keys[0])); err != nil || len(key) != 16 {
		return badRequest("Sec-WebSocket-Key: want 16 bytes in base64")
	}
	for _, origin := range r.Header["Origin"] {
		if !slices.Contains(origins, origin) {
			return &Error{Code: CodeForbidden, Message: fmt.Sprintf("the origin %q may not connect here", origin)}
		}
	}
	return nil
}

// hasToken looks for a word in a header's comma-separated lists.
func hasToken(values []string, want string) bool {
	for _, v := range values {
		for word := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(word), want) {
				return true
			}
		}
	}
	return false
}

// socket is one open WebSocket.
type socket struct {
	*endpoint
	caller Caller
	conn   *websocket.Conn
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup // all goroutines but the reading one

	mu        sync.Mutex
	calls     map[string]*call // in flight, by their id as it was written
	inputs    map[string]*call // the last piece of input of each command
	answering int              // calls that are over, but not answered yet
	leaving   bool             // the server ends: nothing new is taken
}

// serve reads messages until one side has enough, and returns when nothing of
// the socket is left.
func (s *socket) serve() {
	defer s.work.Wait()
	defer s.conn.CloseNow()
	defer s.cancel()
	s.work.Go(s.keepAlive)
	s.work.Go(s.leaveWithServer)
	for {
		kind, r, err := s.conn.Reader(s.ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			s.close(websocket.StatusUnsupportedData, "want text: JSON-RPC 2.0")
			return
		}
		message, held, err := s.read(r)
		if err != nil {
			s.tally.unbuffer(s.caller.Peer, held)
			return
		}
		if err := s.take(message, held); err != nil {
			return
		}
	}
}

// read reads one message whole, within the time for a body and within the
// peer's share of memory, of which held is taken in any case.
func (s *socket) read(r io.Reader) (message []byte, held int64, err error) {
	late := time.AfterFunc(s.limits.Read, s.cancel)
	defer late.Stop()
	var buf bytes.Buffer
	for chunk := int64(4096); ; chunk = min(2*chunk, 256<<10) {
		if bad := s.tally.buffer(s.caller.Peer, chunk); bad != nil {
			s.close(websocket.StatusTryAgainLater, bad.Message)
			return nil, held, bad
		}
		held += chunk
		_, err := io.CopyN(&buf, r, chunk)
		if errors.Is(err, io.EOF) {
			return buf.Bytes(), held, nil
		}
		if err != nil {
			return nil, held, err
		}
	}
}

// send puts one message on the wire. A reader that does not take it in time is
// cut off.
func (s *socket) send(message []byte) error {
	ctx, done := context.WithTimeout(s.ctx, s.limits.Write)
	defer done()
	err := s.conn.Write(ctx, websocket.MessageText, message)
	if err != nil {
		s.cancel()
	}
	return err
}

// keepAlive finds out that the other side is gone.
func (s *socket) keepAlive() {
	tick := time.NewTicker(s.limits.Heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		ctx, done := context.WithTimeout(s.ctx, s.limits.Write)
		err := s.conn.Ping(ctx)
		done()
		if err != nil {
			s.cancel()
			return
		}
	}
}

// leaveWithServer closes the socket when the server ends and no call is in flight.
func (s *socket) leaveWithServer() {
	select {
	case <-s.ctx.Done():
		return
	case <-s.ending:
	}
	s.mu.Lock()
	s.leaving = true
	idle := len(s.calls)+s.answering == 0
	s.mu.Unlock()
	if idle {
		s.close(websocket.StatusGoingAway, "the daemon is ending")
	}
}

// close says why the socket ends, and ends it.
func (s *socket) close(code websocket.StatusCode, why string) {
	s.conn.Close(code, why)
	s.cancel()
}
