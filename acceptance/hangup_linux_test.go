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

// Issue "The socket", 4. R-IP-02, R-AP-14: whoever dies at whichever point of an
// exchange, the result is the one that the table in docs/protocol.md says, and
// nothing is orphaned.
func TestHangUps(t *testing.T) {
	eachUser(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		yes := ipc.Answer{Allow: true}
		pending := func() int {
			l, err := st.person().Approvals(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(l.Approvals)
		}
		start := func(t *testing.T, c *ipc.Client, r ipc.ExecRequest) string {
			t.Helper()
			started, err := c.StartExec(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return started.ID
		}

		t.Run("question/client", func(t *testing.T) {
			cmd := a.begun("run", "--no-ask", "-c", "touch question-client")
			st.asking(t)
			cmd.Process.Kill()
			a.until("the question is withdrawn", func() bool { return pending() == 0 })
			st.quiet(t)
			if a.there("question-client") {
				t.Error("it ran")
			}
		})
		t.Run("question/client that keeps", func(t *testing.T) {
			c, s := st.sessionOf(t, "hangup")
			id := start(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch question-kept", Keep: true})
			follow, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			follow.Next(t.Context())
			follow.Close()
			st.says(t, yes)
			if _, end := gather(t, c, id, 1); end.Code != 0 || !a.there("question-kept") {
				t.Errorf("%+v", end)
			}
		})
		t.Run("question/approver", func(t *testing.T) {
			c, s := st.sessionOf(t, "hangup")
			dying := a.personPeer("dying", false)
			news, err := dying.approver.News(t.Context(), ipc.NewsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			id := start(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch question-approver"})
			done := make(chan *ipc.Exit, 1)
			go func() { _, end := gather(t, c, id, 1); done <- end }()
			if n, err := news.Next(t.Context()); err != nil || n.Approval == nil {
				t.Fatalf("%+v, %v", n, err)
			}
			news.Close()
			dying.approver.Close()
			if q := st.says(t, yes); q.Command != "touch question-approver" {
				t.Errorf("%+v", q)
			}
			if end := <-done; end.Code != 0 || !a.there("question-approver") {
				t.Errorf("%+v", end)
			}
		})
		t.Run("running/client", func(t *testing.T) {
			cmd := a.begun("run", "--no-ask", "-c", "touch running-client; (setsid sleep 98701 &); sleep 98701")
			st.says(t, yes)
			a.until("it runs", func() bool { return count("sleep 98701") == 2 })
			cmd.Process.Kill()
			a.until("it has ended with all that it started", func() bool { return count("sleep 98701") == 0 })
		})
		t.Run("running/client that resumes", func(t *testing.T) {
			c, s := st.sessionOf(t, "hangup")
			var want strings.Builder
			for i := range 30000 {
				fmt.Fprintf(&want, "line %d\n", i)
			}
			id := start(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch resumed; seq -f 'line %.0f' 0 29999", Keep: true})
			st.says(t, yes)
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
						t.Fatalf("event %d came for %d", e.Seq, next)
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
				t.Errorf("%d bytes of %d came", got.Len(), want.Len())
			}
		})
		t.Run("running/approver", func(t *testing.T) {
			c, s := st.sessionOf(t, "hangup")
			dying := a.personPeer("dying-2", false)
			news, err := dying.approver.News(t.Context(), ipc.NewsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			id := start(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch running-approver; read x; echo got $x", Stdin: ipc.StdinStream})
			follow, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			defer follow.Close()
			st.says(t, yes)
			a.until("it runs", func() bool { return a.there("running-approver") })
			news.Close()
			dying.approver.Close()
			if err := c.WriteStdin(t.Context(), ipc.StdinRequest{ID: id, Data: []byte("it\n"), EOF: true}); err != nil {
				t.Error(err)
			}
			if out, end := gather(t, c, id, 1); out != "got it\n" || end.Code != 0 {
				t.Errorf("%q, %+v", out, end)
			}
		})
		t.Run("running/command", func(t *testing.T) {
			c, s := st.sessionOf(t, "hangup")
			id := start(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch running-command; (setsid sleep 98702 &); exec sleep 98703"})
			follow, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			defer follow.Close()
			st.says(t, yes)
			a.until("it runs", func() bool { return count("sleep 98702")+count("sleep 98703") == 2 })
			for _, p := range processes() {
				if strings.HasPrefix(p.cmdline, "sleep 98703 ") {
					syscall.Kill(p.pid, syscall.SIGKILL)
				}
			}
			if _, end := gather(t, c, id, 1); end.Signal != "SIGKILL" || end.Cancelled {
				t.Errorf("%+v", end)
			}
			if n := count("sleep 98702"); n != 0 {
				t.Error("what it started lives on")
			}
		})
		t.Run("input/client", func(t *testing.T) {
			cmd := a.begun("run", "--no-ask", "--json", "-c", "touch input-client; sleep 98704; cat")
			st.says(t, yes)
			a.until("it runs", func() bool { return count("sleep 98704") == 1 })
			cmd.Process.Kill()
			a.until("it has ended", func() bool { return count("sleep 98704") == 0 })
		})
		t.Run("input/client that keeps", func(t *testing.T) {
			c, s := st.sessionOf(t, "hangup")
			id := start(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch input-kept; cat", Stdin: ipc.StdinStream, Keep: true})
			st.says(t, yes)
			one := &ipc.Client{Socket: c.Socket, Secret: c.Secret}
			if err := one.WriteStdin(t.Context(), ipc.StdinRequest{ID: id, Data: []byte("first ")}); err != nil {
				t.Fatal(err)
			}
			one.Close()
			if err := c.WriteStdin(t.Context(), ipc.StdinRequest{ID: id, Data: []byte("second"), EOF: true}); err != nil {
				t.Fatal(err)
			}
			if out, end := gather(t, c, id, 1); out != "first second" || end.Code != 0 {
				t.Errorf("%q, %+v", out, end)
			}
		})
		t.Run("input/command", func(t *testing.T) {
			c, s := st.sessionOf(t, "hangup")
			id := start(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch input-command; read x", Stdin: ipc.StdinStream})
			st.says(t, yes)
			err := c.StreamStdin(t.Context(), id, strings.NewReader("x\n"+strings.Repeat("y", 1<<20)), true)
			if code := ipc.CodeOf(err); code != ipc.CodeConflict {
				t.Errorf("what nobody reads: %v", err)
			}
			if _, end := gather(t, c, id, 1); end.Code != 0 {
				t.Errorf("%+v", end)
			}
		})
		t.Run("ended/client", func(t *testing.T) {
			c, s := st.sessionOf(t, "hangup")
			id := start(t, c, ipc.ExecRequest{Session: s.ID, Command: "cat README; touch ended-client", Keep: true})
			st.says(t, yes)
			st.quiet(t)
			for range 2 {
				if out, end := gather(t, c, id, 1); out != "hello\n" || end.Code != 0 {
					t.Errorf("%q, %+v", out, end)
				}
			}
		})
		// The daemon dies last, with a question, a command and a result open.
		t.Run("daemon", func(t *testing.T) {
			c, s := st.sessionOf(t, "hangup")
			ended := start(t, c, ipc.ExecRequest{Session: s.ID, Command: "cat README", Keep: true, CallID: "ended-before"})
			if _, end := gather(t, c, ended, 1); end.Code != 0 {
				t.Fatalf("%+v", end)
			}
			running := start(t, c, ipc.ExecRequest{Session: s.ID, Command: "touch daemon-running; (setsid sleep 98705 &); cat", Stdin: ipc.StdinStream})
			follow, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: running})
			if err != nil {
				t.Fatal(err)
			}
			defer follow.Close()
			st.says(t, yes)
			a.until("it runs", func() bool { return count("sleep 98705") == 1 })
			asked := a.begun("run", "--no-ask", "-c", "touch daemon-asked")
			st.asking(t)
			a.daemon.Process.Kill()
			a.daemon.Wait()
			a.daemon = nil
			for err == nil {
				var e ipc.Event
				if e, err = follow.Next(t.Context()); e.Exit != nil {
					t.Errorf("an end was told that nobody saw: %+v", e.Exit)
				}
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the stream ended with %v", err)
			}
			a.until("nothing runs any more", func() bool { return count("sleep 98705") == 0 })
			var exit *exec.ExitError
			if err := asked.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 125 {
				t.Errorf("the client that waited for an answer: %v", err)
			}
			a.start("--config", a.configFile())
			if a.there("daemon-asked") || pending() != 0 {
				t.Error("what was asked about ran, or is still asked")
			}
			if _, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: running}); ipc.CodeOf(err) != ipc.CodeNotFound {
				t.Errorf("the command of the old daemon: %v", err)
			}
			if got := a.sbx("log", "verify"); got.code != 0 {
				t.Error(got)
			}
			if got := a.sbx("log", "--json"); !strings.Contains(got.out, "ended-before") {
				t.Errorf("the log lacks what had ended: %v", got)
			}
		})
	})
}

// R-IP-05: a client that is killed in the middle of a request has said nothing.
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
