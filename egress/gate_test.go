package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/proxy"
)

var public = netip.MustParseAddr("203.0.113.5")

// site resolves every name to one public address and carries every connection
// there to addr.
func site(addr string, p Policy) Options {
	return Options{Policy: p, Resolver: everywhere{}, Own: func() ([]netip.Addr, error) { return nil, nil },
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		}}
}

type everywhere struct{}

func (everywhere) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{public}, nil
}

// dialConnect opens a tunnel and returns it with the status line.
func dialConnect(t testing.TB, through, target string) (net.Conn, *bufio.Reader, string) {
	t.Helper()
	conn, err := net.Dial("tcp", through)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(line, " 200 ") {
		r.ReadString('\n')
	}
	return conn, r, line
}

// What is listed passes: TLS and plain, through CONNECT, as a request, and
// through SOCKS, however the host is spelled. R-OS-09
func TestListedPasses(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Host, r.URL.Path)
	})
	secure := httptest.NewTLSServer(handler)
	defer secure.Close()
	plain := httptest.NewServer(handler)
	defer plain.Close()
	policy := &listed{list: []string{"good.example:443", "good.example:80", "*.wild.example:443", "*.wild.example:80",
		"xn--bcher-kva.example:80"}}
	for _, scheme := range []string{"https", "http"} {
		srv := map[string]*httptest.Server{"https": secure, "http": plain}[scheme]
		g, httpAddr, socksAddr := opened(t, site(srv.Listener.Addr().String(), policy))
		dialer, err := proxy.SOCKS5("tcp", socksAddr, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for way, transport := range map[string]*http.Transport{
			"http":  {Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: httpAddr})},
			"socks": {Dial: dialer.Dial},
		} {
			transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
			client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
			for _, host := range []string{"good.example", "GOOD.Example", "good.example.", "a.b.wild.example"} {
				res, err := client.Get(scheme + "://" + host + "/x")
				if err != nil {
					t.Errorf("%s %s %s: %v", scheme, way, host, err)
					continue
				}
				body, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if res.StatusCode != 200 || !strings.HasSuffix(string(body), " /x") {
					t.Errorf("%s %s %s: %d %s", scheme, way, host, res.StatusCode, body)
				}
			}
			transport.CloseIdleConnections()
		}
		uses := g.Close()
		if len(uses) != 2 || uses[0].Sent == 0 || uses[0].Received == 0 || uses[0].Connections == 0 ||
			uses[0].Addr != public.String() {
			t.Errorf("%s: the books say %+v", scheme, uses)
		}
	}
}

// A server that speaks first is heard, and one that echoes gets all of it.
func TestTunnelCarriesEverything(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				io.WriteString(c, "220 ready\n")
				io.Copy(c, c)
			}()
		}
	}()
	_, through, _ := opened(t, site(l.Addr().String(), &listed{list: []string{"mail.example:25"}}))
	for _, say := range []string{"hello\n", "GET lost\n", strings.Repeat("x", 3<<20)} {
		conn, r, line := dialConnect(t, through, "mail.example:25")
		if !strings.Contains(line, " 200 ") {
			t.Fatal(line)
		}
		if got, err := r.ReadString('\n'); got != "220 ready\n" {
			t.Fatalf("%q %v", got, err)
		}
		go func() {
			io.WriteString(conn, say)
			conn.(*net.TCPConn).CloseWrite()
		}()
		got, err := io.ReadAll(r)
		if string(got) != say || err != nil {
			t.Fatalf("%d of %d bytes came back: %v", len(got), len(say), err)
		}
	}
}

// waiting is a policy in which a person decides.
type waiting struct {
	answer chan Ruling
	asked  chan Target
}

func (w *waiting) Judge(ctx context.Context, t Target) Ruling {
	w.asked <- t
	select {
	case r := <-w.answer:
		return r
	case <-ctx.Done():
		w.asked <- Target{}
		return Ruling{}
	}
}
func (w *waiting) Allows(Target) bool              { return true }
func (w *waiting) Granted(netip.Addr, uint16) bool { return false }
func (w *waiting) Denied(netip.Addr, uint16) bool  { return false }

// A connection waits for the answer; a denial has a reason in words; a question ends with its
// client; no lookup precedes the approval. R-OS-09
func TestConnectionWaitsForAnswer(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer srv.Close()
	w := &waiting{make(chan Ruling), make(chan Target, 8)}
	resolver := &fakeResolver{names: map[string][]string{"ask.example": {"203.0.113.5"}}, asked: map[string]int{}}
	o := site(srv.Listener.Addr().String(), w)
	o.Resolver = resolver
	var reported []Refusal
	o.Refused = func(r Refusal) { reported = append(reported, r) }
	g, through, socks := opened(t, o)

	go func() {
		<-w.asked
		resolver.mu.Lock()
		if len(resolver.asked) != 0 {
			t.Errorf("looked up before the answer: %v", resolver.asked)
		}
		resolver.mu.Unlock()
		w.answer <- Ruling{Allowed: true}
	}()
	if _, _, line := dialConnect(t, through, "ask.example:80"); !strings.Contains(line, " 200 ") {
		t.Error(line)
	}
	go func() { <-w.asked; w.answer <- Ruling{Why: "a person said no", Hint: "ask them"} }()
	_, _, line := dialConnect(t, through, "ask.example:443")
	if !strings.Contains(line, "403 sandboxd: ask.example:443 is refused: a person said no (ask them)") {
		t.Error(line)
	}
	conn, err := net.Dial("tcp", through)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "CONNECT ask.example:444 HTTP/1.1\r\nHost: x\r\n\r\n")
	<-w.asked
	conn.Close()
	if asked := <-w.asked; asked != (Target{}) {
		t.Errorf("asked about %v", asked)
	}
	conn, err = net.Dial("tcp", socks)
	if err != nil {
		t.Fatal(err)
	}
	conn.Write([]byte("\x05\x01\x00\x05\x01\x00\x03\x0bask.example\x01\xbb"))
	<-w.asked
	conn.Close()
	if asked := <-w.asked; asked != (Target{}) {
		t.Errorf("asked about %v", asked)
	}
	g.Close()
	if len(reported) != 1 || reported[0].Target != "ask.example:443" {
		t.Errorf("got reports %+v", reported)
	}
}

// A policy that is changed cuts what it no longer allows, and nothing else.
func TestRecheckCuts(t *testing.T) {
	l, _ := echo(t)
	policy := &listed{list: []string{"a.example:1", "b.example:1"}}
	g, through, _ := opened(t, site(l, policy))
	a, ar, _ := dialConnect(t, through, "a.example:1")
	b, br, _ := dialConnect(t, through, "b.example:1")
	for _, c := range []struct {
		net.Conn
		r *bufio.Reader
	}{{a, ar}, {b, br}} {
		io.WriteString(c, "x\n")
		if s, err := c.r.ReadString('\n'); s != "x\n" {
			t.Fatal(s, err)
		}
	}
	policy.mu.Lock()
	policy.list = []string{"b.example:1"}
	policy.mu.Unlock()
	g.Recheck()
	if _, err := ar.ReadString('\n'); err == nil {
		t.Error("a connection that is no longer allowed continues")
	}
	io.WriteString(b, "y\n")
	if s, err := br.ReadString('\n'); s != "y\n" {
		t.Error("what is allowed was cut", err)
	}
	if _, _, line := dialConnect(t, through, "a.example:1"); !strings.Contains(line, " 403 ") {
		t.Error(line)
	}
}

func echo(t testing.TB) (addr string, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	return l.Addr().String(), func() { l.Close() }
}

// Limits end the connections beyond them.
func TestLimits(t *testing.T) {
	l, _ := echo(t)
	policy := &listed{list: []string{"a.example:1"}}
	through := func(limits Limits) string {
		o := site(l, policy)
		o.Limits = limits
		_, addr, _ := opened(t, o)
		return addr
	}
	ends := func(what string, conn net.Conn, r *bufio.Reader) {
		if n, err := io.Copy(io.Discard, r); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s: it continues after %d bytes", what, n)
		}
		conn.Close()
	}
	conn, r, _ := dialConnect(t, through(Limits{Idle: 200 * time.Millisecond}), "a.example:1")
	ends("idle", conn, r)
	// What only trickles in one direction is not idle.
	drip, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer drip.Close()
	go func() {
		if c, err := drip.Accept(); err == nil {
			for range 30 {
				time.Sleep(100 * time.Millisecond)
				io.WriteString(c, "x")
			}
			c.Close()
		}
	}()
	o := site(drip.Addr().String(), policy)
	o.Limits.Idle = time.Second
	_, slow, _ := opened(t, o)
	conn, r, _ = dialConnect(t, slow, "a.example:1")
	if b, err := io.ReadAll(r); len(b) != 30 || err != nil {
		t.Errorf("%d of 30 bytes came, one by one: %v", len(b), err)
	}
	conn.Close()
	conn, r, _ = dialConnect(t, through(Limits{Total: 200 * time.Millisecond}), "a.example:1")
	ends("total", conn, r)
	addr := through(Limits{Bytes: 1 << 20})
	conn, r, _ = dialConnect(t, addr, "a.example:1")
	go io.Copy(conn, io.LimitReader(zeros{}, 8<<20))
	ends("bytes", conn, r)
	if _, _, line := dialConnect(t, addr, "a.example:1"); !strings.Contains(line, "used up the bytes") {
		t.Error(line)
	}
	addr = through(Limits{Connections: 4})
	var open []net.Conn
	for range 2 { // two of the four slots wait for connections on the two listeners
		conn, r, _ := dialConnect(t, addr, "a.example:1")
		io.WriteString(conn, "x\n")
		r.ReadString('\n')
		open = append(open, conn)
	}
	late, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	for _, c := range open {
		c.Close()
	}
	io.WriteString(late, "CONNECT a.example:1 HTTP/1.1\r\nHost: a\r\n\r\n")
	late.SetDeadline(time.Now().Add(20 * time.Second))
	if s, err := bufio.NewReader(late).ReadString('\n'); !strings.Contains(s, " 200 ") {
		t.Errorf("a connection that waited for a slot: %q %v", s, err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// Closing the gate ends everything at once, also connections that wait for an answer.
func TestCloseEndsEverything(t *testing.T) {
	l, _ := echo(t)
	g, through, _ := opened(t, site(l, &listed{list: []string{"a.example:1"}}))
	var conns sync.WaitGroup
	for range 20 {
		_, r, line := dialConnect(t, through, "a.example:1")
		if !strings.Contains(line, " 200 ") {
			t.Fatal(line)
		}
		conns.Go(func() { io.Copy(io.Discard, r) })
	}
	g.Close()
	conns.Wait()
	if c, err := net.Dial("tcp", through); err == nil {
		c.Close()
		t.Error("a closed gate takes connections")
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"good.example:443", "[::1]:80", "0x7f.1:1", "b\u00fccher.example:2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := parseTarget(s)
		if err != nil {
			return
		}
		if b, err := parseTarget(a.String()); err != nil || a != b {
			t.Errorf("%q became %v, and that %v: %v", s, a, b, err)
		}
		if a.Name != "" && (net.ParseIP(a.Name) != nil || strings.ToLower(a.Name) != a.Name) {
			t.Errorf("%q became %q", s, a.Name)
		}
	})
}

func FuzzHello(f *testing.F) {
	_, list := readWorld(f)
	for _, a := range list {
		if strings.HasPrefix(a.Then, "\x16") {
			f.Add(bytesOf(a.Then))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		raw, name, err := readHello(bufio.NewReader(strings.NewReader(string(b))))
		if len(raw) > len(b) || err == nil && string(raw) != string(b[:len(raw)]) {
			t.Errorf("%d bytes of %d are other ones", len(raw), len(b))
		}
		if err != nil && name != "" {
			t.Errorf("a name %q and %v", name, err)
		}
	})
}
