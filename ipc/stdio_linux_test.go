package ipc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// openRaw opens without the runtime's help, which would change flags.
func openRaw(t testing.TB, path string, flags int) *os.File {
	t.Helper()
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatalf("open %q: %v", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	t.Cleanup(func() { f.Close() })
	return f
}

func fileOf(t testing.TB, fd int, err error) *os.File {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "x")
	t.Cleanup(func() { f.Close() })
	return f
}

// kinds are descriptors of every kind, and whether one may be passed.
func kinds(t testing.TB) map[string]struct {
	file *os.File
	ok   bool
} {
	t.Helper()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "gone")
	if err := os.WriteFile(missing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	socket := fileOf(t, pair[0], err)
	fileOf(t, pair[1], nil)
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close(); master.Close(); slave.Close() })
	memfd, err := unix.MemfdCreate("m", unix.MFD_CLOEXEC)
	mem := fileOf(t, memfd, err)
	eventfd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	event := fileOf(t, eventfd, err)
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	pid := fileOf(t, pidfd, err)
	removed := openRaw(t, missing, unix.O_RDWR)
	os.Remove(missing)
	return map[string]struct {
		file *os.File
		ok   bool
	}{
		"the reading end of a pipe": {r, true},
		"/dev/null":                 {openRaw(t, "/dev/null", unix.O_RDWR), true},
		"a file":                    {openRaw(t, plain, unix.O_RDONLY), true},
		"a named pipe":              {openRaw(t, fifo, unix.O_RDWR), true},
		"the writing end of a pipe": {w, false}, // as standard input
		"a directory":               {openRaw(t, dir, unix.O_RDONLY|unix.O_DIRECTORY), false},
		"O_PATH of a file":          {openRaw(t, plain, unix.O_PATH), false},
		"O_PATH of a directory":     {openRaw(t, dir, unix.O_PATH|unix.O_DIRECTORY), false},
		"an O_TMPFILE":              {openRaw(t, dir, unix.O_TMPFILE|unix.O_RDWR), false},
		"a removed file":            {removed, false},
		"a memfd":                   {mem, false},
		"a socket":                  {socket, false},
		"/dev/zero":                 {openRaw(t, "/dev/zero", unix.O_RDONLY), false},
		"/dev/ptmx":                 {master, false},
		"a terminal":                {slave, false},
		"an eventfd":                {event, false},
		"a pidfd":                   {pid, false},
		// a file by its kind; no profile permits it
		"a proc file": {openRaw(t, "/proc/self/mem", unix.O_RDWR), true},
	}
}

// passed are descriptors to pass; nil ones are left out.
func passed(in, out *os.File) (s ipc.Stdio) {
	if in != nil {
		s.In = &ipc.Passed{File: in}
	}
	if out != nil {
		s.Out = &ipc.Passed{File: out}
	}
	return s
}

// R-IP-10: each kind of descriptor is tried; what is refused says that it is to
// be relayed, and nothing of it stays open.
func TestPassedKinds(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	all := kinds(t)
	before := descriptors(t)
	for name, k := range all {
		started, err := h.Agent.StartExec(t.Context(),
			ipc.ExecRequest{Session: s.ID, Command: "echo", Passed: passed(k.file, nil)})
		if (err == nil) != k.ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err != nil {
			if ipc.CodeOf(err) != ipc.CodeForbidden || !strings.Contains(err.Error(), "relayed") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		eventually(t, name+" is given back", func() bool {
			events, err := h.Agent.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
			if err != nil {
				return false
			}
			defer events.Close()
			for {
				if e, err := events.Next(t.Context()); err != nil || e.Type == ipc.EventExit {
					return err == nil
				}
			}
		})
	}
	h.Agent.Close()
	eventually(t, "no descriptor is left", func() bool { return descriptors(t) <= before+2 })
}

// R-IP-10: the command reads and writes the caller's own files; the result says
// that no cap applies; descriptors are for the request that they came with, and
// for no other one.
func TestPassStdio(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer outR.Close()
	io.WriteString(inW, "through my own pipe")
	inW.Close()
	own := passed(inR, outW)
	_, refused := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "cat", TTY: true, Passed: own})
	if ipc.CodeOf(refused) != ipc.CodeBadRequest {
		t.Errorf("with a terminal: %v", refused)
	}
	if _, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "cat", Stdin: ipc.StdinStream,
		Passed: own}); ipc.CodeOf(err) != ipc.CodeBadRequest {
		t.Errorf("with a stream: %v", err)
	}
	// Over agent.sock none can come, and nobody else's connection has these.
	carrying := rawStdio(t, h.Agent.Socket)
	if _, _, err := carrying.WriteMsgUnix([]byte("POST /v1/exec HTTP/1.1\r\n"), unix.UnixRights(int(outW.Fd())),
		nil); err != nil {
		t.Fatal(err)
	}
	defer carrying.Close()
	for range 3 { // whether or not the server has read that by now
		if _, err := h.Agent.StartExec(t.Context(),
			ipc.ExecRequest{Session: s.ID, Command: "cat", Stdio: []string{"stdout"}}); ipc.CodeOf(err) != ipc.CodeNotFound {
			t.Errorf("without any: %v", err)
		}
		start(t, strings.Join([]string{"steal", h.Agent.Socket, s.ID, string(s.Secret)}, " "), nil).end()
	}
	events := run(t, h.Agent, ipc.ExecRequest{Session: s.ID, Command: "cat", Passed: own})
	inR.Close()
	outW.Close()
	carrying.Close()
	if b, err := io.ReadAll(outR); err != nil || string(b) != "through my own pipe" {
		t.Errorf("%q, %v", b, err)
	}
	if _, output := shape(events); output != "" {
		t.Errorf("the events hold %q too", output)
	}
	if x := events[len(events)-1].Exit; strings.Join(x.Uncapped, " ") != "stdout" {
		t.Errorf("%+v", x)
	}
}

// Starting and following in one exchange takes descriptors, too.
func TestPassToRun(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, events, err := h.Agent.RunExec(t.Context(),
		ipc.ExecRequest{Session: s.ID, Command: "echo hi", Passed: passed(nil, w)})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	if b, err := io.ReadAll(r); err != nil || string(b) != "hi\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// A caller's descriptor keeps its flags: they are those of all who share it.
func TestPassedFlags(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(p[0]), "r"), os.NewFile(uintptr(p[1]), "w")
	defer r.Close()
	defer w.Close()
	run(t, h.Agent, ipc.ExecRequest{Session: s.ID, Command: "echo hi", Passed: passed(nil, w)})
	if flags, err := unix.FcntlInt(uintptr(p[1]), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
		t.Errorf("flags %#x, %v", flags, err)
	}
}

// rawStdio is a connection to stdio.sock.
func rawStdio(t testing.TB, agent string) *net.UnixConn {
	t.Helper()
	c, err := net.Dial("unix", filepath.Join(filepath.Dir(agent), ipc.StdioSocket))
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c.(*net.UnixConn)
}

// pass sends any request's body with any descriptors, as no client of ours would.
func pass(t testing.TB, agent, secret, body string, fds ...int) (answer string) {
	t.Helper()
	c := rawStdio(t, agent)
	defer c.Close()
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	text := fmt.Sprintf("POST /v1/exec HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+
		"%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", secret, len(body), body)
	c.WriteMsgUnix([]byte(text), oob, nil)
	b, _ := io.ReadAll(c)
	return string(b)
}

// R-IP-05: what does not fit together is refused, and every descriptor closed.
func TestPassMalformed(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	null := int(openRaw(t, "/dev/null", unix.O_RDWR).Fd())
	many := make([]int, 253)
	for i := range many {
		many[i] = null
	}
	request := func(stdio string) string { return `{"session":"` + s.ID + `","command":"echo",` + stdio + `}` }
	if answer := pass(t, h.Agent.Socket, string(s.Secret), request(`"stdio":["stdout"]`), null); !strings.Contains(answer,
		`"id"`) {
		t.Errorf("a good one: %s", answer)
	}
	h.Agent.Close()
	var before int
	eventually(t, "that is over", func() bool { n := descriptors(t); same := n == before; before = n; return same })
	for _, c := range []struct {
		stdio, code string
		fds         []int
	}{
		{`"stdio":["stdout"]`, "not_found", nil},
		{`"stdio":["stdin"]`, "bad_request", []int{null, null}},
		{`"stdio":["stdin","stdout","stderr"]`, "bad_request", []int{null, null}},
		{`"stdio":["stdin","stdin"]`, "bad_request", []int{null, null}},
		{`"stdio":["stderr","stdin"]`, "bad_request", []int{null, null}},
		{`"stdio":["stdin"]`, "bad_request", many},
		{`"stdio":["stdin","stdout","stderr"]`, "bad_request", []int{null, null, null, null}},
		{`"stdio":"stdin"`, "bad_request", []int{null}},
		{`"stdio":[1]`, "bad_request", []int{null}},
		{`"stdio":["stdin"],"stdio":["stdin"]`, "bad_request", []int{null}},
		{`"stdio":["stdin"],"tty":true`, "bad_request", []int{null}},
	} {
		if answer := pass(t, h.Agent.Socket, string(s.Secret), request(c.stdio), c.fds...); !strings.Contains(answer, `"`+
			c.code+`"`) {
			t.Errorf("%q with %d: %s", c.stdio, len(c.fds), answer)
		}
	}
	// What came with another request is closed with that, on a connection that stays.
	c := rawStdio(t, h.Agent.Socket)
	defer c.Close()
	in := bufio.NewReader(c)
	for range 3 {
		if _, _, err := c.WriteMsgUnix([]byte("GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n"),
			unix.UnixRights(null, null, null), nil); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v, %v", resp, err)
		}
		io.Copy(io.Discard, resp.Body)
	}
	// both ends of that, and a pidfd
	eventually(t, "every descriptor is closed", func() bool { return descriptors(t) <= before+3 })
}

// One user's waiting descriptors are bounded.
func TestCarrierLimit(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	null := openRaw(t, "/dev/null", unix.O_RDWR)
	before := descriptors(t)
	for range 64 {
		c := rawStdio(t, h.Agent.Socket)
		defer c.Close()
		if _, _, err := c.WriteMsgUnix([]byte("P"), unix.UnixRights(int(null.Fd())), nil); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all wait", func() bool { return descriptors(t) >= before+4*64 }) // both ends, a pidfd, and what came
	// a descriptor is there a moment before it is counted
	eventually(t, "one too many is refused", func() bool {
		_, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "echo", Passed: passed(nil, null)})
		return ipc.CodeOf(err) == ipc.CodeLimit
	})
	if _, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "echo"}); err != nil {
		t.Errorf("without any: %v", err)
	}
}

// FuzzPassed: whatever body comes with whatever descriptors, nothing breaks
// and none of them stays open.
func FuzzPassed(f *testing.F) {
	h, _, s := house(f, ipc.Limits{})
	var pool []int
	for _, k := range kinds(f) {
		pool = append(pool, int(k.file.Fd()))
	}
	f.Add(`["stdin"]`, []byte{0})
	f.Add(`["stdin","stdout","stderr"]`, []byte{0, 1, 2})
	f.Add(`[]`, []byte{3, 4, 5, 6, 7})
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, names string, which []byte) {
		before := descriptors(t)
		var fds []int
		for _, w := range which[:min(len(which), 253)] {
			fds = append(fds, pool[int(w)%len(pool)])
		}
		pass(t, h.Agent.Socket, string(s.Secret), `{"session":"`+s.ID+`","command":"echo","stdio":`+names+`}`, fds...)
		eventually(t, "every descriptor is closed", func() bool { return descriptors(t) <= before })
	})
}

// R-IP-05: where descriptors run out for a moment, no socket ends the server.
func TestWithoutDescriptorsForAMoment(t *testing.T) {
	sockets, err := ipc.Listen(ipc.SocketDir{Path: filepath.Join(t.TempDir(), "s")})
	if err != nil {
		t.Fatal(err)
	}
	defer sockets.Close()
	b := ipctest.New()
	server := ipc.Server{Backend: b, Agent: []net.Listener{ipctest.Short(sockets.Agent)},
		Approver: []net.Listener{ipctest.Short(sockets.Approver)}, Stdio: []net.Listener{ipctest.Short(sockets.Stdio)}}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	path := func(name string) string { return filepath.Join(filepath.Dir(sockets.Agent.Addr().String()), name) }
	for _, name := range []string{ipc.AgentSocket, ipc.ApproverSocket} {
		c := ipc.Client{Socket: path(name)}
		if _, err := c.Version(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	c := ipc.Client{Socket: path(ipc.AgentSocket)}
	if _, err := c.StartExec(t.Context(), ipc.ExecRequest{Session: "none", Command: "echo",
		Passed: passed(r, w)}); ipc.CodeOf(err) != ipc.CodeNotFound {
		t.Error(err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	b.Close()
}

// A client of a daemon whose stdio.sock had a protocol of its own gets the remedy.
func TestOlderStdio(t *testing.T) {
	dir, err := os.MkdirTemp("", "ipc")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, ipc.StdioSocket))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 4096))
			io.WriteString(c, `{"error":{"code":"bad_request","message":"want one line"}}`+"\n")
			c.Close()
		}
	}()
	c := ipc.Client{Socket: filepath.Join(dir, ipc.AgentSocket)}
	null := openRaw(t, "/dev/null", unix.O_RDWR)
	if _, _, err := c.RunExec(t.Context(), ipc.ExecRequest{Session: "s", Command: "echo",
		Passed: passed(nil, null)}); err == nil || !strings.Contains(err.Error(), "older than this program") {
		t.Errorf("%v", err)
	}
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "x")
	if _, _, err := c.Resume(t.Context(), conn, nil); err == nil ||
		!strings.Contains(err.Error(), "older than this program") {
		t.Errorf("taken over: %v", err)
	}
}
