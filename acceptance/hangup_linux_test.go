package acceptance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sandboxd/ipc"
)

// begun runs sbx as a process of its own, to be killed.
func (a *actor) begun(args ...string) *exec.Cmd {
	a.t.Helper()
	cmd := a.command(context.Background(), filepath.Join(bin, "sbx"), args...)
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

func (a *actor) there(name string) bool {
	_, err := os.Stat(filepath.Join(a.project, name))
	return err == nil
}

// gather reads a command's events to the end, from number from on.
func gather(t *testing.T, c *ipc.Client, id string, from uint64) (output string, end *ipc.Exit) {
	t.Helper()
	s, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: id, FromSeq: from})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var all strings.Builder
	for {
		e, err := s.Next(t.Context())
		if err != nil {
			t.Fatalf("after %d bytes: %v", all.Len(), err)
		}
		all.Write(e.Data)
		if e.Exit != nil {
			return all.String(), e.Exit
		}
	}
}

// hangUp is the stage on which clients, approvers, commands and the daemon die.
type hangUp struct {
	*stage
}

// R-IP-02, R-AP-14: when a participant dies at any point of an exchange, the result is the one of the table in
// docs/protocol.md, and no process remains.
func TestHangUps(t *testing.T) {
	eachUser(t, func(t *testing.T, a *actor) {
		h := hangUp{newStage(a, "")}
		for _, c := range []struct {
			at string // the point, and the participant that dies
			do func(*testing.T)
		}{
			{"question/client", h.questionClient},
			{"question/client that keeps", h.questionClientThatKeeps},
			{"question/approver", h.questionApprover},
			{"running/client", h.runningClient},
			{"running/client that resumes", h.runningClientThatResumes},
			{"running/approver", h.runningApprover},
			{"running/command", h.runningCommand},
			{"input/client", h.inputClient},
			{"input/client that keeps", h.inputClientThatKeeps},
			{"input/command", h.inputCommand},
			{"ended/client", h.endedClient},
			{"all/daemon", h.daemonDies},
		} {
			t.Run(c.at, c.do)
		}
	})
}

func (h hangUp) pending(t *testing.T) int {
	t.Helper()
	l, err := h.person().Approvals(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(l.Approvals)
}

// exec starts a command.
func (h hangUp) exec(t *testing.T, c *ipc.Client, r ipc.ExecRequest) string {
	t.Helper()
	started, err := c.StartExec(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return started.ID
}

func (h hangUp) questionClient(t *testing.T) {
	cmd := h.begun("run", "--no-ask", "-c", "touch question-client")
	h.asking(t)
	cmd.Process.Kill()
	h.until("the question is withdrawn", func() bool { return h.pending(t) == 0 })
	h.quiet(t)
	if h.there("question-client") {
		t.Error("got the command run, want it withdrawn with its question")
	}
}

func (h hangUp) questionClientThatKeeps(t *testing.T) {
	c, s := h.sessionOf(t, "hangup")
	id := h.exec(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch question-kept", Keep: true})
	follow, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	follow.Next(t.Context())
	follow.Close()
	h.says(t, ipc.Answer{Allow: true})
	if _, end := gather(t, c, id, 1); end.Code != 0 || !h.there("question-kept") {
		t.Errorf("got %+v, want exit status 0 and the file", end)
	}
}

func (h hangUp) questionApprover(t *testing.T) {
	c, s := h.sessionOf(t, "hangup")
	dying := h.personPeer("dying", false)
	news, err := dying.approver.News(t.Context(), ipc.NewsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	id := h.exec(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch question-approver"})
	done := make(chan *ipc.Exit, 1)
	go func() { _, end := gather(t, c, id, 1); done <- end }()
	if n, err := news.Next(t.Context()); err != nil || n.Approval == nil {
		t.Fatalf("got %+v, %v; want a question", n, err)
	}
	news.Close()
	dying.approver.Close()
	if q := h.says(t, ipc.Answer{Allow: true}); q.Command != "touch question-approver" {
		t.Errorf("got %+v, want the same question", q)
	}
	if end := <-done; end.Code != 0 || !h.there("question-approver") {
		t.Errorf("got %+v, want exit status 0 and the file", end)
	}
}

func (h hangUp) runningClient(t *testing.T) {
	cmd := h.begun("run", "--no-ask", "-c", "touch running-client; (setsid sleep 98701 &); sleep 98701")
	h.says(t, ipc.Answer{Allow: true})
	h.until("it runs", func() bool { return count("sleep 98701") == 2 })
	cmd.Process.Kill()
	h.until("it has ended with all that it started", func() bool { return count("sleep 98701") == 0 })
}

func (h hangUp) runningClientThatResumes(t *testing.T) {
	c, s := h.sessionOf(t, "hangup")
	var want strings.Builder
	for i := range 30000 {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	id := h.exec(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch resumed; seq -f 'line %.0f' 0 29999", Keep: true})
	h.says(t, ipc.Answer{Allow: true})
	var got strings.Builder
	next, ended := uint64(1), false
	for round := 0; !ended; round++ {
		one := &ipc.Client{Socket: c.Socket, Secret: c.Secret} // a new connection each time
		s, err := one.ExecEvents(t.Context(), ipc.EventsRequest{ID: id, FromSeq: next})
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + round%4 {
			e, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if e.Seq != next {
				t.Fatalf("got event %d, want %d", e.Seq, next)
			}
			next++
			got.Write(e.Data)
			if ended = e.Exit != nil; ended {
				break
			}
		}
		s.Close()
		one.Close()
	}
	if got.String() != want.String() {
		t.Errorf("got %d bytes, want the %d of the command", got.Len(), want.Len())
	}
}

func (h hangUp) runningApprover(t *testing.T) {
	c, s := h.sessionOf(t, "hangup")
	dying := h.personPeer("dying-2", false)
	news, err := dying.approver.News(t.Context(), ipc.NewsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	id := h.exec(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch running-approver; read x; echo got $x", Stdin: ipc.StdinStream})
	follow, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	defer follow.Close()
	h.says(t, ipc.Answer{Allow: true})
	h.until("it runs", func() bool { return h.there("running-approver") })
	news.Close()
	dying.approver.Close()
	if err := c.WriteStdin(t.Context(), ipc.StdinRequest{ID: id, Data: []byte("it\n"), EOF: true}); err != nil {
		t.Error(err)
	}
	if out, end := gather(t, c, id, 1); out != "got it\n" || end.Code != 0 {
		t.Errorf("got %q, %+v; want \"got it\" and exit status 0", out, end)
	}
}

func (h hangUp) runningCommand(t *testing.T) {
	c, s := h.sessionOf(t, "hangup")
	id := h.exec(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch running-command; (setsid sleep 98702 &); exec sleep 98703"})
	follow, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	defer follow.Close()
	h.says(t, ipc.Answer{Allow: true})
	h.until("it runs", func() bool { return count("sleep 98702")+count("sleep 98703") == 2 })
	for _, p := range processes() {
		if strings.HasPrefix(p.cmdline, "sleep 98703 ") {
			syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	if _, end := gather(t, c, id, 1); end.Signal != "SIGKILL" || end.Cancelled {
		t.Errorf("got %+v, want SIGKILL", end)
	}
	if n := count("sleep 98702"); n != 0 {
		t.Errorf("got %d processes that it started, want 0", n)
	}
}

func (h hangUp) inputClient(t *testing.T) {
	cmd := h.begun("run", "--no-ask", "--json", "-c", "touch input-client; sleep 98704; cat")
	h.says(t, ipc.Answer{Allow: true})
	h.until("it runs", func() bool { return count("sleep 98704") == 1 })
	cmd.Process.Kill()
	h.until("it has ended", func() bool { return count("sleep 98704") == 0 })
}

func (h hangUp) inputClientThatKeeps(t *testing.T) {
	c, s := h.sessionOf(t, "hangup")
	id := h.exec(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch input-kept; cat", Stdin: ipc.StdinStream, Keep: true})
	h.says(t, ipc.Answer{Allow: true})
	one := &ipc.Client{Socket: c.Socket, Secret: c.Secret}
	if err := one.WriteStdin(t.Context(), ipc.StdinRequest{ID: id, Data: []byte("first ")}); err != nil {
		t.Fatal(err)
	}
	one.Close()
	if err := c.WriteStdin(t.Context(), ipc.StdinRequest{ID: id, Data: []byte("second"), EOF: true}); err != nil {
		t.Fatal(err)
	}
	if out, end := gather(t, c, id, 1); out != "first second" || end.Code != 0 {
		t.Errorf("got %q, %+v; want \"first second\" and exit status 0", out, end)
	}
}

func (h hangUp) inputCommand(t *testing.T) {
	c, s := h.sessionOf(t, "hangup")
	id := h.exec(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch input-command; read x", Stdin: ipc.StdinStream})
	h.says(t, ipc.Answer{Allow: true})
	err := c.StreamStdin(t.Context(), id, strings.NewReader("x\n"+strings.Repeat("y", 1<<20)), true)
	if code := ipc.CodeOf(err); code != ipc.CodeConflict {
		t.Errorf("got %v for input that nobody reads, want %s", err, ipc.CodeConflict)
	}
	if _, end := gather(t, c, id, 1); end.Code != 0 {
		t.Errorf("got %+v, want exit status 0", end)
	}
}

func (h hangUp) endedClient(t *testing.T) {
	c, s := h.sessionOf(t, "hangup")
	id := h.exec(t, c, ipc.ExecRequest{Session: s.ID, Command: "cat README; touch ended-client", Keep: true})
	h.says(t, ipc.Answer{Allow: true})
	h.quiet(t)
	for range 2 {
		if out, end := gather(t, c, id, 1); out != "hello\n" || end.Code != 0 {
			t.Errorf("got %q, %+v; want \"hello\" and exit status 0", out, end)
		}
	}
}

// The daemon dies with a question, a command and a result open.
func (h hangUp) daemonDies(t *testing.T) {
	c, s := h.sessionOf(t, "hangup")
	ended := h.exec(t, c, ipc.ExecRequest{Session: s.ID, Command: "cat README", Keep: true, CallID: "ended-before"})
	if _, end := gather(t, c, ended, 1); end.Code != 0 {
		t.Fatalf("got %+v, want exit status 0", end)
	}
	running := h.exec(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch daemon-running; (setsid sleep 98705 &); cat", Stdin: ipc.StdinStream})
	follow, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: running})
	if err != nil {
		t.Fatal(err)
	}
	defer follow.Close()
	h.says(t, ipc.Answer{Allow: true})
	h.until("it runs", func() bool { return count("sleep 98705") == 1 })
	asked := h.begun("run", "--no-ask", "-c", "touch daemon-asked")
	h.asking(t)
	h.actor.daemon.Process.Kill()
	h.actor.daemon.Wait()
	h.actor.daemon = nil
	for err == nil {
		var e ipc.Event
		if e, err = follow.Next(t.Context()); e.Exit != nil {
			t.Errorf("got the end %+v, want none", e.Exit)
		}
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v at the end of the stream, want %v", err, io.ErrUnexpectedEOF)
	}
	h.until("no process remains", func() bool { return count("sleep 98705") == 0 })
	var exit *exec.ExitError
	if err := asked.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 125 {
		t.Errorf("got %v from the client that waited for an answer, want exit status 125", err)
	}
	h.actor.start("--config", h.configFile())
	if h.there("daemon-asked") || h.pending(t) != 0 {
		t.Error("got the command of the open question run, or its question open; want neither")
	}
	if _, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: running}); ipc.CodeOf(err) != ipc.CodeNotFound {
		t.Errorf("got %v for the command of the old daemon, want %s", err, ipc.CodeNotFound)
	}
	if got := h.sbx("log", "verify"); got.code != 0 {
		t.Error(got)
	}
	if got := h.sbx("log", "--json"); !strings.Contains(got.out, "ended-before") {
		t.Errorf("got %v, want a log with the command that had ended", got)
	}
}

// R-IP-05: a client that is killed in the middle of a request requests nothing.
func TestHangUpInTheMiddle(t *testing.T) {
	a := newActor(t, "")
	a.start("--mode", "approve-all")
	c := &ipc.Client{Socket: filepath.Join(a.socketDir(), "agent.sock")}
	defer c.Close()
	s, err := c.OpenSession(t.Context(), ipc.SessionRequest{Root: a.project})
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"session":%q,"command":"touch middle","keep":true}`, s.ID)
	whole := fmt.Sprintf("POST /v1/exec HTTP/1.1\r\nHost: s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", string(s.Secret), len(body), body)
	for i := 1; i < len(whole); i += 7 {
		cmd := a.command(t.Context(), "/usr/bin/python3", "-c", `
import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(sys.stdin.buffer.read()); os.kill(os.getpid(), 9)`, c.Socket)
		cmd.Stdin = strings.NewReader(whole[:i])
		cmd.Run()
		if i > 60 {
			i += 20
		}
	}
	c.Secret = s.Secret
	if l, err := c.Sessions(t.Context()); err != nil || len(l.Sessions) != 1 || len(l.Sessions[0].Running) != 0 || a.there("middle") {
		t.Errorf("%+v, %v", l, err)
	}
}
