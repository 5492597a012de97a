package gateway

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// serving starts a gateway that nobody has a secret of, and gives its address.
func serving(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Options{Listener: l})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- g.Serve(t.Context()) }()
	t.Cleanup(func() {
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// Who has no secret holds no connection for long, be it by a request that does not
// end or by an answer that is not read. R-IP-05
func TestSlowStrangers(t *testing.T) {
	at := serving(t)
	dial := func() net.Conn {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(4 * patience))
		return c
	}
	var all sync.WaitGroup
	for _, request := range []string{"POST /enter", "POST /leave", "POST /v1/agent/tool_permission", "GET /v1/approvals",
		"GET /", "POST /nothing"} {
		c := dial()
		fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nContent-Type: application/json\r\nContent-Length: "+
			"1000\r\n\r\n{", request, at, at)
		all.Go(func() {
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the rest of %s is waited for", request)
			}
		})
	}
	unread := dial()
	all.Go(func() {
		many := strings.Repeat("GET /app.js HTTP/1.1\r\nHost: "+at+"\r\n\r\n", 100)
		err := error(nil)
		for err == nil {
			_, err = io.WriteString(unread, many)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("who does not read is waited for")
		}
	})
	all.Wait()
}

// A connection whose other end was closed is nobody's, not root's: the kernel
// shows it with the user 0. R-IP-01
func TestHungUpIsNobody(t *testing.T) {
	for name, hangUp := range map[string]func(net.Conn){
		"closed": func(c net.Conn) { c.Close() },
		"reset":  func(c net.Conn) { c.(*net.TCPConn).SetLinger(0); c.Close() },
	} {
		t.Run(name, func(t *testing.T) { hungUp(t, hangUp) })
	}
}

func hungUp(t *testing.T, hangUp func(net.Conn)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if o := lookUp(s.LocalAddr(), s.RemoteAddr()); !o.known || o.uid != os.Geteuid() || o.peer == nil ||
		o.peer.PID != os.Getpid() {
		t.Errorf("while it is open: %+v", o)
	}
	hangUp(c)
	if _, err := s.Read(make([]byte, 1)); err == nil {
		t.Fatal("the connection continues")
	}
	o := lookUp(s.LocalAddr(), s.RemoteAddr())
	for _, uid := range []int{0, os.Geteuid(), 12345} {
		if o.may(uid) {
			t.Errorf("what was hung up counts as a connection of user %d: %+v", uid, o)
		}
	}
}
