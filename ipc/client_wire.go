package ipc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/internal/fdconn"
)

// wire is a connection on which requests to execute follow each other. An
// http.Transport has two goroutines for each of its own: handing a request to them,
// and its answer back, takes longer than sending it.
type wire struct {
	conn  net.Conn
	read  *bufio.Reader
	lines *bufio.Reader // of the answer's body
}

// maxIdle bounds how many wires wait for their next request.
const maxIdle = 16

// wires are those that wait. The zero value is empty and ready.
type wires struct {
	mu   sync.Mutex
	idle []*wire
}

// take returns one that waits, or nil. The daemon may have closed it meanwhile.
func (l *wires) take() *wire {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.idle)
	if n == 0 {
		return nil
	}
	one := l.idle[n-1]
	l.idle = l.idle[:n-1]
	return one
}

// put lets one wait.
func (l *wires) put(one *wire) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.idle) >= maxIdle {
		one.conn.Close()
		return
	}
	l.idle = append(l.idle, one)
}

func (l *wires) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.idle {
		one.conn.Close()
	}
	l.idle = nil
}

// passing is a connection that sends descriptors with the first that is written.
type passing struct {
	*net.UnixConn
	fds []int
}

func (p *passing) Write(b []byte) (int, error) {
	fds := p.fds
	p.fds = nil
	return fdconn.Write(p.UnixConn, b, fds...)
}

// exec sends a request to execute. Descriptors of our own, which stay ours to close, go
// over stdio.sock and with the request's first byte.
func (c *Client) exec(ctx context.Context, path string, r ExecRequest) (*reply, error) {
	var fds []int
	if names := r.Passed.names(); len(names) > 0 {
		r.Stdio = names
		r.Passed.each(func(_ string, p *Passed) { fds = append(fds, int(p.File.Fd())) })
	}
	body, err := encodeBody(r)
	if err != nil {
		return nil, err
	}
	request, err := c.post(path, body, fds != nil)
	if err != nil {
		return nil, err
	}
	ctx, headed, closed := c.watched(ctx, true)
	defer closed()
	defer headed()
	for {
		var one *wire
		if fds == nil {
			one = c.wires.take()
		}
		again := one != nil
		if one == nil {
			if one, err = c.wire(ctx, fds); err != nil {
				return nil, requestError(err)
			}
		}
		a, err := c.over(ctx, one, request)
		if err == nil {
			return a, nil
		}
		err = requestError(err)
		// One that the daemon had closed, or closed without reading the request.
		if !again || !errors.Is(err, errUnread) || ctx.Err() != nil {
			return nil, err
		}
	}
}

// post writes a request with a body of JSON; last: nothing follows it on its connection.
func (c *Client) post(path string, body []byte, last bool) ([]byte, error) {
	b := make([]byte, 0, 512+len(body))
	b = append(append(append(b, "POST "...), path...),
		" HTTP/1.1\r\nHost: sandboxd\r\nContent-Type: application/json\r\nContent-Length: "...)
	b = append(strconv.AppendInt(b, int64(len(body)), 10), "\r\n"...)
	for _, field := range []struct{ what, name, value string }{{"name of the user", UserHeader + ": ", c.User},
		{"session's secret", "Authorization: Bearer ", string(c.Secret)}} {
		if strings.ContainsFunc(field.value, func(r rune) bool { return r < ' ' || r == 0x7f }) { // RFC 9110, 5.5
			return nil, fmt.Errorf("the %s has a control character, which can't be sent", field.what)
		}
		if field.value != "" {
			b = append(append(append(b, field.name...), field.value...), "\r\n"...)
		}
	}
	if last {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(append(b, "\r\n"...), body...), nil
}

// wire connects, to send fds with the first request where there are any.
func (c *Client) wire(ctx context.Context, fds []int) (*wire, error) {
	socket := c.Socket
	if fds != nil {
		socket = stdioPath(c.Socket)
	}
	conn, err := c.dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	one := &wire{conn: conn, read: bufio.NewReader(conn)}
	if fds != nil {
		one.conn = &passing{UnixConn: conn.(*net.UnixConn), fds: fds}
	}
	return one, nil
}

// linesOf reads the lines of an answer.
func (one *wire) linesOf(a *reply) *bufio.Reader {
	if one.lines == nil {
		one.lines = newLines(a)
	} else {
		one.lines.Reset(a)
	}
	return one.lines
}

// errUnread is returned when a connection ended before the request was read.
var errUnread = errors.New("the daemon closed the connection")

// over sends a request over a wire and reads the head of the answer. The body's end
// gives the wire back, if it can be used again.
func (c *Client) over(ctx context.Context, one *wire, request []byte) (*reply, error) {
	stop := context.AfterFunc(ctx, func() { one.conn.SetDeadline(time.Unix(1, 0)) })
	resp, err := one.exchange(request)
	if !stop() || err != nil {
		one.conn.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	a := &reply{resp: resp, wire: one, client: c}
	if accepted(resp) {
		return a, nil
	}
	defer a.Close()
	return nil, readError(resp)
}

func (one *wire) exchange(request []byte) (*http.Response, error) {
	_, err := one.conn.Write(request)
	if _, none := one.read.Peek(1); none != nil { // a daemon that refuses may have answered without reading all
		if err == nil {
			err = none
		}
		// The kernel reports a peer that closes with unread bytes (unix(7)).
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
			err = errUnread
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return http.ReadResponse(one.read, nil)
}

// reply is the body of an answer.
type reply struct {
	resp   *http.Response
	wire   *wire
	client *Client

	mu   sync.Mutex
	done bool // the wire is another's, or closed
}

func (a *reply) Read(b []byte) (int, error) {
	n, err := a.resp.Body.Read(b)
	if err == io.EOF {
		a.settle(!a.resp.Close)
	}
	return n, err
}

// Close ends it; the unread rest is lost.
func (a *reply) Close() error {
	a.settle(false)
	return nil
}

func (a *reply) settle(again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	a.done = true
	if again {
		a.client.wires.put(a.wire)
		return
	}
	a.wire.conn.Close()
}
