package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Budget bounds the connections of several gates together.
type Budget struct{ slots chan struct{} }

// NewBudget returns a budget of n connections.
func NewBudget(n int) *Budget { return &Budget{make(chan struct{}, max(n, 1))} }

// link is a connection to a target, on the gate's books.
type link struct {
	net.Conn
	gate   *Gate
	target Target
	addr   netip.Addr
	use    *Use
	timer  *time.Timer
	once   sync.Once
}

func (g *Gate) link(t Target, addr netip.Addr, conn net.Conn) (*link, error) {
	l := &link{Conn: conn, gate: g, target: t, addr: addr}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	g.links[l] = true
	l.use = g.use(t.String())
	l.use.Connections++
	l.use.Addr = addr.String()
	if d := g.opts.Limits.Total; d > 0 {
		l.timer = time.AfterFunc(d, func() { l.Close() })
	}
	return l, nil
}

// Close ends the connection and takes it off the books.
func (l *link) Close() error {
	l.once.Do(func() {
		l.gate.mu.Lock()
		delete(l.gate.links, l)
		l.gate.mu.Unlock()
		if l.timer != nil {
			l.timer.Stop()
		}
	})
	return l.Conn.Close()
}

// Read and Write count bytes of plain HTTP requests; tunnels count themselves. Traffic in one
// direction extends the deadline of the other one.
func (l *link) Read(b []byte) (int, error) {
	l.SetDeadline(time.Now().Add(l.gate.opts.Limits.Idle))
	n, err := l.Conn.Read(b)
	return n, l.count(0, n, err)
}

func (l *link) Write(b []byte) (int, error) {
	l.SetDeadline(time.Now().Add(l.gate.opts.Limits.Idle))
	n, err := l.Conn.Write(b)
	return n, l.count(n, 0, err)
}

// errSpent ends connections when the command has used up its bytes.
var errSpent = errors.New("the command has used up the bytes that it may send and receive")

// count books n bytes; it returns err, or errSpent when that was too much.
func (l *link) count(sent, received int, err error) error {
	g := l.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	l.use.Sent += int64(sent)
	l.use.Received += int64(received)
	g.bytes += int64(sent + received)
	if err == nil && g.opts.Limits.Bytes > 0 && g.bytes > g.opts.Limits.Bytes {
		return errSpent
	}
	return err
}

// inner is a connection from inside the sandbox, which holds a slot.
type inner struct {
	*net.TCPConn
	gate *Gate
	once sync.Once
}

func (c *inner) Close() error {
	err := c.TCPConn.Close()
	c.once.Do(func() { c.gate.leave(c) })
	return err
}

func (g *Gate) leave(c *inner) {
	g.mu.Lock()
	delete(g.inside, c)
	g.mu.Unlock()
	<-g.slots
	if g.opts.Budget != nil {
		<-g.opts.Budget.slots
	}
}

// listener hands out connections as long as there are slots for them; more of
// them wait in the kernel's queue, which is short.
type listener struct {
	net.Listener
	gate *Gate
}

func (l *listener) Accept() (net.Conn, error) {
	g := l.gate
	if !take(g.ctx, g.slots) {
		return nil, net.ErrClosed
	}
	if b := g.opts.Budget; b != nil && !take(g.ctx, b.slots) {
		<-g.slots
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err == nil {
		c := &inner{TCPConn: conn.(*net.TCPConn), gate: g}
		g.mu.Lock()
		closed := g.closed
		if !closed {
			g.inside[c] = true
		}
		g.mu.Unlock()
		if !closed {
			return c, nil
		}
		conn.Close()
		err = net.ErrClosed
	}
	<-g.slots
	if g.opts.Budget != nil {
		<-g.opts.Budget.slots
	}
	return nil, err
}

func take(ctx context.Context, slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// serve registers a listener with the gate. It reports whether the gate is open.
func (g *Gate) serve(l net.Listener) (net.Listener, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		l.Close()
		return nil, false
	}
	g.listeners = append(g.listeners, l)
	g.work.Add(1)
	return &listener{l, g}, true
}
