package gateway

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// One user holds a part of the connections at most, and gets room again for each that is closed. R-IP-05
func TestConnectionsOfOneUser(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	l := newBounded(inner)
	served := make(chan net.Conn, maxConnections)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	var held []net.Conn
	for range maxOfUser {
		dial()
		held = append(held, <-served)
	}
	over := dial()
	over.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := over.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("one connection more than a user may have: %v", err)
	}
	if len(l.room) >= maxConnections || len(served) > 0 {
		t.Errorf("%d of %d taken by one user", len(l.room), maxConnections)
	}
	held[0].Close()
	dial()
	select {
	case c := <-served:
		c.Close()
	case <-time.After(20 * time.Second):
		t.Error("no room again for one that was closed")
	}
}
