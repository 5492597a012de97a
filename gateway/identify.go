package gateway

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"sandboxd/ipc"
)

const cookieName = "sandboxd"

// caller is the browser or front end that makes a request.
type caller struct {
	browser *browser
	front   *frontEnd
	process *ipc.Peer // behind the connection, where it could be found
}

// wire returns the caller in the interface's terms. A browser answers for the user of its
// invitation, a front end for the creator of its token; neither is at a terminal.
func (c caller) wire() ipc.Caller {
	w := ipc.Caller{Role: ipc.RoleApprover}
	if c.front != nil {
		w.Front, w.Peer = c.front.Name, c.front.peer()
	} else {
		w.Front, w.Peer = "web", c.browser.by
		w.Peer.TTY = 0
	}
	return w
}

// by names the caller for the limits.
func (c caller) by() string {
	if c.front != nil {
		return "front end " + c.front.Name
	}
	return "browsers"
}

// inForce ends with the secret that c is known by.
func (c caller) inForce() context.Context {
	if c.front != nil {
		return c.front.force
	}
	return c.browser.force
}

// whileKnown is ctx until the caller's secret is taken out of force.
func (c caller) whileKnown(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.inForce(), cancel)
	return ctx, func() { stop(); cancel() }
}

type callerKey struct{}

func withCaller(r *http.Request, c caller) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), callerKey{}, c))
}

// callerOf returns the caller that withCaller stored, for an ipc.Handler.
func callerOf(r *http.Request) (ipc.Caller, *ipc.Error) {
	return r.Context().Value(callerKey{}).(caller).wire(), nil
}

// identify finds the caller of a request by one of the three secrets.
func (g *Gateway) identify(r *http.Request) (caller, *ipc.Error) {
	c, ok := g.known(r)
	if !ok {
		return caller{}, g.wrong("nobody known sends this",
			"open the address that sbx web prints; a front end sends Authorization: Bearer TOKEN")
	}
	o := ownerOf(r)
	if !o.may(c.wire().Peer.UID) {
		return caller{}, foreignUser
	}
	if !g.limits.take(c.by()) {
		return caller{}, &ipc.Error{Code: ipc.CodeLimit, Message: c.by() + ": too many requests", Hint: "wait a moment"}
	}
	c.process = o.peer
	if bad := outside(c.process); bad != nil {
		return caller{}, bad
	}
	return c, nil
}

func (g *Gateway) known(r *http.Request) (caller, bool) {
	if t := r.URL.Query().Get("ticket"); t != "" && r.Header.Get("Upgrade") != "" {
		return g.access.redeem(t)
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return caller{}, false
	}
	token = strings.TrimSpace(token)
	if c, err := r.Cookie(cookieName); err == nil {
		if b := g.access.browser(c.Value, token); b != nil {
			return caller{browser: b}, true
		}
	}
	if f := g.access.front(token); f != nil {
		return caller{front: f}, true
	}
	return caller{}, false
}

// outside refuses a process that runs inside a sandbox.
func outside(p *ipc.Peer) *ipc.Error {
	if p != nil && p.Inside() {
		return &ipc.Error{Code: ipc.CodeSelfApproval, Message: "what runs inside a sandbox cannot answer questions",
			Hint: "answer from outside"}
	}
	return nil
}

// enter lets a browser in that has an invitation.
func (g *Gateway) enter(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Invitation string `json:"invitation"`
	}
	if bad := readJSON(r, &body); bad != nil {
		refuse(w, bad)
		return
	}
	if r.Header.Get("Origin") == "" || contains(g.foreign, r.Header.Get("Origin")) {
		refuse(w, &ipc.Error{Code: ipc.CodeForbidden, Message: "only the gateway's own page enters"})
		return
	}
	if bad := outside(ownerOf(r).peer); bad != nil {
		refuse(w, bad)
		return
	}
	cookie, key, ok := g.access.enter(body.Invitation, ownerOf(r))
	if !ok {
		refuse(w, g.wrong("this address was used already, or is too old", "run sbx web for a new one"))
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: cookie, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode, MaxAge: int(browserIdle / time.Second)})
	reply(w, http.StatusOK, map[string]string{"key": key})
}

// leave forgets the browser that asks for it.
func (g *Gateway) leave(w http.ResponseWriter, r *http.Request) {
	c, bad := g.identify(r)
	if bad != nil {
		refuse(w, bad)
		return
	}
	if c.browser != nil {
		g.access.leave(c.browser)
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		MaxAge: -1})
	reply(w, http.StatusOK, map[string]bool{"ok": true})
}

// ticket issues a one-time ticket for a WebSocket to an identified caller.
func (g *Gateway) ticket(w http.ResponseWriter, r *http.Request) {
	c, bad := g.identify(r)
	if bad != nil {
		refuse(w, bad)
		return
	}
	secret, bad := g.access.newTicket(c)
	if bad != nil {
		refuse(w, bad)
		return
	}
	reply(w, http.StatusOK, map[string]string{"ticket": secret})
}

// conn is a connection and its other end, looked up once.
type conn struct {
	net.Conn
	once  sync.Once
	owner owner
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, &conn{Conn: c})
}

// ownerOf returns the process that opened the request's connection.
func ownerOf(r *http.Request) owner {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		return owner{}
	}
	c.once.Do(func() { c.owner = lookUp(c.LocalAddr(), c.RemoteAddr()) })
	return c.owner
}

// owner is the process at the other end of a connection.
type owner struct {
	known bool // the kernel says
	uid   int
	peer  *ipc.Peer // nil: its process could not be found
}

// may reports whether the connection can be that user's: on loopback everybody
// on the machine can connect. Root may, as on the socket.
func (o owner) may(uid int) bool { return !o.known || o.uid == 0 || o.uid == uid }

var foreignUser = &ipc.Error{Code: ipc.CodeForbidden,
	Message: "this connection belongs to another user of this machine"}

// wrong refuses a wrong secret, after some of them without having looked.
func (g *Gateway) wrong(message, hint string) *ipc.Error {
	if !g.limits.guess() {
		return &ipc.Error{Code: ipc.CodeOverloaded, Status: http.StatusTooManyRequests,
			Message: "too many requests with a wrong secret", Hint: "wait a moment"}
	}
	return &ipc.Error{Code: ipc.CodeSecret, Status: http.StatusUnauthorized, Message: message, Hint: hint}
}
