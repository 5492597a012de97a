package supervisor

import (
	"context"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// short is a listener that has no descriptor left, once.
type short struct {
	net.Listener
	failed bool
}

func (s *short) Accept() (net.Conn, error) {
	if !s.failed {
		s.failed = true
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return s.Listener.Accept()
}

// A port stays published where descriptors run out for a moment (R-OS-09).
func TestPublishedWithoutDescriptorsForAMoment(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &proxySession{}
	o.ctx, o.stop = context.WithCancel(t.Context())
	o.work.Go(func() {
		o.letIn(&short{Listener: l}, func() (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { io.WriteString(theirs, "hello"); theirs.Close() }()
			return ours, nil
		})
	})
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	b := make([]byte, 5)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
		t.Errorf("got %q, %v", b, err)
	}
	l.Close()
	o.stop()
	o.work.Wait()
}
