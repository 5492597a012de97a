package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/cmd/sbx/internal/term/termtest"
	"sandboxd/ipc"
)

// house is a daemon, with all that it needs in a directory of its own.
type house struct {
	t   *testing.T
	dir string // as long every time: it is on the screen
	env []string

	relay  string      // the agents' socket, by way of a process called agent; "" before there is one
	person *ipc.Client // looks on at the approvers' socket
	news   ipc.Stream[ipc.News]
}

// newHouse prepares one; the first sbx starts its daemon.
func newHouse(t *testing.T, config string) *house {
	t.Helper()
	var b [3]byte
	rand.Read(b[:])
	h := &house{t: t, dir: "/tmp/sbx" + hex.EncodeToString(b[:])}
	if err := os.MkdirAll(h.project(), 0o755); err != nil {
		t.Fatal(err)
	}
	h.write("../config.toml", config)
	bin := build(t)
	h.env = []string{"SBX_SOCKET_DIR=" + filepath.Join(h.dir, "run"), "SBX_STATE_DIR=" + filepath.Join(h.dir, "state"),
		"PATH=" + bin + ":" + os.Getenv("PATH")}
	t.Cleanup(func() {
		if h.news != nil {
			h.news.Close()
			h.person.Close()
		}
		h.command("stop", "--now").Run()
		os.RemoveAll(h.dir)
	})
	return h
}

// openHouse is newHouse with a trusted project, whose daemon runs.
func openHouse(t *testing.T, config string) *house {
	t.Helper()
	h := newHouse(t, config)
	h.open()
	return h
}

// open trusts the project, by a daemon that it starts.
func (h *house) open() {
	h.t.Helper()
	h.sbx("trust")
	h.person = &ipc.Client{Socket: filepath.Join(h.dir, "run", "approver.sock")}
	news, err := h.person.News(context.Background(), ipc.NewsRequest{})
	if err != nil {
		h.t.Fatal(err)
	}
	h.news = news
}

func (h *house) project() string { return filepath.Join(h.dir, "project") }

// write puts a file into the project.
func (h *house) write(name, text string) {
	h.t.Helper()
	name = filepath.Join(h.project(), name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(h.project(), name))
	return err == nil
}

func (h *house) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(build(h.t), "sbx"),
		append([]string{"--config", filepath.Join(h.dir, "config.toml")}, args...)...)
	cmd.Dir = h.project()
	cmd.Env = append(os.Environ(), h.env...)
	return cmd
}

// sbx runs sbx in the project and wants it to succeed.
func (h *house) sbx(args ...string) {
	h.t.Helper()
	if out, problems, status := h.apart(args...); status != "0" {
		h.t.Fatalf("sbx %q: status %s: %s%s", args, status, out, problems)
	}
}

// apart runs sbx in the project, by a process that no agent of the test has to do with.
func (h *house) apart(args ...string) (out, problems, status string) {
	h.t.Helper()
	cmd := h.command(args...)
	file := func(name string) string { return filepath.Join(h.dir, name) }
	os.Remove(file("status"))
	script := `(setsid "$@" >"$DIR/out" 2>"$DIR/err" </dev/null
echo $? >"$DIR/status.new"; mv "$DIR/status.new" "$DIR/status") &`
	cmd.Args = append([]string{"sh", "-c", script, "sh"}, append([]string{cmd.Path}, cmd.Args[1:]...)...)
	cmd.Path = "/bin/sh"
	cmd.Env = append(cmd.Env, "DIR="+h.dir)
	if err := cmd.Run(); err != nil {
		h.t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); !exists(file("status")); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("sbx %q did not end", args)
		}
	}
	var texts [3]string
	for i, name := range []string{"out", "err", "status"} {
		b, err := os.ReadFile(file(name))
		if err != nil {
			h.t.Fatal(err)
		}
		texts[i] = string(b)
	}
	return texts[0], texts[1], strings.TrimSpace(texts[2])
}

// sit starts `sbx approve ARGS` at a terminal.
func (h *house) sit(cols, rows int, args string, env ...string) *approverSocket {
	h.t.Helper()
	m := termtest.OpenTmux(h.t, cols, rows, append(h.env[:len(h.env):len(h.env)], env...), "cd "+h.project()+
		" && sbx approve "+args+" 2>/dev/null")
	return &approverSocket{Tmux: m, t: h.t, cols: cols, clean: h.clean}
}

// decided waits for the next decision of a person, or for want of one.
func (h *house) decided() ipc.Decided {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	for {
		n, err := h.news.Next(ctx)
		if err != nil {
			h.t.Fatalf("no decision was reported: %v", err)
		}
		if d := n.Decision; d != nil && (d.How == "person" || d.Reason == "timeout") {
			return *d
		}
	}
}

// pending returns the requests that have no answer yet.
func (h *house) pending() []ipc.Approval {
	h.t.Helper()
	list, err := h.person.Approvals(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	return list.Approvals
}

// waits waits until n questions are open, and returns them.
func (h *house) waits(n int) []ipc.Approval {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		list := h.pending()
		if len(list) == n {
			return list
		}
		if time.Now().After(end) {
			h.t.Fatalf("%d questions are open, want %d", len(list), n)
		}
	}
}

// forget withdraws every grant and returns them.
func (h *house) forget() []ipc.Grant {
	h.t.Helper()
	list, err := h.person.Grants(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, g := range list.Grants {
		if err := h.person.Revoke(context.Background(), ipc.GrantRequest{ID: g.ID}); err != nil {
			h.t.Fatal(err)
		}
	}
	return list.Grants
}

// agent is a program that asks.
type agent struct {
	*ipc.Client
	s ipc.Session
}

// agent opens a session for DIR/agent, a process of its own.
func (h *house) agent() *agent {
	h.t.Helper()
	if h.relay == "" {
		h.startRelay()
	}
	a := &agent{Client: &ipc.Client{Socket: h.relay}}
	s, err := a.OpenSession(context.Background(),
		ipc.SessionRequest{Agent: "reviewer", Label: "nightly build", Root: h.project()})
	if err != nil {
		h.t.Fatal(err)
	}
	a.s, a.Secret = s, s.Secret
	h.t.Cleanup(a.Close)
	return a
}

// relayTo makes this test binary an agent: it forwards the data from the socket
// relayAt to relayTo, and the kernel reports it to the daemon as the peer.
const relayTo, relayAt = "SBX_TEST_RELAY_TO", "SBX_TEST_RELAY_AT"

func (h *house) startRelay() {
	h.t.Helper()
	exe := filepath.Join(h.dir, "agent")
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	// Not by this process: a child of another test's would hold it open for
	// writing, and it could not be run.
	if out, err := exec.Command("cp", self, exe).CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	h.relay = filepath.Join(h.dir, "agent.sock")
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), relayTo+"="+filepath.Join(h.dir, "run", "agent.sock"), relayAt+"="+h.relay)
	stdin, err := cmd.StdinPipe() // it ends with that
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial("unix", h.relay); err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			h.t.Fatal("the agent does not come up")
		}
	}
}

// relay is the whole program of such a process.
func relay() {
	l, err := net.Listen("unix", os.Getenv(relayAt))
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			down, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("unix", os.Getenv(relayTo))
			if err != nil {
				down.Close()
				continue
			}
			go func() { defer down.Close(); defer up.Close(); io.Copy(up, down) }()
			go func() { defer down.Close(); defer up.Close(); io.Copy(down, up) }()
		}
	}()
	io.Copy(io.Discard, os.Stdin)
}

// patience is how long an agent waits for an answer.
const patience = 2 * time.Minute

// output is the result of a call that a program made.
type output struct {
	Out    string // of the command
	Status int
	ipc.Denial
	Batch ipc.BatchResult
	err   error
}

// asks makes a call and sends what came of it.
func (a *agent) asks(c ipc.BatchCall) <-chan output {
	done := make(chan output, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if c.File != nil {
			f := c.File.FileRequest
			f.Op, f.Session = c.File.Op, a.s.ID
			_, err := a.File(ctx, f)
			done <- output{err: err}
			return
		}
		done <- a.runs(ctx, *c.Exec)
	}()
	return done
}

func (a *agent) runs(ctx context.Context, r ipc.ExecRequest) (end output) {
	r.Session = a.s.ID
	started, err := a.StartExec(ctx, r)
	if err != nil {
		return output{err: err}
	}
	events, err := a.ExecEvents(ctx, ipc.EventsRequest{ID: started.ID})
	if err != nil {
		return output{err: err}
	}
	defer events.Close()
	var out strings.Builder
	for {
		e, err := events.Next(ctx)
		if err != nil {
			return output{err: err}
		}
		out.Write(e.Data)
		if e.Exit != nil {
			end = output{Out: out.String(), Status: e.Exit.Code}
			if e.Exit.Denied != nil {
				end.Denial = *e.Exit.Denied
			}
			return end
		}
	}
}

// asksAll makes the calls of one model response.
func (a *agent) asksAll(calls ...ipc.BatchCall) <-chan output {
	done := make(chan output, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r, err := a.Batch(ctx, ipc.BatchRequest{Session: a.s.ID, Calls: calls})
		done <- output{Batch: r, err: err}
	}()
	return done
}

func line(s string) ipc.BatchCall { return ipc.BatchCall{Exec: &ipc.ExecRequest{Command: s}} }

func file(op string, r ipc.FileRequest) ipc.BatchCall {
	return ipc.BatchCall{File: &ipc.FileCall{Op: op, FileRequest: r}}
}
