package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// headTimeout is how long the head of a request, a greeting or a ClientHello
// may take once it has begun.
const headTimeout = 30 * time.Second

// maxHead bounds the head of a request, in bytes.
const maxHead = 64 << 10

var silent = log.New(io.Discard, "", 0)

func (g *Gate) server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headTimeout, IdleTimeout: g.opts.Limits.Idle,
		MaxHeaderBytes: maxHead,
		BaseContext:    func(net.Listener) context.Context { return g.ctx }, ErrorLog: silent,
		DisableGeneralOptionsHandler: true}
}

func (g *Gate) transport(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Transport {
	return &http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 4, MaxIdleConns: 64,
		IdleConnTimeout: min(time.Minute, g.opts.Limits.Idle), MaxResponseHeaderBytes: maxHead}
}

// ServeHTTP answers CONNECT and plain requests on l until the gate is closed.
// It closes l.
func (g *Gate) ServeHTTP(l net.Listener) {
	in, ok := g.serve(l)
	if !ok {
		return
	}
	defer g.work.Done()
	// The error means that the listener or the gate was closed.
	_ = g.http.Serve(in)
}

// handle is one request to the proxy.
func (g *Gate) handle(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		g.connect(w, r)
	case r.URL.Scheme == "":
		http.Error(w, "sandboxd: this is a proxy; ask it for \"http://HOST/PATH\", or CONNECT", http.StatusBadRequest)
	case r.URL.Scheme != "http":
		http.Error(w, "sandboxd: this proxy fetches http only; for "+quote(r.URL.Scheme)+" use CONNECT",
			http.StatusBadRequest)
	default:
		t, err := urlTarget(r.URL)
		if err != nil {
			g.fail(w, g.refuse(quote(r.URL.Host), err.Error(), ""))
			return
		}
		g.forward(w, r, t, g.client)
	}
}

// urlTarget is the target of an absolute http URL.
func urlTarget(u *url.URL) (Target, error) {
	if u.User != nil {
		return Target{}, errors.New("a name before the host is not taken")
	}
	host := u.Host
	if i := strings.LastIndexByte(host, ':'); i < 0 || strings.HasSuffix(host, "]") {
		host += ":80"
	}
	return parseTarget(host)
}

// connect opens a tunnel.
func (g *Gate) connect(w http.ResponseWriter, r *http.Request) {
	t, err := parseTarget(r.RequestURI)
	if err != nil {
		g.fail(w, g.refuse(quote(r.RequestURI), err.Error(), ""))
		return
	}
	if r.ContentLength > 0 || len(r.TransferEncoding) > 0 {
		g.fail(w, g.refuse(t.String(), "a CONNECT request has no body", ""))
		return
	}
	out, err := g.reach(r.Context(), t)
	if err != nil {
		g.fail(w, err)
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		out.Close()
		return
	}
	client, ok := conn.(*inner)
	if !ok {
		conn.Close()
		out.Close()
		return
	}
	client.SetDeadline(time.Time{})
	if _, err := client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		client.Close()
		out.Close()
		return
	}
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.work.Add(1)
	}
	g.mu.Unlock()
	if closed {
		client.Close()
		out.Close()
		return
	}
	defer g.work.Done()
	(&tunnel{gate: g, client: client, from: buf.Reader, link: out}).run()
}

// forward sends one plain request on, as this proxy understood it.
func (g *Gate) forward(w http.ResponseWriter, r *http.Request, t Target, client *http.Transport) {
	// "x:http://other/" would be sent on as "http://other/", which overrules Host (RFC 9112, 3.2.2)
	if r.URL.Opaque != "" {
		g.fail(w, g.refuse(t.String(), "a request names a path, or http://HOST/PATH", ""))
		return
	}
	if err := g.judge(r.Context(), t); err != nil {
		g.fail(w, err)
		return
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = "http", t.String()
			p.Out.Host = strings.TrimSuffix(t.String(), ":80")
			// ReverseProxy removes the parts of a query that it would parse in another way, and the
			// trailer.
			p.Out.URL.RawQuery, p.Out.Trailer = p.In.URL.RawQuery, p.In.Trailer
		},
		Transport: client, FlushInterval: -1, ErrorLog: silent,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { g.fail(w, err) },
	}
	proxy.ServeHTTP(w, r)
}

// dialContext connects for the transport; addr is a Target's text.
func (g *Gate) dialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	t, err := parseTarget(addr)
	if err != nil {
		return nil, err
	}
	return g.reach(ctx, t)
}

// fail answers with an error, in the reason phrase too: some tools show that
// and nothing else.
func (g *Gate) fail(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	var refused *refusedError
	if errors.As(err, &refused) {
		status = http.StatusForbidden
	}
	text := err.Error()
	conn, _, hijack := http.NewResponseController(w).Hijack()
	if hijack != nil {
		http.Error(w, text, status)
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(headTimeout))
	// The reason phrase of a proxy is text of one line (RFC 9112, 4).
	line := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, text)
	fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %s\r\nConnection: "+
		"close\r\n\r\n%s\n",
		status, line, strconv.Itoa(len(text)+1), text)
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		c.CloseWrite()
		io.CopyN(io.Discard, conn, maxHead) // or the answer may be lost to a reset
	}
}

// serveTunnelled answers the plain HTTP requests in a tunnel, so that each of
// them, not only the first, is held to the host that was judged.
func (g *Gate) serveTunnelled(t *tunnel) {
	target := t.link.target
	var once sync.Once
	client := g.transport(func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
		once.Do(func() { conn = t.link })
		if conn != nil {
			return conn, nil
		}
		return g.reach(ctx, target)
	})
	defer client.CloseIdleConnections()
	t.client.SetDeadline(time.Time{})
	one := &single{conn: &replayed{t.client, t}, done: make(chan struct{})}
	var handlers sync.WaitGroup
	srv := g.server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		got, err := hostTarget(r, target.Port)
		if err == nil && got != target {
			err = fmt.Errorf("the Host %s is another host than the one that was connected to", quote(r.Host))
		}
		if err != nil {
			g.fail(w, g.refuse(target.String(), err.Error(), ""))
			return
		}
		g.forward(w, r, target, client)
	}))
	srv.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed || s == http.StateHijacked {
			one.end()
		}
	}
	stop := context.AfterFunc(g.ctx, func() { srv.Close() })
	defer stop()
	_ = srv.Serve(one)
	handlers.Wait() // one that has taken the connection over is still at it
}

// hostTarget is the target that a request in a tunnel means.
func hostTarget(r *http.Request, port uint16) (Target, error) {
	if r.Method == http.MethodConnect {
		return Target{}, errors.New("CONNECT in a tunnel is not taken")
	}
	host := r.Host
	if i := strings.LastIndexByte(host, ':'); i < 0 || strings.HasSuffix(host, "]") {
		host += ":" + strconv.Itoa(int(port))
	}
	return parseTarget(host)
}

// replayed is a tunnel's connection from inside, of which some bytes have been read already. Bytes
// that pass keep the tunnel's watch quiet; nothing passes around Read and Write (io.Copy would,
// with a TCP connection).
type replayed struct {
	net.Conn
	tunnel *tunnel
}

func (r *replayed) Read(b []byte) (int, error) { return r.tunnel.passed(r.tunnel.from.Read(b)) }

func (r *replayed) Write(b []byte) (int, error) { return r.tunnel.passed(r.Conn.Write(b)) }

func (r *replayed) CloseWrite() error { return r.tunnel.client.CloseWrite() }

// single is a listener for one connection.
type single struct {
	conn net.Conn
	done chan struct{}
	once sync.Once
	mu   sync.Mutex
}

func (s *single) Accept() (net.Conn, error) {
	s.mu.Lock()
	conn := s.conn
	s.conn = nil
	s.mu.Unlock()
	if conn != nil {
		return conn, nil
	}
	<-s.done
	return nil, net.ErrClosed
}

func (s *single) end()           { s.once.Do(func() { close(s.done) }) }
func (s *single) Close() error   { s.end(); return nil }
func (s *single) Addr() net.Addr { return &net.TCPAddr{} }
