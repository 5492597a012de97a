package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"sandboxd/ipc"
)

// Options make a Gateway.
type Options struct {
	// Backend carries requests out: the daemon's own.
	Backend ipc.Backend
	// Listener is on a loopback address. Serve closes it.
	Listener net.Listener
	// Origins are web origins besides the gateway's own that may use it with
	// a front end's token, as a browser writes them: "https://chat.example".
	Origins []string
	// Store is the file that keeps the front ends: their names, roles and the
	// hashes of their tokens. Empty: they are forgotten when the gateway ends.
	Store  string
	Limits ipc.Limits
	Log    *slog.Logger // nil: nothing is logged
	// Related says why a process may not answer a question, "" where it may:
	// it is asked for each process that is found behind a connection. Nil: never.
	Related func(p ipc.Peer, approval string) string
}

// Gateway serves browsers and chat front ends.
type Gateway struct {
	backend   ipc.Backend
	listener  net.Listener
	addresses []string // permitted values of Host
	origins   []string // of our own pages
	foreign   []string // that may use a token
	access    *access
	related   func(ipc.Peer, string) string
	log       *slog.Logger
	handler   http.Handler
	page      *ipc.Handler // approver.sock's operations for the page, texts made safe
	raw       *ipc.Handler // the same for front ends
	watch     *ipc.Handler // the same for those that only look on
	limits    *limiter
	asked     asked
	run       string // begins the ids of a stream's events: another gateway's are not ours
	ending    chan struct{}
}

// New makes a Gateway. It reads Options.Store.
func New(o Options) (*Gateway, error) {
	addr, ok := o.Listener.Addr().(*net.TCPAddr)
	if !ok || !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("gateway: %v is not a loopback TCP address", o.Listener.Addr())
	}
	g := &Gateway{backend: o.Backend, listener: o.Listener, foreign: o.Origins, related: o.Related, log: o.Log,
		limits: newLimiter(), run: rand.Text(), ending: make(chan struct{})}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	port := fmt.Sprint(addr.Port)
	g.addresses = []string{net.JoinHostPort(addr.IP.String(), port), "localhost:" + port}
	for _, a := range g.addresses {
		g.origins = append(g.origins, "http://"+a)
	}
	var err error
	if g.access, err = openAccess(o.Store); err != nil {
		return nil, err
	}
	serve := func(b ipc.Backend) *ipc.Handler {
		return &ipc.Handler{Backend: b, Role: ipc.RoleApprover, Limits: o.Limits, Log: g.log, Caller: callerOf,
			Origins: append(append([]string(nil), g.origins...), g.foreign...), Ending: g.ending}
	}
	g.page = serve(&shown{&remote{o.Backend, g}})
	g.raw = serve(&remote{o.Backend, g})
	g.watch = serve(&watcher{&remote{o.Backend, g}})
	g.handler = g.routes()
	return g, nil
}

// URL is the gateway's address, without a secret.
func (g *Gateway) URL() string { return g.origins[0] + "/" }

// routes returns the gateway's handlers, behind its guard.
func (g *Gateway) routes() http.Handler {
	mux := http.NewServeMux()
	pages(mux)
	mux.HandleFunc("POST /enter", g.enter)
	mux.HandleFunc("POST /leave", g.leave)
	mux.HandleFunc("POST /ticket", g.ticket)
	mux.HandleFunc("GET /v1/agent/stream", g.chatStream)
	mux.HandleFunc("POST /v1/agent/tool_permission", g.chatAnswer)
	mux.HandleFunc("GET /v1/agent/approvals", g.chatSocket)
	mux.HandleFunc("/v1/", g.api)
	return g.guard(mux)
}

// Serve answers until ctx ends, then gives requests in flight a moment.
func (g *Gateway) Serve(ctx context.Context) error {
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	server := &http.Server{
		Handler:           g.handler,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ConnContext:       withConn,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(newBounded(g.listener))
	}()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	close(g.ending)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	server.Shutdown(grace)
	cut()
	server.Close()
	for _, h := range []*ipc.Handler{g.page, g.raw, g.watch} {
		h.Wait()
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// maxConnections bounds the connections of all browsers and front ends, maxOfUser those of one
// user: on loopback everybody on the machine can connect, and nobody may block the others' answers.
const maxConnections, maxOfUser = 512, 128

// bounded is a listener that takes no more connections than there is room for.
type bounded struct {
	net.Listener
	room chan struct{}

	mu    sync.Mutex
	users map[int]int // connections by user, where the kernel reveals it
}

func newBounded(l net.Listener) *bounded {
	return &bounded{Listener: l, room: make(chan struct{}, maxConnections), users: map[int]int{}}
}

func (b *bounded) Accept() (net.Conn, error) {
	b.room <- struct{}{}
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			<-b.room
			return nil, err
		}
		uid, _, known := socketOwner(c.LocalAddr(), c.RemoteAddr())
		if known && !b.take(uid) {
			c.Close()
			continue
		}
		return &boundedConn{Conn: c, free: sync.OnceFunc(func() {
			if known {
				b.release(uid)
			}
			<-b.room
		})}, nil
	}
}

func (b *bounded) take(uid int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users[uid] >= maxOfUser {
		return false
	}
	b.users[uid]++
	return true
}

func (b *bounded) release(uid int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users[uid]--; b.users[uid] == 0 {
		delete(b.users, uid)
	}
}

type boundedConn struct {
	net.Conn
	free func()
}

func (c *boundedConn) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// api serves the approver's operations to an identified caller.
func (g *Gateway) api(w http.ResponseWriter, r *http.Request) {
	c, bad := g.identify(r)
	if bad != nil {
		refuse(w, bad)
		return
	}
	atEase(w)
	ctx, cancel := c.whileKnown(r.Context())
	defer cancel()
	r = withCaller(r.WithContext(ctx), c)
	r.Header.Del("Authorization")
	switch {
	case c.front == nil:
		g.page.ServeHTTP(w, r)
	case c.front.Role == ipc.FrontEndWatcher:
		g.watch.ServeHTTP(w, r)
	default:
		g.raw.ServeHTTP(w, r)
	}
}

// cors lets the configured origins read answers to requests with a token. It
// reports whether the request was only the question whether it may be sent.
func (g *Gateway) cors(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || !contains(g.foreign, origin) {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Add("Vary", "Origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if strings.EqualFold(x, s) {
			return true
		}
	}
	return false
}
