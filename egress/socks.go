package egress

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"sandboxd/internal/accept"
)

// Codes of SOCKS 5 (RFC 1928).
const (
	socksVersion   = 5
	socksNoAuth    = 0
	socksNoMethod  = 0xff
	socksConnect   = 1
	socksIPv4      = 1
	socksName      = 3
	socksIPv6      = 4
	socksFailed    = 1
	socksNotAllow  = 2
	socksNoCommand = 7
	socksNoAddress = 8
)

// ServeSOCKS answers SOCKS 5 CONNECT requests on l until the gate is closed.
// It closes l. Names are resolved here ("socks5h").
func (g *Gate) ServeSOCKS(l net.Listener) {
	g.accept(l, g.socks)
}

// accept runs f for each connection of l.
func (g *Gate) accept(l net.Listener, f func(*inner)) {
	in, ok := g.serve(accept.Retrying(l))
	if !ok {
		return
	}
	defer g.work.Done()
	defer l.Close()
	for {
		conn, err := in.Accept()
		if err != nil {
			return
		}
		g.work.Go(func() { f(conn.(*inner)) })
	}
}

// socks is one connection.
func (g *Gate) socks(c *inner) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(headTimeout))
	r := bufio.NewReader(c.TCPConn)
	if !greet(c, r) {
		return
	}
	t, code, err := readRequest(r)
	if err != nil {
		if code != 0 {
			if code == socksNotAllow {
				g.refuse("a SOCKS request", err.Error(), "")
			}
			reply(c, code)
		}
		return
	}
	c.SetDeadline(time.Time{})
	ctx, stop := g.whileOpen(c, r)
	out, err := g.reach(ctx, t)
	if early := stop(); early != nil {
		if out != nil {
			out.Close()
		}
		return
	}
	if err != nil {
		var refused *refusedError
		code := byte(socksFailed)
		if errors.As(err, &refused) {
			code = socksNotAllow
		}
		reply(c, code)
		return
	}
	if !reply(c, 0) {
		out.Close()
		return
	}
	(&tunnel{gate: g, client: c, from: r, link: out}).run()
}

// greet agrees on no authentication: only the command can connect.
func greet(c *inner, r *bufio.Reader) bool {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil || head[0] != socksVersion {
		return false
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(r, methods); err != nil {
		return false
	}
	for _, m := range methods {
		if m == socksNoAuth {
			_, err := c.Write([]byte{socksVersion, socksNoAuth})
			return err == nil
		}
	}
	c.Write([]byte{socksVersion, socksNoMethod})
	return false
}

// readRequest reads a SOCKS request. With an error, code is the reply, 0 for none.
func readRequest(r *bufio.Reader) (t Target, code byte, err error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return t, 0, err
	}
	if head[0] != socksVersion || head[2] != 0 {
		return t, socksFailed, errors.New("not SOCKS 5")
	}
	var host []byte
	switch head[3] {
	case socksIPv4:
		host = make([]byte, 4)
	case socksIPv6:
		host = make([]byte, 16)
	case socksName:
		n, err := r.ReadByte()
		if err != nil {
			return t, 0, err
		}
		host = make([]byte, n)
	default:
		return t, socksNoAddress, errors.New("unknown kind of address")
	}
	port := make([]byte, 2)
	_, hostErr := io.ReadFull(r, host)
	_, portErr := io.ReadFull(r, port)
	if err := errors.Join(hostErr, portErr); err != nil {
		return t, 0, err
	}
	if head[1] != socksConnect {
		return t, socksNoCommand, errors.New("only CONNECT is known")
	}
	number := binary.BigEndian.Uint16(port)
	if number == 0 {
		return t, socksNotAllow, errors.New("port 0 is no port")
	}
	if head[3] == socksName {
		if t, err = parseHost(string(host), number, false); err != nil {
			return t, socksNotAllow, err
		}
		return t, 0, nil
	}
	addr, _ := netip.AddrFromSlice(host)
	return Target{Addr: addr.Unmap(), Port: number}, 0, nil
}

// reply answers; the bound address of the other side is nobody's business.
func reply(c *inner, code byte) bool {
	_, err := c.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err == nil
}

// errHungUp means that the client disconnected while it waited.
var errHungUp = errors.New("the client went away")

// whileOpen returns a context that ends when the client disconnects. stop ends the watch, after
// which r can be read again; it returns errGone for a client that has disconnected.
func (g *Gate) whileOpen(c *inner, r *bufio.Reader) (ctx context.Context, stop func() error) {
	ctx, cancel := context.WithCancelCause(g.ctx)
	watched := make(chan error, 1)
	go func() {
		_, err := r.Peek(1)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			cancel(errHungUp)
			watched <- errHungUp
			return
		}
		watched <- nil
	}()
	return ctx, func() error {
		c.SetReadDeadline(time.Unix(1, 0))
		err := <-watched
		c.SetReadDeadline(time.Time{})
		cancel(nil)
		return err
	}
}

// Forward connects each connection to l with one address, which the configuration has granted. It
// closes l.
func (g *Gate) Forward(l net.Listener, to netip.AddrPort) {
	t := Target{Addr: to.Addr().Unmap(), Port: to.Port()}
	g.accept(l, func(c *inner) {
		defer c.Close()
		conn, err := g.opts.Dial(g.ctx, to)
		if err != nil {
			return
		}
		out, err := g.link(t, t.Addr, conn)
		if err != nil {
			return
		}
		(&tunnel{gate: g, client: c, from: bufio.NewReader(c.TCPConn), link: out, raw: true}).run()
	})
}
