package ipc

import (
	"context"
	"net"
	"net/http"

	"golang.org/x/sys/unix"
)

// with is c for one request that carries descriptors of our own, which stay
// ours to close: over stdio.sock, and with the request's first byte. Without any it is c.
func (c *Client) with(r *ExecRequest) *Client {
	names := r.Passed.Names()
	if len(names) == 0 {
		return c
	}
	r.Stdio = names
	var fds []int
	r.Passed.each(func(_ string, p *Passed) { fds = append(fds, int(p.File.Fd())) })
	one := &Client{Socket: stdioPath(c.Socket), Secret: c.Secret, User: c.User, Start: c.Start}
	one.once.Do(func() {
		one.http = newHTTP(func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := one.dial(ctx, one.Socket)
			if err != nil {
				return nil, err
			}
			return &passing{UnixConn: conn.(*net.UnixConn), rights: unix.UnixRights(fds...)}, nil
		})
		one.http.Transport.(*http.Transport).DisableKeepAlives = true
	})
	return one
}

// passing is a connection that sends descriptors with the first that is written.
type passing struct {
	*net.UnixConn
	rights []byte
}

func (p *passing) Write(b []byte) (n int, err error) {
	if rights := p.rights; rights != nil {
		p.rights = nil
		if n, _, err = p.WriteMsgUnix(b, rights, nil); err != nil {
			return n, err
		}
	}
	if n == len(b) {
		return n, nil
	}
	more, err := p.UnixConn.Write(b[n:])
	return n + more, err
}
