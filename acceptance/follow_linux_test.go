package acceptance

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"sandboxd/ipc"
)

// R-IP-02, R-IP-07: a command that is started and followed in one exchange, with the
// terminal's session opened on the way, is refused, asked about, given up and ended as
// one that is started first and followed then.
func TestStartAndFollow(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		st := newStage(a, "[daemon]\nsessions = 2\n")
		c := &ipc.Client{Socket: st.agent("follow").agent.Socket}
		defer c.Close()
		cli := func(dir string) *ipc.SessionRequest { return &ipc.SessionRequest{Kind: ipc.KindCLI, Cwd: dir} }
		begin := func(t *testing.T, r ipc.ExecRequest) (ipc.ExecStarted, ipc.Stream[ipc.Event]) {
			t.Helper()
			r.Open = cli(a.project)
			started, events, err := c.RunExec(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if s := started.Session; s == nil || s.Root != a.project || !s.Trusted || s.Secret != "" {
				t.Fatalf("the session is %+v", s)
			}
			return started, events
		}
		ends := func(t *testing.T, events ipc.Stream[ipc.Event]) *ipc.Exit {
			t.Helper()
			defer events.Close()
			for {
				e, err := events.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if e.Exit != nil {
					return e.Exit
				}
			}
		}
		asked := func() int {
			l, err := st.person().Approvals(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(l.Approvals)
		}
		one, events := begin(t, ipc.ExecRequest{Command: "cat README"})
		if end := ends(t, events); end.Code != 0 || end.Error != nil {
			t.Fatalf("%+v", end)
		}
		two, events := begin(t, ipc.ExecRequest{Command: "touch denied"})
		if two.ID == one.ID || two.Session.ID != one.Session.ID {
			t.Errorf("%+v after %+v", two, one)
		}
		st.says(t, ipc.Answer{Note: "no", Mode: "soft"})
		if end := ends(t, events); end.Denied == nil || end.Denied.Code != ipc.CodeDenied || a.there("denied") {
			t.Errorf("denied: %+v", end)
		}

		// Refused, before anything is started or asked.
		st.sh("cd '" + a.project + "' && mkdir one two && git init -q one && git init -q two")
		_, events, err := c.RunExec(t.Context(), ipc.ExecRequest{Open: cli(filepath.Join(a.project, "one")), Command: "ls"})
		if err != nil {
			t.Fatalf("the last session that there may be: %v", err)
		}
		if end := ends(t, events); end.Code != 0 {
			t.Errorf("%+v", end)
		}
		for _, r := range []struct {
			ipc.ExecRequest
			code ipc.Code
		}{
			{ipc.ExecRequest{Open: cli(filepath.Join(a.project, "two")), Command: "touch refused"}, ipc.CodeLimit},
			{ipc.ExecRequest{Open: cli("/"), Command: "touch refused"}, ipc.CodeBadRoot},
			{ipc.ExecRequest{Open: cli(a.project), Stdio: []string{"stdin"}, Command: "touch refused"}, ipc.CodeNotFound},
			{ipc.ExecRequest{Ticket: "none", Command: "touch refused", Cwd: a.project}, ipc.CodeDenied},
			{ipc.ExecRequest{Session: "none", Command: "touch refused"}, ipc.CodeNotFound},
		} {
			if _, _, err := c.RunExec(t.Context(), r.ExecRequest); ipc.CodeOf(err) != r.code || asked() != 0 {
				t.Errorf("%+v: %v, %d questions", r.ExecRequest, err, asked())
			}
		}

		// A client's hang-up withdraws its question and ends its command, unless Keep is set.
		_, events = begin(t, ipc.ExecRequest{Command: "touch given-up"})
		eventually(a.t, "it is asked", func() bool { return asked() == 1 })
		events.Close()
		eventually(a.t, "the question is withdrawn", func() bool { return asked() == 0 })
		_, events = begin(t, ipc.ExecRequest{Command: "touch gone; (setsid sleep 98711 &); sleep 98711"})
		st.says(t, ipc.Answer{Allow: true})
		eventually(a.t, "it runs", func() bool { return count("sleep 98711") == 2 })
		events.Close()
		eventually(a.t, "it has ended with all that it started", func() bool { return count("sleep 98711") == 0 })
		kept, events := begin(t, ipc.ExecRequest{Command: "touch kept; read x; echo $x", Stdin: ipc.StdinStream, Keep: true})
		st.says(t, ipc.Answer{Allow: true})
		eventually(a.t, "it runs", func() bool { return a.wrote("kept") })
		events.Close()
		if err := c.WriteStdin(t.Context(), ipc.StdinRequest{ID: kept.ID, Data: []byte("on\n")}); err != nil {
			t.Error(err)
		}
		if out, end := gather(t, c, kept.ID, 2); out != "on\n" || end.Code != 0 {
			t.Errorf("kept: %q, %+v", out, end)
		}

		// The daemon leaves in the middle: the command ends, and the next one finds nobody.
		_, events = begin(t, ipc.ExecRequest{Command: "touch left; sleep 98712"})
		st.says(t, ipc.Answer{Allow: true})
		eventually(a.t, "it runs", func() bool { return count("sleep 98712") == 1 })
		if err := st.person().Shutdown(t.Context(), ipc.ShutdownRequest{Now: true}); err != nil {
			t.Error(err)
		}
		for err = nil; err == nil; {
			_, err = events.Next(t.Context())
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && ipc.CodeOf(err) != ipc.CodeShuttingDown {
			t.Errorf("the stream ended with %v", err)
		}
		eventually(a.t, "no process of the command runs", func() bool { return count("sleep 98712") == 0 })
		a.daemon.Wait()
		a.daemon = nil
		if _, _, err := c.RunExec(t.Context(), ipc.ExecRequest{Open: cli(a.project), Command: "cat README"}); err == nil {
			t.Error("a command was started though nobody serves")
		}
		if a.there("refused") || a.there("given-up") {
			t.Error("what was refused or given up was run")
		}
	})
}
