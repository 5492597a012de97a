package egress

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/ipc/ipctest"
)

// world is what the catalogue is tried against: names, what is listed, and the
// machine's own addresses.
type world struct {
	Names  map[string][]string
	Listed []string
	Own    []string
}

// attempt is one line of the catalogue. Bytes are written as the characters of
// the same number.
type attempt struct {
	ID, To, Send, Then, Why string
	Times                   int
	May                     []string // addresses that it may reach
	Silent                  bool     // not a byte of Then may arrive
	Never                   string   // must not arrive
}

func bytesOf(s string) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return b
}

func readWorld(t testing.TB) (w world, list []attempt) {
	t.Helper()
	text, err := os.ReadFile("testdata/world.json")
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("testdata/hostile.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var a attempt
		if err := d.Decode(&a); err == io.EOF {
			return w, list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
}

// listed is a policy that asks nobody.
type listed struct {
	mu   sync.Mutex
	list []string
}

func (l *listed) Judge(_ context.Context, t Target) Ruling {
	return Ruling{Allowed: l.Allows(t), Why: "it is not listed"}
}

func (l *listed) Allows(t Target) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.list, func(s string) bool {
		rest, wild := strings.CutPrefix(s, "*")
		return s == t.String() || wild && t.Name != "" && strings.HasSuffix(t.String(), rest)
	})
}

func (l *listed) Denied(netip.Addr, uint16) bool { return false }

func (l *listed) Granted(addr netip.Addr, port uint16) bool {
	return l.Allows(Target{Addr: addr, Port: port})
}

// Resolver of the catalogue's names; after "then" come the later answers.
type fakeResolver struct {
	mu    sync.Mutex
	names map[string][]string
	asked map[string]int
}

func (r *fakeResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, ok := r.names[strings.TrimSuffix(host, ".")]
	if !ok {
		return nil, fmt.Errorf("no such host %q", host)
	}
	r.asked[host]++
	if i := slices.Index(list, "then"); i >= 0 {
		if r.asked[host] == 1 {
			list = list[:i]
		} else {
			list = list[i+1:]
		}
	}
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

// fakeNet replaces every server: it accepts any bytes and answers with HTTP.
type fakeNet struct {
	t       testing.TB
	mu      sync.Mutex
	dialled []string
	arrived strings.Builder
}

func (n *fakeNet) dial(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	n.dialled = append(n.dialled, addr.String())
	n.mu.Unlock()
	ours, theirs := tcpPair(n.t)
	go func() {
		defer theirs.Close()
		buf := make([]byte, 4096)
		for {
			k, err := theirs.Read(buf)
			n.mu.Lock()
			n.arrived.Write(buf[:k])
			n.mu.Unlock()
			if err != nil {
				return
			}
			if strings.HasSuffix(string(buf[:k]), "\r\n\r\n") {
				io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			}
		}
	}()
	return ours, nil
}

func tcpPair(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// opened is a gate with both its listeners.
func opened(t testing.TB, o Options) (g *Gate, http, socks string) {
	t.Helper()
	g = Open(o)
	var addrs []string
	for _, serve := range []func(net.Listener){g.ServeHTTP, g.ServeSOCKS} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addrs = append(addrs, l.Addr().String())
		go serve(ipctest.Short(l))
	}
	t.Cleanup(func() { g.Close() })
	return g, addrs[0], addrs[1]
}

// Issue "The network", 2: no spelling and no resolution reaches a server that
// is not listed. R-OS-09
func TestHostileCatalogue(t *testing.T) {
	w, list := readWorld(t)
	if len(list) < 60 {
		t.Fatalf("the catalogue has %d entries", len(list))
	}
	var own []netip.Addr
	for _, s := range w.Own {
		own = append(own, netip.MustParseAddr(s))
	}
	for _, a := range list {
		t.Run(a.ID, func(t *testing.T) {
			t.Parallel()
			servers := &fakeNet{t: t}
			_, http, socks := opened(t, Options{Policy: &listed{list: w.Listed},
				Resolver: &fakeResolver{names: w.Names, asked: map[string]int{}},
				Dial:     servers.dial, Own: func() ([]netip.Addr, error) { return own, nil }})
			to := map[string]string{"http": http, "socks": socks}[a.To]
			for range max(a.Times, 1) {
				play(t, to, a)
			}
			servers.mu.Lock()
			defer servers.mu.Unlock()
			for _, addr := range servers.dialled {
				if !slices.Contains(a.May, addr) {
					t.Errorf("it reached %s: %s", addr, a.Why)
				}
			}
			if len(servers.dialled) > 1 && a.Times > 1 {
				t.Errorf("the second answer of the resolver was dialled: %v", servers.dialled)
			}
			arrived := servers.arrived.String()
			if a.Silent && arrived != "" {
				t.Errorf("%q arrived: %s", arrived, a.Why)
			}
			if strings.Contains(arrived, "evil.example") || a.Never != "" && strings.Contains(arrived, a.Never) {
				t.Errorf("%q arrived: %s", arrived, a.Why)
			}
		})
	}
}

// play sends what an attempt says and reads until the other side is done.
func play(t *testing.T, to string, a attempt) {
	conn, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	conn.Write(bytesOf(a.Send))
	if a.Then != "" {
		r := bufio.NewReader(conn)
		if a.To == "http" {
			if line, err := r.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
				t.Fatalf("no tunnel: %q %v", line, err)
			}
			r.ReadString('\n')
		} else if b, err := r.Peek(12); err != nil || b[3] != 0 {
			t.Fatalf("no tunnel: %v %v", b, err)
		}
		conn.Write(bytesOf(a.Then))
	}
	conn.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, conn)
}
