package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sandboxd/ipc"
)

// R-IP-08: a whole agent inside the sandbox asks from there, and gets no more
// than it has itself: not another project, not the approver's socket, not a wider
// session; and it ends with its session, whatever it left running.
func TestAgentInside(t *testing.T) {
	t.Parallel()
	dist := compiledTypeScript(t)
	eachUser(t, func(t *testing.T, a *actor) {
		a.outsideTmp()
		other := newActor(t, a.user())
		other.sh("echo PRIVATE > private")
		st := newStage(a, "") // nothing has to be configured
		person := st.persons["terminal"]
		if _, err := person.approver.Trust(t.Context(), ipc.TrustRequest{Dir: other.project}); err != nil {
			t.Fatal(err)
		}
		person.answering(t, func(q ipc.Approval) ipc.Answer {
			if strings.Contains(q.Command, "made") || q.Tool == "send_email" || len(q.Argv) > 0 ||
				strings.Contains(q.Command, "probe") {
				return ipc.Answer{Allow: true}
			}
			return ipc.Answer{Mode: "soft", Note: "no"}
		})
		// The examples and the clients, as the project has them.
		a.copyInto("../clients/python", "python")
		a.copyInto("../clients/typescript/examples", "typescript/examples")
		a.copyInto(dist, "typescript/dist")
		a.do(strings.NewReader(`{"type": "module"}`), "/bin/sh", "-c", "cat > typescript/package.json")
		a.do(strings.NewReader(`[
			{"tool": "bash", "args": {"command": "cat README; echo from inside > made; cat made"}},
			{"tool": "bash", "args": {"command": "cat `+other.project+`/private"}},
			{"tool": "bash", "args": {"command": "rm -rf python"}},
			{"tool": "send_email", "args": {"to": "anna@example.org", "subject": "done", "body": "x"}}]`), "/bin/sh", "-c", "cat > script.json")
		for _, argv := range [][]string{
			{"env", "PYTHONPATH=python/src", "PYTHONDONTWRITEBYTECODE=1", "python3", "python/examples/agent_loop.py", "--model",
				"script.json"},
			{"node", "typescript/examples/agent-loop.mjs", "script.json"},
		} {
			r := a.sbx(append([]string{"run", "--agent", "--"}, argv...)...)
			for _, want := range []string{"bash: exit 0\nhello\nfrom inside", "bash: refused (",
				"send_email: sent to anna@example.org"} {
				if !strings.Contains(r.out, want) {
					t.Errorf("%q printed no %q: %v", argv, want, r)
				}
			}
			if strings.Contains(r.out, "PRIVATE") {
				t.Errorf("%q read another project: %v", argv, r)
			}
		}
		if _, err := os.Stat(filepath.Join(a.project, "python")); err != nil {
			t.Errorf("what was refused was done: %v", err)
		}
		// The approver's socket is not there.
		nap := fmt.Sprintf("sleep 7%d", os.Getpid()) // no other run's
		probe := `import os, socket, sys
for name in ("approver.sock", "stdio.sock"):
    try:
        s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SBX_SOCKET_DIR"] + "/" + name); print("connected to", name, flush=True)
    except OSError as e: print("refused", flush=True)
os.setsid() if os.fork() == 0 else None
if os.getpid() != 1: os.execvp("sleep", sys.argv[1:])
`
		a.do(strings.NewReader(probe), "/bin/sh", "-c", "cat > probe.py")
		// It ends with the client that started it, and what it left with it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := a.command(ctx, filepath.Join(bin, "sbx"), "run", "--agent", "--", "python3", "probe.py", "sleep",
			nap[len("sleep "):])
		var out safeBuffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the agent has left a process of its own", func() bool { return running(nap) })
		eventually(t, "both sockets were tried", func() bool { return strings.Count(out.String(), "refused") == 2 })
		syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		eventually(t, "nothing of the agent runs", func() bool { return !running(nap) })
		if strings.Contains(out.String(), "connected") {
			t.Errorf("it reached the approver: %s", out.String())
		}
	})
}

// R-IP-08: where the configuration forbids it no agent gets the socket, by
// whatever way it is asked for.
func TestAgentInsideForbidden(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	newStage(a, "[sandbox]\nagent_socket = false\n")
	if r := a.sbx("run", "--agent", "--", "true"); r.code != 126 || !strings.Contains(r.err, "agent_socket = false") {
		t.Errorf("%v", r)
	}
	agent := a.agentPeer("asks")
	s, err := agent.agent.OpenSession(t.Context(), ipc.SessionRequest{Root: a.project})
	if err != nil {
		t.Fatal(err)
	}
	c := &ipc.Client{Socket: agent.agent.Socket, Secret: s.Secret}
	defer c.Close()
	if _, err := c.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Agent: true,
		Command: "ls"}); ipc.CodeOf(err) != ipc.CodeForbidden {
		t.Errorf("on the wire: %v", err)
	}
	if _, err := c.StartExec(t.Context(), ipc.ExecRequest{Ticket: "x", Agent: true,
		Command: "ls"}); ipc.CodeOf(err) != ipc.CodeBadRequest {
		t.Errorf("with a ticket: %v", err)
	}
}

// R-IP-08: wherever the sockets lie, also where every sandbox has a directory of
// its own (/tmp, the home), an agent finds agent.sock there and nothing else.
func TestAgentInsideFindsTheSocket(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		home, err := os.MkdirTemp(a.home, ".sockets-")
		if err != nil {
			t.Fatal(err)
		}
		if a.cred != nil {
			os.Chown(home, int(a.cred.Uid), int(a.cred.Gid))
		}
		t.Cleanup(func() { os.RemoveAll(home) })
		for _, dir := range []string{a.dir, home} {
			old := a.dir
			a.dir = dir
			a.start("--mode", "approve-all")
			r := a.sbx("run", "--agent", "--", "python3", "-c", `import os, socket
d = os.environ["SBX_SOCKET_DIR"]
for name in ("agent.sock", "approver.sock", "stdio.sock"):
    try:
        socket.socket(socket.AF_UNIX).connect(d + "/" + name); print(name, "in")
    except OSError as e: print(name, "out")`)
			if r.code != 0 || r.out != "agent.sock in\napprover.sock out\nstdio.sock out\n" {
				t.Errorf("in %s: %v", a.socketDir(), r)
			}
			a.stop()
			a.dir = old
		}
	})
}

// The limit of a command's time is not an agent's, which has one of its own; what only the safe list lets run is no
// agent. R-OS-10
func TestAgentTimeLimit(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		st := newStage(a, "[sandbox.limits]\nwall = \"2s\"\n")
		answerAll(t, st, ipc.Answer{Allow: true})
		nap := []string{"python3", "-c", "import time; time.sleep(4); print('rested')"}
		var all sync.WaitGroup
		for _, c := range []struct {
			flags, argv []string
			code        int
		}{
			{nil, nap, 124},
			{[]string{"--agent"}, nap, 0},
			{[]string{"--agent", "--timeout", "2s"}, nap, 124},
		} {
			all.Go(func() {
				if r := a.sbx(slices.Concat([]string{"run"}, c.flags, []string{"--"}, c.argv)...); r.code != c.code {
					t.Errorf("%v %v: got %v, want status %d", c.flags, c.argv, r, c.code)
				}
			})
		}
		client := &a.agentPeer("asks").agent
		s, err := client.OpenSession(t.Context(), ipc.SessionRequest{Root: a.project})
		if err != nil {
			t.Fatal(err)
		}
		client.Secret = s.Secret
		r := ipc.ExecRequest{Session: s.ID, Agent: true, Argv: []string{"sleep", "4"}}
		_, events, err := client.RunExec(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer events.Close()
		for {
			e, err := events.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if e.Approval != nil {
				t.Fatalf("the safe list was to let it run: %+v", e)
			}
			if e.Exit != nil {
				if !e.Exit.TimedOut {
					t.Errorf("unasked: got %+v, want the limit of a command", e.Exit)
				}
				break
			}
		}
		all.Wait()
		st.configure(t, "[sandbox.limits]\nagent_wall = \"2s\"\n")
		if r := a.sbx(append([]string{"run", "--agent", "--"}, nap...)...); r.code != 124 {
			t.Errorf("with a limit for agents: got %v, want status 124", r)
		}
	})
}

// A program in the home directory runs where [sandbox] exec names its place, and the refusal without that says so;
// neither read nor write lets anything be executed. R-FS-03
func TestProgramInTheHome(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		dir, err := os.MkdirTemp(a.home, ".programs-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if a.cred != nil {
			os.Chown(dir, int(a.cred.Uid), int(a.cred.Gid))
		}
		a.sh("cd " + dir + " && mkdir bin versions && cp /bin/echo versions/tool && ln -s ../versions/tool bin/tool")
		list := func(key string, names ...string) string {
			text := ""
			for _, name := range names {
				text += `"~/` + filepath.Base(dir) + "/" + name + `", `
			}
			return "[sandbox]\n" + key + " = [" + text + "]\n"
		}
		st := newStage(a, list("read", "bin", "versions"))
		answerAll(t, st, ipc.Answer{Allow: true})
		run := func() result { return a.sbx("run", "--agent", "--", dir+"/bin/tool", "it", "runs") }
		refused := func(config string) {
			t.Helper()
			st.configure(t, config)
			if r := run(); r.code != 126 || !strings.Contains(r.err, `[sandbox] exec = ["`+dir+`/bin"]`) {
				t.Errorf("%s: got %v, want 126 with the setting that mends it", config, r)
			}
		}
		refused(list("read", "bin", "versions"))
		refused(list("write", "bin", "versions"))
		st.configure(t, list("exec", "bin", "versions"))
		if r := run(); r.code != 0 || r.out != "it runs\n" {
			t.Errorf("with exec: %v", r)
		}
		if r := a.sbx("run", "-c", "echo more >> "+dir+"/versions/tool"); r.code == 0 {
			t.Errorf("a place to execute from is writable: %v", r)
		}
	})
}

// copyInto copies a folder into the project, as the actor's own.
func (a *actor) copyInto(from, to string) {
	a.t.Helper()
	dir := a.readable(from)
	a.sh("mkdir -p '" + filepath.Dir(to) + "' && cp -r '" + dir + "' '" + to + "' && chmod -R u+w '" + to + "'")
}
