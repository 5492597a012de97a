package ipc

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A connection is used again, one that the daemon closed is no obstacle, and a request
// that it may have read is never sent twice.
func TestWires(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const ok = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{\"id\":\"x\"}"
	var connections, requests atomic.Int32
	closed := make(chan struct{})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n := connections.Add(1)
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for i := 1; ; i++ {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					io.Copy(io.Discard, r.Body)
					requests.Add(1)
					switch {
					case n == 2 && i == 2: // it is closed without an answer
						return
					case n == 1 && i == 2:
						io.WriteString(c, ok)
						c.Close()
						close(closed)
						return
					}
					io.WriteString(c, ok)
				}
			}()
		}
	}()
	c := &Client{Socket: socket}
	defer c.Close()
	start := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		s, err := c.StartExec(ctx, ExecRequest{Session: "s", Command: "true"})
		if err == nil && s.ID != "x" {
			t.Errorf("%+v", s)
		}
		return err
	}
	for i := range 2 {
		if err := start(); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("two requests took %d connections", n)
	}
	<-closed
	if err := start(); err != nil || connections.Load() != 2 {
		t.Errorf("after the daemon closed: %v, %d connections", err, connections.Load())
	}
	before := requests.Load()
	if err := start(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("without an answer: %v", err)
	}
	if n := requests.Load() - before; n != 1 {
		t.Errorf("it was sent %d times", n)
	}
	if err := start(); err != nil || connections.Load() != 3 {
		t.Errorf("and then: %v, %d connections", err, connections.Load())
	}
}

// What a header can't hold is refused before anything is sent.
func TestPostRefusesControlCharacters(t *testing.T) {
	for _, c := range []*Client{{User: "a\r\nX: y"}, {Secret: "s\n"}, {User: "a\x00"}, {User: "a\x7f"}} {
		c.Socket = filepath.Join(t.TempDir(), "nobody")
		if _, err := c.StartExec(t.Context(), ExecRequest{Session: "s", Command: "true"}); err == nil ||
			!strings.Contains(err.Error(), "control character") {
			t.Errorf("%q, %q: %v", c.User, string(c.Secret), err)
		}
	}
}
