package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// What a request says arrives as it was said, but for what concerns the connection. R-OS-09
func TestRequestArrivesAsItWasSaid(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Trailer", "X-After")
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %v %q %v", r.Method, r.RequestURI, err, b, r.Trailer)
		w.Header().Set("X-After", "came")
	}))
	defer srv.Close()
	_, through, _ := opened(t, site(srv.Listener.Addr().String(), &listed{list: []string{"a.example:80"}}))
	chunked := "Transfer-Encoding: chunked\r\nTrailer: X-T\r\nExpect: 100-continue\r\n"
	for _, way := range []string{"request", "tunnel"} {
		for _, c := range [][4]string{
			{"GET", "/"}, {"GET", "/?p=project.git;a=summary"}, {"GET", "/?a=100%&b=%zz"}, {"GET", "/?b=2&a=1&a="},
			{"GET", "/x?"}, {"GET", "//a//b/../c"},
			{"GET", "/a%2Fb%00?%0a"}, {"PROPFIND", "/dav"}, {"DELETE", "/x"},
			{"POST", "/", chunked, "3\r\nabc\r\n0\r\nX-T: v\r\n\r\n"},
		} {
			method, target, head, body := c[0], c[1], c[2], c[3]
			var conn net.Conn
			var r *bufio.Reader
			if way == "tunnel" {
				conn, r, _ = dialConnect(t, through, "a.example:80")
				fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: a.example\r\n%s\r\n", method, target, head)
			} else {
				var err error
				if conn, err = net.Dial("tcp", through); err != nil {
					t.Fatal(err)
				}
				conn.SetDeadline(time.Now().Add(30 * time.Second))
				r = bufio.NewReader(conn)
				fmt.Fprintf(conn, "%s http://a.example%s HTTP/1.1\r\nHost: a.example\r\n%s\r\n", method, target, head)
			}
			io.WriteString(conn, body)
			res, err := http.ReadResponse(r, &http.Request{Method: method})
			for err == nil && res.StatusCode == http.StatusContinue {
				res, err = http.ReadResponse(r, &http.Request{Method: method})
			}
			if err != nil {
				t.Errorf("%s %s %s: %v", way, method, target, err)
				continue
			}
			got, _ := io.ReadAll(res.Body)
			said, trailer := "", "map[]"
			if body != "" {
				said, trailer = "abc", "map[X-T:[v]]"
			}
			if want := fmt.Sprintf("%s %s <nil> %q %s", method, target, said, trailer); string(got) != want ||
				res.Trailer.Get("X-After") != "came" {
				t.Errorf("%s: %q arrived as %q, trailer %v", way, want, got, res.Trailer)
			}
			conn.Close()
		}
	}
}

const (
	idleLimit = time.Second
	drops     = 24
	dropEvery = 100 * time.Millisecond
)

// A request in a tunnel names its host by Host alone: nothing in its target is sent on that a
// server would read another one from. It is waited for, as one that hangs up is not sent on. R-OS-09
func TestTunnelledTargetNamesNoOtherHost(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("it asked for %q of %s", r.RequestURI, r.Host)
	}))
	defer srv.Close()
	_, through, _ := opened(t, site(srv.Listener.Addr().String(), &listed{list: []string{"a.example:80"}}))
	for _, target := range []string{"x:http://evil.example/", "http:http://evil.example/", "http:evil.example",
		"http://evil.example/", "x://evil.example/"} {
		conn, r, _ := dialConnect(t, through, "a.example:80")
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a.example\r\n\r\n", target)
		if res, err := http.ReadResponse(r, nil); err != nil || res.StatusCode != http.StatusForbidden {
			t.Errorf("%q: %+v %v", target, res, err)
		}
		conn.Close()
	}
}

// drip writes one byte after the other, for longer than the limit.
func drip(w io.Writer) {
	for range drops {
		time.Sleep(dropEvery)
		io.WriteString(w, "x")
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}

// What passes is not idle, in whichever direction: a plain request through the proxy or
// a tunnel is not cut while its body is on the way, nor what a server switched to. R-OS-09
func TestBusyRequestIsNotIdle(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/down":
			drip(w)
		case "/up":
			n, err := io.Copy(io.Discard, r.Body)
			fmt.Fprintf(w, "%d %v", n, err)
		case "/switch":
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			rw.Flush()
			n, _ := io.CopyN(io.Discard, rw, drops) // says nothing until it has heard all
			fmt.Fprintf(conn, "%d", n)
		}
	}))
	t.Cleanup(srv.Close)
	o := site(srv.Listener.Addr().String(), &listed{list: []string{"a.example:80"}})
	o.Limits.Idle = idleLimit
	_, through, _ := opened(t, o)
	for _, way := range []string{"request", "tunnel"} {
		begin := func(t *testing.T, method, path, head string) (net.Conn, *bufio.Reader) {
			if way == "request" {
				conn, err := net.Dial("tcp", through)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { conn.Close() })
				conn.SetDeadline(time.Now().Add(30 * time.Second))
				fmt.Fprintf(conn, "%s http://a.example%s HTTP/1.1\r\nHost: a.example\r\n%s\r\n", method, path, head)
				return conn, bufio.NewReader(conn)
			}
			conn, r, _ := dialConnect(t, through, "a.example:80")
			fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: a.example\r\n%s\r\n", method, path, head)
			return conn, r
		}
		answer := func(t *testing.T, r *bufio.Reader) string {
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(res.Body)
			if err != nil {
				t.Errorf("after %q: %v", b, err)
			}
			return string(b)
		}
		t.Run(way+" down", func(t *testing.T) {
			t.Parallel()
			_, r := begin(t, "GET", "/down", "")
			if got := answer(t, r); len(got) != drops {
				t.Errorf("%d of %d bytes came", len(got), drops)
			}
		})
		t.Run(way+" up", func(t *testing.T) {
			t.Parallel()
			conn, r := begin(t, "POST", "/up", fmt.Sprintf("Content-Length: %d\r\n", drops))
			drip(conn)
			if got, want := answer(t, r), fmt.Sprint(drops, " <nil>"); got != want {
				t.Errorf("%q arrived, want %q", got, want)
			}
		})
		t.Run(way+" switched", func(t *testing.T) {
			t.Parallel()
			conn, r := begin(t, "GET", "/switch", "Connection: Upgrade\r\nUpgrade: echo\r\n")
			if res, err := http.ReadResponse(r, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("%v %v", res, err)
			}
			drip(conn)
			if b, err := io.ReadAll(r); string(b) != fmt.Sprint(drops) {
				t.Errorf("%q arrived, %v", b, err)
			}
		})
		if way == "request" {
			continue // the server that answers it waits for the rest of its body
		}
		t.Run(way+" silent", func(t *testing.T) {
			t.Parallel()
			conn, r := begin(t, "POST", "/up", "Content-Length: 5\r\n")
			io.WriteString(conn, "x")
			started := time.Now()
			r.ReadByte() // of an error, or none
			if d := time.Since(started); d > 10*idleLimit {
				t.Errorf("it is ended after %v", d)
			}
		})
	}
}
