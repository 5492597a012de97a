package ipc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"
)

// ErrUnanswered is in the error where the daemon accepts connections and answers none of them.
var ErrUnanswered = errors.New("the daemon does not answer")

// attempts is how often the daemon leaves a request of the kind that waits for nobody unanswered, each for
// Client.Patience, before the request fails.
const attempts = 10

// watched returns a context for one request, and two functions: headed is called when the answer's head is there,
// closed when its body is closed. As long as there is no head, the daemon is asked for its version each time that
// Client.Patience has passed. The context ends where it does not answer that and the request waits for nobody.
func (c *Client) watched(ctx context.Context, waits bool) (watched context.Context, headed, closed func()) {
	if c.Patience <= 0 {
		return ctx, func() {}, func() {}
	}
	request, end := context.WithCancelCause(ctx)
	watching, stop := context.WithCancel(request)
	ended := make(chan struct{})
	timer := time.AfterFunc(c.Patience, func() {
		defer close(ended)
		if err := c.watch(watching, waits); err != nil {
			end(err)
		}
	})
	headed = func() {
		stop()
		if !timer.Stop() {
			<-ended
		}
	}
	return request, headed, func() { end(nil) }
}

// watch asks for the version until ctx ends. It returns an error where the request is to fail.
func (c *Client) watch(ctx context.Context, waits bool) error {
	for failed := 1; ; failed++ {
		began := time.Now()
		probe, cancel := context.WithTimeout(ctx, c.Patience)
		err := c.silent(probe)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			failed = 0
		case !waits && failed >= attempts-1:
			return err
		case c.Unanswered != nil:
			c.Unanswered(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Until(began.Add(c.Patience))):
		}
	}
}

// silent returns an error where the daemon accepts a connection and does not answer before ctx ends.
func (c *Client) silent(ctx context.Context) error {
	pid := 0
	other := Client{Socket: c.Socket, User: c.User}
	other.once.Do(func() {
		other.http = newHTTP(func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx, c.Socket)
			if err == nil {
				pid = serverPID(conn)
			}
			return conn, err
		})
	})
	defer other.Close()
	if _, err := other.Version(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return nil // an answer, or the error that the request itself has
	}
	if pid == 0 {
		return fmt.Errorf("%w at %q: find its process (pgrep -a sandboxd) and end it, or have the operator restart it",
			ErrUnanswered, c.Socket)
	}
	return fmt.Errorf("%w at %q: ps %d shows its state; kill -CONT %[3]d resumes a stopped one (T), kill -9 %[3]d ends it",
		ErrUnanswered, c.Socket, pid)
}

// serverPID is the daemon that listens at the other end of conn; 0: another process does, such as the service manager.
func serverPID(conn net.Conn) (pid int) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) {
		if p, err := credentials(int(fd)); err == nil {
			if filepath.Base(p.Exe) == "sandboxd" {
				pid = p.PID
			}
			p.close()
		}
	})
	return pid
}

// answerBody is an answer's body that ends its request's context.
type answerBody struct {
	io.ReadCloser
	closed func()
}

func (b *answerBody) Close() error {
	b.closed()
	return b.ReadCloser.Close()
}
