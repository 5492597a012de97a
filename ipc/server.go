package ipc

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Server serves a Backend on Unix sockets. Its fields are set before Serve and
// not changed afterwards.
type Server struct {
	Backend Backend
	// Agent and Approver are the sockets of each role, from [Listen] or from
	// the service manager. Serve closes them.
	Agent    []net.Listener
	Approver []net.Listener
	// Stdio are sockets for agents, too, over which descriptors may come with a request; none: none can.
	Stdio  []net.Listener
	Limits Limits
	Log    *slog.Logger // nil: nothing is logged
}

// Serve answers requests until ctx ends. Then it accepts no more, gives requests in flight
// Limits.Grace to end, cuts off the rest, and returns nil when no request is left. It returns early
// only if a listener fails.
func (s *Server) Serve(ctx context.Context) error {
	logger := s.Log
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	limits := s.Limits.withDefaults()
	// Requests outlive ctx by the grace.
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()

	base := func(net.Listener) context.Context { return requests }
	endpoints := []*endpoint{
		newEndpoint(&Handler{Backend: s.Backend, Role: RoleAgent, Limits: limits, Log: logger, Ending: ctx.Done()}),
		newEndpoint(&Handler{Backend: s.Backend, Role: RoleApprover, Limits: limits, Log: logger, Ending: ctx.Done()}),
	}
	for _, d := range endpoints {
		d.listenAs(base)
	}
	failed := make(chan error, len(s.Agent)+len(s.Approver)+len(s.Stdio))
	var serving sync.WaitGroup
	for i, listeners := range [][]net.Listener{s.Agent, s.Approver, s.Stdio} {
		for _, l := range listeners {
			serving.Go(func() {
				if err := endpoints[i%2].serve(l, i == 2); !errors.Is(err, http.ErrServerClosed) {
					failed <- fmt.Errorf("serve %q: %w", l.Addr(), err)
				}
			})
		}
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.Grace)
	defer cancel()
	var closing sync.WaitGroup
	for _, d := range endpoints {
		closing.Go(func() {
			if d.http.Shutdown(grace) == nil {
				d.quiet(grace)
			}
		})
	}
	closing.Wait()
	cut()
	for _, d := range endpoints {
		d.http.Close()
	}
	serving.Wait()
	for _, d := range endpoints {
		d.handlers.Wait()
	}
	return err
}

// endpoint is one role's side of the server.
type endpoint struct {
	backend  Backend
	role     Role
	limits   Limits
	tally    *tally
	starts   *memory[ExecStarted]
	changes  *memory[FileResult]
	carriers *carriers // of descriptors
	log      *slog.Logger
	mux      *http.ServeMux
	methods  []string
	names    map[string]Route // by the operation's name
	origins  []string         // of web pages that may open a WebSocket
	ending   <-chan struct{}  // closed when the server begins to end
	identify func(*http.Request) (Caller, *Error)
	http     *http.Server
	handlers sync.WaitGroup // the requests that are being answered
}

// newEndpoint takes a Handler whose fields are all set but Caller: without one,
// the callers are those that the doorkeeper admitted.
func newEndpoint(h *Handler) *endpoint {
	d := &endpoint{
		backend: h.Backend, role: h.Role, limits: h.Limits, tally: newTally(h.Limits), starts: newMemory[ExecStarted](),
		changes: newMemory[FileResult](), carriers: &carriers{users: map[int]int{}}, log: h.Log,
		mux: http.NewServeMux(), names: map[string]Route{}, origins: h.Origins, ending: h.Ending, identify: h.Caller,
	}
	if d.identify == nil {
		d.identify = admittedCaller
	}
	for _, r := range Routes() {
		if !slices.Contains(r.Roles, h.Role) {
			continue
		}
		d.names[r.Name] = r
		d.mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, req *http.Request) {
			x := w.(*exchange)
			x.r = req // the mux has put the path's values into it
			if x.caller.Confined != nil && !slices.Contains(byTicket, r.Name) {
				x.refuse(x.caller.Confined)
				return
			}
			r.serve(x)
		})
		if !slices.Contains(d.methods, r.Method) {
			d.methods = append(d.methods, r.Method)
		}
	}
	return d
}

// listenAs makes the HTTP server for the role's sockets.
func (d *endpoint) listenAs(base func(net.Listener) context.Context) {
	d.http = &http.Server{
		Handler:                      d,
		BaseContext:                  base,
		ConnContext:                  withConnection,
		ReadHeaderTimeout:            d.limits.Read,
		IdleTimeout:                  d.limits.Idle,
		MaxHeaderBytes:               d.limits.Header,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(&logWriter{d.log}, "", 0),
	}
}

// quiet returns when no request is in flight, or ctx ends. net/http's Shutdown does not wait for
// WebSockets.
func (d *endpoint) quiet(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		d.handlers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// serve answers requests over a socket, with descriptors where they are permitted.
func (d *endpoint) serve(l net.Listener, stdio bool) error {
	k := &doorkeeper{Listener: l, role: d.role, tally: d.tally, admit: d.backend.Admit, log: d.log}
	if stdio {
		k.carriers = d.carriers
	}
	return d.http.Serve(k)
}

// ServeHTTP answers one request.
func (d *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.handlers.Add(1)
	defer d.handlers.Done()
	x := &exchange{ResponseWriter: w, r: r, endpoint: d, carrier: carrierOf(r)}
	if x.carrier != nil {
		defer x.carrier.drop()
	}
	var refusal *Error
	if x.caller, refusal = d.identify(r); refusal != nil {
		w.Header().Set("Connection", "close")
		x.refuse(refusal)
		return
	}
	if meant := r.Header.Get(UserHeader); meant != "" && !serves(meant) {
		x.refuse(&Error{Code: CodeNotFound, Message: fmt.Sprintf("this is the daemon of user %d, not of %q", os.Geteuid(),
			meant),
			Hint: "another user's is reached through the system's broker: --user without --socket-dir and SBX_SOCKET_DIR"})
		return
	}
	if secret := bearer(r); secret != "" {
		x.caller.Secret = secret
	}
	if err := d.tally.begin(x.caller.Peer); err != nil {
		x.refuse(err)
		return
	}
	defer d.tally.end(x.caller.Peer)
	defer func() { d.tally.unbuffer(x.caller.Peer, x.buffered) }()
	defer x.recover()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if _, pattern := d.mux.Handler(r); pattern == "" {
		d.noRoute(x)
		return
	}
	d.mux.ServeHTTP(x, r)
}

// serves reports whether the user of that name or number is this daemon's own.
func serves(name string) bool {
	own := strconv.Itoa(os.Geteuid())
	if name == own {
		return true
	}
	u, err := user.LookupId(own)
	return err == nil && u.Username == name
}

// noRoute distinguishes a wrong method from a wrong path.
func (d *endpoint) noRoute(x *exchange) {
	var allowed []string
	for _, m := range d.methods {
		probe := *x.r
		probe.Method = m
		if _, pattern := d.mux.Handler(&probe); pattern != "" {
			allowed = append(allowed, m)
		}
	}
	if len(allowed) > 0 {
		x.Header().Set("Allow", strings.Join(allowed, ", "))
		x.refuse(&Error{Code: CodeMethod, Message: "this path does not take that method", Hint: "it takes " +
			strings.Join(allowed, ", ")})
		return
	}
	x.refuse(&Error{Code: CodeNoRoute, Message: fmt.Sprintf("there is no such path on the %s socket", d.role),
		Hint: "see docs/protocol.md; the two sockets offer different things"})
}

// exchange is one request being answered.
type exchange struct {
	http.ResponseWriter
	*endpoint
	r        *http.Request
	caller   Caller
	buffered int64     // bytes counted for this request
	begun    bool      // the answer's status is sent
	timed    time.Time // when the write deadline was last set
	failed   *Error    // the refusal
	carrier  *carrier  // that the request came by; nil: no descriptors can have come
}

// WriteHeader remembers that the answer has begun.
func (x *exchange) WriteHeader(status int) {
	x.begun = true
	x.ResponseWriter.WriteHeader(status)
}

// answer sends a value, or the error if there is one.
func answer[T any](x *exchange, status int, v T, err error) {
	if err != nil {
		x.refuse(x.asError(err))
		return
	}
	x.reply(status, encode(v))
}

// errorBody is how an error looks on the wire.
type errorBody struct {
	Error *Error `json:"error"`
}

// refuse sends an error.
func (x *exchange) refuse(e *Error) {
	x.failed = e
	x.reply(e.HTTPStatus(), encode(errorBody{e}))
}

func (x *exchange) reply(status int, body []byte) {
	h := x.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(status)
	x.send(body)
}

// asError makes a backend's error fit for the wire: one that is not an *Error is logged and not
// sent, since it may contain others' data.
func (x *exchange) asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if x.r.Context().Err() != nil {
		return &Error{Code: CodeShuttingDown, Message: "the request was cut off"}
	}
	x.log.Error("request failed", "route", x.r.Pattern, "peer", x.caller.Peer.String(), "error", err)
	return &Error{Code: CodeInternal, Message: "something in the daemon failed; nothing more was done",
		Hint: "its log says what"}
}

// recover turns a panic into an answer, or, where one has begun, into a cut
// connection.
func (x *exchange) recover() {
	v := recover()
	if v == nil {
		return
	}
	if v != http.ErrAbortHandler { //nolint:errorlint // a sentinel that is panicked, not wrapped
		x.log.Error("request panicked", "route", x.r.Pattern, "panic", v, "stack", string(debug.Stack()))
	}
	if x.begun {
		panic(http.ErrAbortHandler)
	}
	x.refuse(&Error{Code: CodeInternal, Message: "something in the daemon failed; nothing more was done",
		Hint: "its log says what"})
}

// bearer is the secret of RFC 6750's Authorization header.
func bearer(r *http.Request) Secret {
	scheme, rest, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return Secret(strings.TrimSpace(rest))
}

// logWriter hands net/http's own complaints to the log.
type logWriter struct{ log *slog.Logger }

func (l *logWriter) Write(b []byte) (int, error) {
	l.log.Debug("http", "message", strings.TrimSpace(string(b)))
	return len(b), nil
}
