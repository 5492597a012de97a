package broker

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/audit"
	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// host is a broker and one launcher, both of this process's user, with an HTTP
// server behind the launcher that says who asked on which socket.
type host struct {
	dir    string
	broker *Broker
}

func newHost(t *testing.T, from func(int) bool, reload func() error) *host {
	t.Helper()
	dir, err := os.MkdirTemp("", "brk")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{}, 4)
	h := &host{dir: dir}
	own := filepath.Join(dir, "users", strconv.Itoa(os.Getuid()))
	for _, d := range []string{own, filepath.Join(dir, "heads")} {
		if err := os.MkdirAll(d, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	l := &Launcher{Listener: h.listen(t, filepath.Join(own, "launcher.sock")).(*net.UnixListener), From: from,
		Reload: reload, Stop: func() {}, Log: log}
	h.broker = &Broker{Agent: []net.Listener{ipctest.Short(h.listen(t, h.path("agent.sock")))},
		Approver: []net.Listener{h.listen(t, h.path("approver.sock"))},
		Heads:    []net.Listener{h.listen(t, h.path("heads.sock"))}, UsersDir: h.path("users"), HeadsDir: h.path("heads"),
		Log: log}
	go func() { l.Serve(ctx); done <- struct{}{} }()
	go func() { h.broker.Serve(ctx); done <- struct{}{} }()
	for role, door := range map[string]net.Listener{"agent": l.Agent(), "approver": l.Approver()} {
		s := &http.Server{
			ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, host{}, c) },
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				uid, pid, err := peer(r.Context().Value(host{}).(*net.UnixConn))
				fmt.Fprintf(w, "%s %d %d %v", role, uid, pid, err)
			})}
		go func() { s.Serve(door); done <- struct{}{} }()
		t.Cleanup(func() { s.Close() })
	}
	t.Cleanup(func() {
		cancel()
		l.agent.Close()
		l.approver.Close()
		for range 4 {
			<-done
		}
		os.RemoveAll(dir)
	})
	return h
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

func (h *host) listen(t *testing.T, path string) net.Listener {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ask sends a request from another process, so that the peer is not ourselves.
func (h *host) ask(t *testing.T, socket string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "curl",
		append([]string{"-sS", "--unix-socket", h.path(socket), "http://x/v1/version"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func everybody(int) bool { return true }

// R-OP-05, R-IP-01: what is handed over is the connection itself: the user's
// daemon sees the peer as the kernel knows it, and not the broker.
func TestHandOver(t *testing.T) {
	h := newHost(t, everybody, nil)
	for socket, role := range map[string]string{"agent.sock": "agent", "approver.sock": "approver"} {
		got := h.ask(t, socket)
		var said string
		var uid, pid int
		fmt.Sscan(got, &said, &uid, &pid)
		if said != role || uid != os.Getuid() || pid == 0 || pid == os.Getpid() {
			t.Errorf("%s: %q", socket, got)
		}
	}
	if got := h.ask(t, "approver.sock", "-H", ipc.UserHeader+": "+strconv.Itoa(os.Getuid())); !strings.HasPrefix(got,
		"approver") {
		t.Errorf("by number: %q", got)
	}
	// An agent's socket never looks at the header: nobody asks as another.
	if got := h.ask(t, "agent.sock", "-H", ipc.UserHeader+": 54321"); !strings.HasPrefix(got, "agent "+
		strconv.Itoa(os.Getuid())) {
		t.Errorf("agent with a header: %q", got)
	}
	// Counted is what was handed over, a moment after its daemon may have answered it.
	n, _ := h.broker.Counts()
	for deadline := time.Now().Add(20 * time.Second); n != 4 && time.Now().Before(deadline); n, _ = h.broker.Counts() {
		time.Sleep(time.Millisecond)
	}
	if n != 4 {
		t.Errorf("handed over %d", n)
	}
}

// What cannot be handed over is answered with the reason and what to do.
func TestNoLauncher(t *testing.T) {
	h := newHost(t, everybody, nil)
	if got := h.ask(t, "approver.sock", "-H", ipc.UserHeader+": 54321"); !strings.Contains(got,
		"no launcher runs for user 54321") || !strings.Contains(got, "enable-linger") {
		t.Errorf("%s", got)
	}
	if got := h.ask(t, "approver.sock", "-H", ipc.UserHeader+": nobody-by-this-name"); !strings.Contains(got,
		"there is no user") {
		t.Errorf("%s", got)
	}
	// A place that others can write, or that is another's, is not trusted.
	dir := filepath.Join(h.path("users"), strconv.Itoa(os.Getuid()))
	os.Chmod(dir, 0o777)
	if got := h.ask(t, "agent.sock"); !strings.Contains(got, "is not a directory of user") {
		t.Errorf("%s", got)
	}
	os.Chmod(dir, 0o711)
	// A peer that connects and goes away, or says nothing sensible, harms nobody.
	for _, text := range []string{"", "x", "GET / HTTP/1.1\r\n"} {
		c, err := net.Dial("unix", h.path("approver.sock"))
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte(text))
		c.Close()
	}
	if got := h.ask(t, "agent.sock"); !strings.HasPrefix(got, "agent") {
		t.Errorf("%s", got)
	}
}

// The launcher accepts messages only from its configured user, and only those that it knows.
func TestLauncherRefuses(t *testing.T) {
	h := newHost(t, func(uid int) bool { return uid != os.Getuid() }, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	socket := filepath.Join(h.path("users"), strconv.Itoa(os.Getuid()), "launcher.sock")
	if said, err := send(ctx, socket, os.Getuid(), wantStop, nil); err == nil && said == "ok" {
		t.Error("a stranger's stop was carried out")
	}
	if err := exec.CommandContext(ctx, "curl", "-sSf", "--max-time", "10", "--unix-socket", h.path("agent.sock"),
		"http://x/").Run(); err == nil {
		t.Error("a stranger's connection was served")
	}
	g := newHost(t, everybody, func() error { return fmt.Errorf("line 3: no") })
	socket = filepath.Join(g.path("users"), strconv.Itoa(os.Getuid()), "launcher.sock")
	if said, err := send(ctx, socket, os.Getuid(), 'x', nil); err != nil || said != "" {
		t.Errorf("unknown message: %q, %v", said, err)
	}
	if said, err := send(ctx, socket, os.Getuid(), wantAgent, nil); err != nil || said != "" {
		t.Errorf("no descriptor: %q, %v", said, err)
	}
	// R-OP-02: why a reload was refused comes back.
	if failed := g.broker.Reload(ctx); len(failed) != 1 || failed[os.Getuid()].Error() != "line 3: no" {
		t.Errorf("%v", failed)
	}
}

// R-AU-02: the head of a log is kept apart; one that goes back is not.
func TestHeads(t *testing.T) {
	h := newHost(t, everybody, nil)
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	socket := h.path("heads.sock")
	for _, c := range []struct {
		seq  uint64
		hash string
		says string
	}{{5, a, ""}, {5, a, ""}, {9, b, ""}, {7, a, "lost its end"}, {9, a, "lost its end"}, {12, "zz", "64 hexadecimal"},
		{13, a, ""}} {
		err := TellHead(socket, c.seq, c.hash)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%d: %v, want %q", c.seq, err, c.says)
		}
	}
	text, err := os.ReadFile(filepath.Join(h.path("heads"), strconv.Itoa(os.Getuid())))
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		kept = append(kept, strings.Fields(line)[1][:2])
	}
	if strings.Join(kept, " ") != "5: 9: 13" {
		t.Errorf("%s", text)
	}
}

// R-AU-02: what the broker said that it keeps is kept also where the file is halved for it,
// and behind a line that a full disk tore; neither lets the log lose its end.
func TestHeadsOutlastHalvingAndTearing(t *testing.T) {
	h := newHost(t, everybody, nil)
	socket, hash := h.path("heads.sock"), strings.Repeat("a", 64)
	name := filepath.Join(h.path("heads"), strconv.Itoa(os.Getuid()))
	var old strings.Builder
	n := uint64(0)
	for old.Len() < maxHeads {
		n++
		fmt.Fprintln(&old, audit.Anchor{Seq: n, Hash: hash}.Line(time.Now()))
	}
	for what, text := range map[string]string{"halved": old.String(), "torn": old.String()[:100] + "\n" +
		audit.Anchor{Seq: n, Hash: hash}.Line(time.Now()) + "\n2026-11-"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := TellHead(socket, n, strings.Repeat("b", 64)); err == nil {
			t.Errorf("%s: another head %d is kept", what, n)
		}
		if err := TellHead(socket, n+1, hash); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := TellHead(socket, n, strings.Repeat("b", 64)); err == nil {
			t.Errorf("%s: head %d is kept after %d", what, n, n+1)
		}
		kept, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(kept)), "\n")
		if words := strings.Fields(lines[len(lines)-1]); len(words) != 2 || words[1] != fmt.Sprintf("%d:%s", n+1, hash) ||
			len(kept) >= maxHeads || strings.Contains(string(kept), "2026-11-\n") {
			t.Errorf("%s: of %d bytes the last line is %q", what, len(kept), lines[len(lines)-1])
		}
	}
}

// R-OP-01, R-AU-02: with a key, what is kept is signed, and anybody can check it.
func TestSignedHeads(t *testing.T) {
	text, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, everybody, nil)
	if h.broker.Key, err = ParseKey(text); err != nil {
		t.Fatal(err)
	}
	if err := h.broker.PublishKey(); err != nil {
		t.Fatal(err)
	}
	socket := h.path("heads.sock")
	for _, seq := range []uint64{5, 9, 7} {
		if err := TellHead(socket, seq, strings.Repeat("a", 64)); (err == nil) != (seq != 7) {
			t.Errorf("%d: %v", seq, err)
		}
	}
	kept, err := os.ReadFile(filepath.Join(h.path("heads"), strconv.Itoa(os.Getuid())))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(kept)), "\n")
	if len(lines) != 2 {
		t.Errorf("%q", lines)
	}
	public, err := os.ReadFile(filepath.Join(h.path("heads"), publicKey))
	if err != nil || strings.Contains(string(public), "PRIVATE") {
		t.Fatal(err, string(public))
	}
	for _, l := range lines {
		if !audit.SignedBy(l, h.broker.Key.Public().(ed25519.PublicKey)) {
			t.Errorf("not signed: %q", l)
		}
	}
	for what, bad := range map[string]string{"nothing": "", "no PEM": "secret", "the public half": string(public)} {
		if _, err := ParseKey([]byte(bad)); err == nil {
			t.Errorf("%s is taken for a key", what)
		}
	}
}

// R-IP-05: one user's connections that say nothing, or half of something, take no more than
// that user's part of one socket: the user's own agents and its log get through.
func TestSilentConnectionsAreBounded(t *testing.T) {
	h := newHost(t, everybody, nil)
	const many = 6 * maxBusy
	var closed sync.WaitGroup
	ended := make(chan struct{}, many)
	for i := range many {
		c, err := net.Dial("unix", h.path("approver.sock"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if i%2 == 0 {
			c.Write([]byte("GET /v1/version HTTP/1.1\r\nHost:"))
		}
		closed.Go(func() {
			c.Read(make([]byte, 1)) // one that waits to be heard
			ended <- struct{}{}
		})
	}
	late := time.After(patience / 2)
	for n := range many - 2*maxBusy {
		select {
		case <-ended:
		case <-late:
			t.Fatalf("%d of %d connections are closed", n, many)
		}
	}
	if got := h.ask(t, "agent.sock"); !strings.HasPrefix(got, "agent ") {
		t.Errorf("an idle approver's connection delays an agent's request: %q", got)
	}
	if err := TellHead(h.path("heads.sock"), 5, strings.Repeat("a", 64)); err != nil {
		t.Errorf("a head is not kept: %v", err)
	}
}
