package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Policy judges the targets of one command. Its methods are called concurrently.
type Policy interface {
	// Judge decides whether target may be reached. It may block until a person has answered; when
	// ctx ends its result is discarded.
	Judge(ctx context.Context, target Target) Ruling
	// Allows says the same without asking anybody, about a connection that there
	// already is.
	Allows(target Target) bool
	// Granted reports whether this very address is granted, as addresses of this
	// machine and of private networks must be.
	Granted(addr netip.Addr, port uint16) bool
	// Denied reports whether this address is never to be reached, also where a
	// name that is allowed leads to it.
	Denied(addr netip.Addr, port uint16) bool
}

// Ruling is an answer of a Policy.
type Ruling struct {
	Allowed bool
	// the reason of a refusal, and its remedy, for people
	Why, Hint string
}

// Resolver looks names up; [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Limits bound one command; 0 is the default of defaultLimits, except for
// Total and Bytes, of which it is none.
type Limits struct {
	// Connections at once. Further ones wait until one ends.
	Connections int
	// Idle ends a connection on which nothing passes, in either direction.
	Idle time.Duration
	// Total ends a connection, busy or not.
	Total time.Duration
	// Bytes, sent and received over all connections.
	Bytes int64
}

// defaultLimits are those of a command for which nothing else is configured.
func defaultLimits() Limits { return Limits{Connections: 1024, Idle: 10 * time.Minute} }

// Options configure a gate. Policy is required.
type Options struct {
	Policy Policy
	Limits Limits
	// Budget bounds the connections of all gates together; nil: no bound.
	Budget *Budget
	// Refused is called for each refused target, once per target.
	Refused func(Refusal)

	// Inside connects to a port of the command's own localhost, which is what localhost, 127.0.0.0/8, ::1, 0.0.0.0, ::
	// and Machine, the machine's own name, mean in its sandbox; nil: they mean nothing.
	Inside  func(ctx context.Context, port uint16) (net.Conn, error)
	Machine string

	// Resolver, Dial and Own are the machine's where they are nil.
	Resolver Resolver
	Dial     func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	Own      func() ([]netip.Addr, error)
}

// Refusal is one target that was refused.
type Refusal struct {
	Target    string // host:port, or, quoted, the target as the client wrote it
	Why, Hint string
}

// refusedError is a refusal on its way to the command.
type refusedError struct{ Refusal }

func (e *refusedError) Error() string {
	text := fmt.Sprintf("sandboxd: %s is refused: %s", e.Target, e.Why)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// dialTimeout bounds lookup and connection, without the time that a person takes.
const dialTimeout = 30 * time.Second

// maxAddresses bounds how many addresses of a name are tried.
const maxAddresses = 8

// Gate lets one command out. Its methods may be called concurrently.
type Gate struct {
	opts   Options
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{} // one for each connection from inside
	work   sync.WaitGroup
	http   *http.Server
	client *http.Transport

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	inside    map[net.Conn]bool
	links     map[*link]bool
	uses      map[string]*Use
	order     []string
	bytes     int64
}

// Open returns a gate that refuses only by its policy and by addresses. It serves nothing yet.
func Open(o Options) *Gate {
	d := defaultLimits()
	if o.Limits.Connections <= 0 {
		o.Limits.Connections = d.Connections
	}
	if o.Limits.Idle <= 0 {
		o.Limits.Idle = d.Idle
	}
	if o.Resolver == nil {
		// Go's own: it reads resolv.conf and hosts, and asks for exactly the name.
		o.Resolver = &net.Resolver{PreferGo: true}
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr.String())
		}
	}
	if o.Own == nil {
		o.Own = ownAddresses
	}
	if o.Refused == nil {
		o.Refused = func(Refusal) {}
	}
	g := &Gate{opts: o, slots: make(chan struct{}, o.Limits.Connections), inside: map[net.Conn]bool{},
		links: map[*link]bool{}, uses: map[string]*Use{}}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.client = g.transport(g.dialContext)
	g.http = g.server(http.HandlerFunc(g.handle))
	return g
}

// reach judges, resolves, checks and dials target.
func (g *Gate) reach(ctx context.Context, t Target) (*link, error) {
	if err := g.judge(ctx, t); err != nil {
		return nil, err
	}
	if g.isInside(t) {
		conn, err := g.opts.Inside(ctx, t.Port)
		if err != nil {
			return nil, fmt.Errorf("sandboxd: %s is the command's own localhost, and can't be reached: %w", t, err)
		}
		return g.link(t, t.Addr, conn)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addrs, err := g.resolve(ctx, t)
	if err != nil {
		return nil, err
	}
	var failures []error
	for _, addr := range addrs {
		conn, err := g.opts.Dial(ctx, addr)
		if err == nil {
			return g.link(t, addr.Addr(), conn)
		}
		failures = append(failures, err)
	}
	return nil, fmt.Errorf("sandboxd: %s can't be reached: %w", t, errors.Join(failures...))
}

// isInside reports whether t means the command's own localhost. What the policy grants is a service of the machine.
func (g *Gate) isInside(t Target) bool {
	if g.opts.Inside == nil || g.opts.Policy.Allows(t) || t.Addr.IsValid() && g.opts.Policy.Granted(t.Addr, t.Port) {
		return false
	}
	return t.Addr.IsLoopback() || t.Addr.IsUnspecified() || t.Name == "localhost" ||
		strings.HasSuffix(t.Name, ".localhost") || t.Name != "" && strings.EqualFold(t.Name, g.opts.Machine)
}

// judge refuses t, or lets it be resolved.
func (g *Gate) judge(ctx context.Context, t Target) error {
	g.mu.Lock()
	spent := g.opts.Limits.Bytes > 0 && g.bytes >= g.opts.Limits.Bytes
	g.mu.Unlock()
	if spent {
		return g.refuse(t.String(), "the command has used up the bytes that it may send and receive",
			"[network.limits] bytes")
	}
	if g.isInside(t) {
		return nil
	}
	if t.Addr.IsValid() {
		own, err := g.opts.Own()
		if err != nil {
			return fmt.Errorf("sandboxd: %s: the machine's own addresses can't be read: %w", t, err)
		}
		if local, err := g.checkAddress(t, t.Addr, own); local || err != nil {
			return err // an address that is granted as such needs no other word
		}
	}
	r := g.opts.Policy.Judge(ctx, t)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("sandboxd: %s: %w", t, context.Cause(ctx))
	}
	if !r.Allowed {
		return g.refuse(t.String(), r.Why, r.Hint)
	}
	return nil
}

// checkAddress refuses an address of t that must be granted and is not; local
// reports one that is.
func (g *Gate) checkAddress(t Target, addr netip.Addr, own []netip.Addr) (local bool, err error) {
	what := t.String()
	if t.Name != "" {
		what += " (" + addr.String() + ")"
	}
	if why := never(addr); why != "" {
		return false, g.refuse(what, why, "")
	}
	if g.opts.Policy.Denied(addr, t.Port) {
		return false, g.refuse(what, "the configuration denies this address", "")
	}
	why := isLocal(addr, own)
	if why == "" {
		return false, nil
	}
	if !g.opts.Policy.Granted(addr, t.Port) {
		return false, g.refuse(what, why, fmt.Sprintf("only the configuration can grant it, by its address: [network] "+
			"allow = [%q]", netip.AddrPortFrom(addr, t.Port)))
	}
	return true, nil
}

// resolve returns the addresses of t that are to be dialled. One bad address
// among them refuses the name: honest names have none.
func (g *Gate) resolve(ctx context.Context, t Target) ([]netip.AddrPort, error) {
	if t.Name == "" {
		return []netip.AddrPort{netip.AddrPortFrom(t.Addr, t.Port)}, nil
	}
	// The final dot keeps search domains from making another name of it.
	found, err := g.opts.Resolver.LookupNetIP(ctx, "ip", t.Name+".")
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("sandboxd: %s is allowed, but its name can't be resolved: %w", t, err)
	}
	own, err := g.opts.Own()
	if err != nil {
		return nil, fmt.Errorf("sandboxd: %s: the machine's own addresses can't be read: %w", t, err)
	}
	var addrs []netip.AddrPort
	for _, addr := range found {
		addr = addr.Unmap()
		if addr.Zone() != "" {
			return nil, g.refuse(t.String()+" ("+addr.String()+")", "it is an address of one link", "")
		}
		if _, err := g.checkAddress(t, addr, own); err != nil {
			return nil, err
		}
		if len(addrs) < maxAddresses {
			addrs = append(addrs, netip.AddrPortFrom(addr, t.Port))
		}
	}
	return addrs, nil
}

// refuse puts a refusal on the books and returns it.
func (g *Gate) refuse(what, why, hint string) error {
	r := Refusal{what, why, hint}
	g.mu.Lock()
	use := g.use(what)
	use.Refused++
	first := use.Refused == 1 && use.Target != others
	use.Why = why
	g.mu.Unlock()
	if first {
		g.opts.Refused(r)
	}
	return &refusedError{r}
}

// Recheck ends the connections that the policy denies now. Call it when the policy has changed.
func (g *Gate) Recheck() {
	g.mu.Lock()
	var links []*link
	for l := range g.links {
		links = append(links, l)
	}
	g.mu.Unlock()
	own, err := g.opts.Own()
	for _, l := range links {
		if g.isInside(l.target) {
			continue
		}
		stays := err == nil && g.opts.Policy.Allows(l.target) && !g.opts.Policy.Denied(l.addr, l.target.Port)
		if isLocal(l.addr, own) != "" {
			granted := g.opts.Policy.Granted(l.addr, l.target.Port)
			stays = granted && (stays || l.target.Name == "")
		}
		if !stays {
			l.Close()
			g.refuse(l.target.String(), "the policy was changed, and the connection cut", "")
		}
	}
}

// Close ends every connection and the gate's listeners, and returns the uses.
func (g *Gate) Close() []Use {
	g.mu.Lock()
	g.closed = true
	g.cancel()
	for _, l := range g.listeners {
		l.Close()
	}
	var open []net.Conn
	for c := range g.inside {
		open = append(open, c)
	}
	for l := range g.links {
		open = append(open, l)
	}
	g.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
	g.http.Close()
	g.client.CloseIdleConnections()
	g.work.Wait()
	return g.Uses()
}
