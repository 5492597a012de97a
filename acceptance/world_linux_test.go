package acceptance

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// world is a network of its own: a machine, in whose network namespace the
// daemon runs, and behind it servers in another one, with a resolver. Nothing
// of it reaches the real network.
type world struct {
	t *testing.T
	// names are what the resolver answers; after "then" come the later answers.
	mu    sync.Mutex
	names map[string][]string
	asked map[string]int

	run chan func() // carried out on the thread that is in the servers' namespace
}

// Addresses of the machine and of the servers' side.
const (
	machine4, machine6 = "192.0.2.1", "2001:db8:1::1"
	gateway4, gateway6 = "192.0.2.2", "2001:db8:1::2"
)

// serverAddresses are all that the servers' side has.
var serverAddresses = []string{"203.0.113.5", "203.0.113.6", "203.0.113.10", "203.0.113.66", "10.0.0.7", "192.168.1.1",
	"172.16.0.1", "100.64.0.1",
	"169.254.169.254", "168.63.129.16", "198.18.0.1", "2001:db8:2::5", "2001:db8:2::66", "fc00::1", "fd00:ec2::254"}

// newWorld makes the network and puts the calling goroutine, and all that it
// starts, on the machine. The goroutine keeps its thread, which ends with it.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, names: map[string][]string{}, asked: map[string]int{}, run: make(chan func())}
	ready := make(chan string)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Errorf("unshare: %v", err)
		}
		ready <- fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
		for f := range w.run {
			f()
		}
	}()
	there := <-ready
	t.Cleanup(func() { close(w.run) })

	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		t.Fatalf("unshare: %v", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	resolv := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver "+gateway4+"\nsearch evil.example\noptions timeout:5 attempts:2\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	hosts := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n::1 localhost\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{resolv: "/etc/resolv.conf", hosts: "/etc/hosts"} {
		real, err := filepath.EvalSymlinks(to)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(from, real, "", unix.MS_BIND, ""); err != nil {
			t.Fatalf("bind %s: %v", to, err)
		}
	}
	ip := func(script string) {
		t.Helper()
		if out, err := exec.Command("/bin/sh", "-euc", script).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
	}
	ip(`ip link set lo up; ip link add m0 type veth peer name s0; ip link set s0 netns ` + there + `
ip addr add ` + machine4 + `/24 dev m0; ip -6 addr add ` + machine6 + `/64 dev m0 nodad; ip link set m0 up
ip route add default via ` + gateway4 + `; ip -6 route add default via ` + gateway6 + ` dev m0`)
	w.on(func() {
		script := `ip link set lo up; ip addr add ` + gateway4 + `/24 dev s0; ip -6 addr add ` + gateway6 +
			`/64 dev s0 nodad; ip link set s0 up
ip route add default via ` + machine4 + `; ip -6 route add default via ` + machine6 + ` dev s0;`
		for _, a := range serverAddresses {
			if strings.Contains(a, ":") {
				script += "ip -6 addr add " + a + "/128 dev lo nodad;"
			} else {
				script += "ip addr add " + a + "/32 dev lo;"
			}
		}
		ip(script)
	})
	w.serveNames()
	return w
}

// on carries f out on the servers' side.
func (w *world) on(f func()) {
	done := make(chan struct{})
	w.run <- func() { defer close(done); f() }
	<-done
}

// listen returns a listener on the servers' side.
func (w *world) listen(addr string) net.Listener {
	w.t.Helper()
	var l net.Listener
	var err error
	w.on(func() { l, err = net.Listen("tcp", addr) })
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	return l
}

// name has the resolver answer a name.
func (w *world) name(name string, addrs ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[name] = addrs
}

// askedFor lists every name that the resolver was asked for.
func (w *world) askedFor() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for name := range w.asked {
		list = append(list, strings.Fields(name)[0])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// catalogue is the names and the list of the hostile catalogue.
type catalogue struct {
	Names  map[string][]string
	Listed []string
}

func readCatalogue(t *testing.T) (c catalogue) {
	t.Helper()
	b, err := os.ReadFile("../egress/testdata/world.json")
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serveNames is the resolver.
func (w *world) serveNames() {
	var conn net.PacketConn
	var err error
	w.on(func() { conn, err = net.ListenPacket("udp", gateway4+":53") })
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer := w.answer(buf[:n]); answer != nil {
				conn.WriteTo(answer, from)
			}
		}
	}()
}

func (w *world) answer(query []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	w.mu.Lock()
	list, known := w.names[name]
	key := name + " " + q.Type.String()
	w.asked[key]++
	if i := slices.Index(list, "then"); i >= 0 {
		if w.asked[key] == 1 {
			list = list[:i]
		} else {
			list = list[i+1:]
		}
	}
	w.mu.Unlock()
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, s := range list {
		addr := netip.MustParseAddr(s)
		h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class}
		switch {
		case q.Type == dnsmessage.TypeA && addr.Is4():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: addr.As4()}})
		case q.Type == dnsmessage.TypeAAAA && addr.Is6():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
		}
	}
	answer, err := m.Pack()
	if err != nil {
		return nil
	}
	return answer
}
