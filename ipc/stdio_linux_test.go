package ipc_test

import (
	"context"
	"io"
	"net"
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
	gone := filepath.Join(dir, "gone")
	if err := os.WriteFile(gone, nil, 0o600); err != nil {
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
	removed := openRaw(t, gone, unix.O_RDWR)
	os.Remove(gone)
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
		"a proc file":               {openRaw(t, "/proc/self/mem", unix.O_RDWR), true}, // a file by its kind; no profile permits it
	}
}

// R-IP-10: each kind of descriptor is tried; what is refused says that it is to
// be relayed, and nothing of it stays open.
func TestPassedKinds(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	all := kinds(t)
	before := descriptors(t)
	for name, k := range all {
		token, closing, err := h.Agent.PassStdio(t.Context(), k.file, nil, nil)
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
		closing()
		// With the connection what it had carried is gone.
		eventually(t, name+" is given back", func() bool {
			_, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "echo", Stdio: token})
			return ipc.CodeOf(err) == ipc.CodeNotFound
		})
	}
	eventually(t, "no descriptor is left", func() bool { return descriptors(t) <= before+2 })
}

// R-IP-10: the command reads and writes the caller's own files; the result says
// that no cap applies; a token is for its process, and for once.
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
	token, closing, err := h.Agent.PassStdio(t.Context(), inR, outW, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closing()
	start(t, strings.Join([]string{"steal", h.Agent.Socket, token, s.ID, string(s.Secret)}, " "), nil).end()
	for _, bad := range []ipc.ExecRequest{
		{Session: s.ID, Command: "cat", Stdio: token, TTY: true},
		{Session: s.ID, Command: "cat", Stdio: "guessed"},
	} {
		if _, err := h.Agent.StartExec(t.Context(), bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	events := run(t, h.Agent, ipc.ExecRequest{Session: s.ID, Command: "cat", Stdio: token})
	inR.Close()
	outW.Close()
	if b, err := io.ReadAll(outR); err != nil || string(b) != "through my own pipe" {
		t.Errorf("%q, %v", b, err)
	}
	if _, output := shape(events); output != "" {
		t.Errorf("the events hold %q too", output)
	}
	if x := events[len(events)-1].Exit; strings.Join(x.Uncapped, " ") != "stdout" {
		t.Errorf("%+v", x)
	}
	if _, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "cat", Stdio: token}); ipc.CodeOf(err) != ipc.CodeNotFound {
		t.Errorf("a second time: %v", err)
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
	token, closing, err := h.Agent.PassStdio(t.Context(), nil, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closing()
	run(t, h.Agent, ipc.ExecRequest{Session: s.ID, Command: "echo hi", Stdio: token})
	if flags, err := unix.FcntlInt(uintptr(p[1]), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
		t.Errorf("flags %#x, %v", flags, err)
	}
}

// pass sends any line with any descriptors, as no client of ours would.
func pass(t testing.TB, agent, line string, fds ...int) (answer string) {
	t.Helper()
	c, err := net.Dial("unix", filepath.Join(filepath.Dir(agent), ipc.StdioSocket))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	c.(*net.UnixConn).WriteMsgUnix([]byte(line), oob, nil)
	c.(*net.UnixConn).CloseWrite()
	b, _ := io.ReadAll(c)
	return string(b)
}

// R-IP-05: what is no request is refused, and every descriptor closed.
func TestPassMalformed(t *testing.T) {
	h, _, _ := house(t, ipc.Limits{})
	null := int(openRaw(t, "/dev/null", unix.O_RDWR).Fd())
	many := make([]int, 253)
	for i := range many {
		many[i] = null
	}
	if answer := pass(t, h.Agent.Socket, "{\"stdin\":true}\n", null); !strings.Contains(answer, `"stdio"`) {
		t.Errorf("a good one: %s", answer)
	}
	before := descriptors(t)
	for _, c := range []struct {
		line string
		fds  []int
	}{
		{"", nil},
		{"\n", nil},
		{"{}\n", nil},
		{"{}\n", []int{null}},
		{"{\"stdin\":true}\n", nil},
		{"{\"stdin\":true}", []int{null}},
		{"{\"stdin\":true,\"stdin\":true}\n", []int{null}},
		{"{\"stdin\":1}\n", []int{null}},
		{"[]\n", []int{null}},
		{"{\"stdin\":true}\n", []int{null, null}},
		{"{\"stdin\":true,\"stdout\":true,\"stderr\":true}\n", []int{null, null}},
		{"{\"stdin\":true}\n", many},
		{"GET /v1/version HTTP/1.1\r\n\r\n", []int{null}},
		{"{\"stdin\":true,\"x\":\"" + strings.Repeat("x", 600) + "\"}\n", []int{null}},
	} {
		if answer := pass(t, h.Agent.Socket, c.line, c.fds...); !strings.Contains(answer, `"bad_request"`) {
			t.Errorf("%q with %d: %s", c.line, len(c.fds), answer)
		}
	}
	eventually(t, "every descriptor is closed", func() bool { return descriptors(t) <= before })
}

// One user's waiting descriptors are bounded.
func TestDepositLimit(t *testing.T) {
	h, _, _ := house(t, ipc.Limits{})
	null := openRaw(t, "/dev/null", unix.O_RDWR)
	for i := range 65 {
		_, closing, err := h.Agent.PassStdio(t.Context(), null, nil, nil)
		if (err == nil) != (i < 64) || err != nil && ipc.CodeOf(err) != ipc.CodeLimit {
			t.Fatalf("number %d: %v", i+1, err)
		}
		if err == nil {
			defer closing()
		}
	}
}

// FuzzPassed: whatever line comes with whatever descriptors, nothing breaks
// and none of them stays open.
func FuzzPassed(f *testing.F) {
	h, _, _ := house(f, ipc.Limits{})
	var pool []int
	for _, k := range kinds(f) {
		pool = append(pool, int(k.file.Fd()))
	}
	f.Add("{\"stdin\":true}\n", []byte{0})
	f.Add("{\"stdin\":true,\"stdout\":true,\"stderr\":true}\n", []byte{0, 1, 2})
	f.Add("{}\n", []byte{3, 4, 5, 6, 7})
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, line string, which []byte) {
		before := descriptors(t)
		var fds []int
		for _, w := range which[:min(len(which), 253)] {
			fds = append(fds, pool[int(w)%len(pool)])
		}
		pass(t, h.Agent.Socket, line, fds...)
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
	if _, closing, err := c.PassStdio(t.Context(), r, w, nil); err != nil {
		t.Error(err)
	} else {
		closing()
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	b.Close()
}
