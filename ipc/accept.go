package ipc

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
)

// doorkeeper is a listener that identifies, admits and counts each peer before
// the HTTP server reads from it.
type doorkeeper struct {
	net.Listener
	role  Role
	tally *tally
	admit func(Peer, Role) error
	log   *slog.Logger
	// carriers: descriptors may come over this socket; nil: none may.
	carriers *carriers
}

// Accept returns an *admitted connection. A peer that is refused still gets one
// if there is room, on which every request is answered with the reason.
func (d *doorkeeper) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if a := d.receive(c); a != nil {
			return a, nil
		}
		c.Close()
	}
}

// receive returns nil where the connection is to be closed without a word.
func (d *doorkeeper) receive(c net.Conn) net.Conn {
	peer, err := peerOf(c)
	if err != nil {
		d.log.Warn("connection refused", "socket", string(d.role), "error", err)
		return nil
	}
	a := &admitted{Conn: c, caller: Caller{Peer: peer, Role: d.role}, tally: d.tally}
	confined, refusal := d.examine(peer)
	if refusal != nil {
		d.log.Warn("connection refused", "socket", string(d.role), "peer", peer.String(), "reason", refusal.Message)
		if !d.tally.refuse() {
			peer.close()
			return nil
		}
		a.refusal = refusal
		return a
	}
	if a.caller.Confined = confined; d.carriers != nil {
		a.Conn = &carrier{UnixConn: c.(*net.UnixConn), all: d.carriers, uid: peer.UID}
	}
	return a
}

// examine admits and then counts: a refused peer takes no room. A confined one has no use for a socket of descriptors.
func (d *doorkeeper) examine(peer Peer) (confined, refusal *Error) {
	if d.role == RoleApprover && peer.Inside() {
		return nil, &Error{Code: CodeSelfApproval, Message: "what runs inside a sandbox cannot answer questions",
			Hint: "answer from outside"}
	}
	var e *Error
	var c *Confined
	err := d.admit(peer, d.role)
	switch {
	case err == nil:
	case errors.As(err, &c) && d.role == RoleAgent && d.carriers == nil:
		confined = c.Refusal
	case errors.As(err, &c):
		return nil, c.Refusal
	case errors.As(err, &e):
		return nil, e
	default:
		return nil, &Error{Code: CodeForbidden, Message: "you may not use this socket: " + err.Error()}
	}
	return confined, d.tally.connect(peer)
}

// admitted is a connection whose peer is known.
type admitted struct {
	net.Conn
	caller  Caller
	refusal *Error // set: the answer to every request
	tally   *tally
	once    sync.Once
	err     error
}

// Close releases the peer's share, once.
func (a *admitted) Close() error {
	a.once.Do(func() {
		a.err = a.Conn.Close()
		if a.refusal != nil {
			a.tally.refused()
		} else {
			a.tally.disconnect(a.caller.Peer)
		}
		a.caller.Peer.close()
	})
	return a.err
}

type connectionKey struct{}

// withConnection is the http.Server's ConnContext.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// admittedCaller returns the caller that the doorkeeper admitted on the request's connection.
func admittedCaller(r *http.Request) (Caller, *Error) {
	a := r.Context().Value(connectionKey{}).(*admitted)
	return a.caller, a.refusal
}

// carrierOf is the connection that the request came by, if it may carry descriptors.
func carrierOf(r *http.Request) *carrier {
	a, ok := r.Context().Value(connectionKey{}).(*admitted)
	if !ok {
		return nil
	}
	c, _ := a.Conn.(*carrier)
	return c
}
