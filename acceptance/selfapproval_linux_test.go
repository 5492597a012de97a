package acceptance

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"sandboxd/ipc"
)

// asker asks for a command over agent.sock and then tries, in the way that its
// second argument names, to say yes to it over approver.sock. It prints what
// the daemon said to that.
const asker = `
import http.client, json, os, pty, select, signal, socket, sys, time
d, how = sys.argv[1], sys.argv[2]
class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("sandboxd"); self.path = path
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX); self.sock.connect(self.path)
def call(sock, method, path, body=None, secret=None):
    c = Unix(d + "/" + sock)
    c.request(method, path, None if body is None else json.dumps(body), {"Authorization": "Bearer " + secret} if secret else {})
    return json.loads(c.getresponse().read())
def ask():
    s = call("agent.sock", "POST", "/v1/sessions", {"root": os.getcwd()})
    call("agent.sock", "POST", "/v1/exec", {"session": s["id"], "command": "touch self-approved", "keep": True, "inline": True}, s["secret"])
def answer():
    end = time.time() + 30
    while time.time() < end:
        try: l = call("approver.sock", "GET", "/v1/approvals")
        except OSError as e: return "no connection"
        if "error" in l: return l["error"]["code"]
        if l["approvals"]:
            q = l["approvals"][0]
            r = call("approver.sock", "POST", "/v1/approvals/" + q["id"] + "/decision", {"rev": q["rev"], "hash": q["hash"], "allow": True})
            if r.get("error", {}).get("code") == "stale": continue
            return r["error"]["code"] if "error" in r else "allowed" if r["allowed"] else "denied"
        time.sleep(0.02)
    return "nothing was asked"
def tell(): print(answer(), flush=True)
def child(*steps):
    pid = os.fork()
    if pid == 0:
        for s in steps: s()
        os._exit(0)
    os.waitpid(pid, 0)
def resume(session):
    r = call("approver.sock", "POST", "/v1/sessions/" + session + "/turn", {})
    print(r["error"]["code"] if "error" in r else r.get("cleared", "was not stopped"), flush=True)
def stopped():
    s = call("agent.sock", "POST", "/v1/sessions", {"kind": "cli", "root": os.getcwd()})
    call("agent.sock", "POST", "/v1/exec", {"session": s["id"], "command": "touch self-approved", "keep": True})
    sys.stdin.readline()
    lift = lambda: resume(s["id"])
    lift(); child(lift); child(os.setsid, lift); print(s["id"], flush=True)
    sys.stdin.readline()
    lift()
def trusted():
    call("agent.sock", "POST", "/v1/sessions", {"root": os.getcwd()})
    def trust(sock, dir):
        try: r = call(sock, "POST", "/v1/trust", {"dir": dir})
        except OSError as e: print("no connection", flush=True); return
        print(r["error"]["code"] if "error" in r else "trusted", flush=True)
    own = lambda: trust("approver.sock", os.getcwd())
    own(); child(own); child(os.setsid, own)
    trust("approver.sock", os.getcwd() + "/../" + os.path.basename(os.getcwd()))
    trust("agent.sock", os.getcwd())
def ownpty(): # sbx run at a terminal of our own, at which we type the yes
    pid, fd = pty.fork()
    if pid == 0: os.execv(sys.argv[3], ["sbx", "run", "--plain", "-c", "touch self-approved"])
    end = time.time() + 6
    while time.time() < end and not os.path.exists("self-approved"):
        try:
            if select.select([fd], [], [], 0.1)[0]: os.read(fd, 4096)
            else: os.write(fd, b"y\r")
        except OSError: break
    os.kill(pid, signal.SIGTERM); os.close(fd); os.waitpid(pid, 0)
    print("allowed" if os.path.exists("self-approved") else "self_approval", flush=True)
if how == "ask": ask(); time.sleep(120)
elif how == "trust": trusted()
elif how == "stopped": stopped()
elif how == "answer": tell()
elif how == "pty": ownpty()
elif how == "self": ask(); tell()
elif how == "child": ask(); child(tell)
elif how == "session": ask(); child(os.setsid, tell)
elif how == "sibling":
    asking = os.fork()
    if asking == 0: ask(); time.sleep(120)
    child(os.setsid, tell); os.kill(asking, 9)
elif how == "parent": child(os.setsid, ask); tell()
elif how == "detached":
    ask()
    r, w = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() > 0: os._exit(0)
        while os.getppid() == os.getpid(): pass
        time.sleep(0.5) # until its parent has exited, and no process connects the two
        os.write(w, answer().encode()); os._exit(0)
    os.close(w); os.wait(); print(os.read(r, 100).decode(), flush=True)
`

// The rows of the table in SECURITY.md: who tries to answer, and what the
// daemon says in single-user mode and on a system, where [approval] inline and [daemon]
// own_approver are off.
var selfApproval = []struct{ who, single, system string }{
	{"the process that asks", "refused", "refused"},
	{"a child of it", "refused", "refused"},
	{"a child of it, in a session of its own", "refused", "refused"},
	{"the process that started it, from another session", "refused", "refused"},
	{"another process of its session", "refused", "refused"},
	{"a process in a session of its own, started from the same terminal", "refused", "refused"},
	{"a process in another pid namespace, such as a sandbox", "refused", "refused"},
	{"another user's process", "refused", "refused"},
	{"the person at the terminal of `sbx run`, once", "accepted", "refused"},
	{"a person's process of the same user, with no tie to the one that asks", "accepted", "refused"},
	{"a process that asked and has cut every tie: forked twice, a session of its own, no terminal", "accepted (not held)",
		"refused"},
	{"another child of the process that started it, in a session of its own, no terminal", "accepted (not held)",
		"refused"},
	{"the program that asks, typing the yes to `sbx run` at a terminal that it opens itself",
		"accepted (not held)", "refused"},
}

// ownTerminal is the row of selfApproval whose yes is typed at the asking program's own terminal.
const ownTerminal = 12

// Issue "The socket", 3. R-IP-01, R-OP-05: who asked cannot answer, as far as
// the kernel can tell; each way is tried in each mode, and SECURITY.md has the same table.
func TestSelfApproval(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range selfApproval {
		if line := "| " + row.who + " | " + row.single + " | " + row.system + " |"; !strings.Contains(string(b), line) {
			t.Errorf("SECURITY.md lacks the row %s", line)
		}
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		for _, mode := range []struct{ name, config string }{
			{"single", "[approval]\ntimeout = \"20s\"\n"},
			{"system", "[approval]\ntimeout = \"20s\"\ninline = false\n[daemon]\nown_approver = false\n"},
		} {
			t.Run(mode.name, func(t *testing.T) {
				outer := a.t
				a.t = t
				defer func() { a.t = outer }()
				defer a.kill()
				a.do(strings.NewReader("[approval]\n"), "/bin/sh", "-c", "umask 077; cat > "+a.configFile())
				a.start("--config", a.configFile())
				if got := a.sbx("trust", a.project); got.code != 0 {
					t.Fatal(got)
				}
				a.do(strings.NewReader(mode.config), "/bin/sh", "-c", "umask 077; cat > "+a.configFile())
				a.writeAsker()
				for i, row := range selfApproval {
					want := row.single
					if mode.name == "system" {
						want = row.system
					}
					os.Remove(filepath.Join(a.project, "self-approved"))
					a.kill()
					a.start("--config", a.configFile())
					said := strings.TrimSpace(a.attempt(i))
					got := "refused"
					if said == "allowed" {
						got = "accepted"
						eventually(a.t, "it runs", func() bool { return a.wrote("self-approved") })
					} else if a.there("self-approved") {
						t.Errorf("%s: it ran despite the refusal", row.who)
					}
					if !strings.HasPrefix(want, got) {
						t.Errorf("%s: the daemon says %q, which is %s; want %s", row.who, said, got, want)
					}
					if got == "refused" && said != "self_approval" && said != "forbidden" && said != "no connection" {
						t.Errorf("%s: refused with %q", row.who, said)
					}
				}
			})
		}
	})
}

// R-IP-01: [approval] inline = false alone refuses the yes at a terminal that the asking program opens.
func TestOwnTerminalWithoutInline(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.writeAsker()
		a.configured("[approval]\ntimeout = \"20s\"\ninline = false\n")
		if said := strings.TrimSpace(a.attempt(ownTerminal)); said != "self_approval" {
			t.Errorf("the daemon says %q", said)
		}
	})
}

// besideAsker runs f for each user, with a daemon, the program asker.py that asks it, and a
// person.
func besideAsker(t *testing.T, f func(ctx context.Context, t *testing.T, a *actor, person *peer)) {
	eachUser(t, func(t *testing.T, a *actor) {
		defer a.kill()
		a.writeAsker()
		a.start()
		ctx, cancel := within(t)
		defer cancel()
		f(ctx, t, a, a.personPeer("ann", true))
	})
}

// writeAsker puts the program that asks where attempt finds it.
func (a *actor) writeAsker() {
	a.t.Helper()
	a.do(strings.NewReader(asker), "/bin/sh", "-c", "umask 077; cat > "+filepath.Join(a.dir, "asker.py"))
}

// A stop that a person has set is not lifted by those whom it stops: neither by the
// process that asked nor by what it starts. A person lifts it. R-AP-12
func TestOwnStopStays(t *testing.T) {
	t.Parallel()
	besideAsker(t, func(ctx context.Context, t *testing.T, a *actor, person *peer) {
		cmd := a.command(ctx, "/usr/bin/python3", filepath.Join(a.dir, "asker.py"), a.socketDir(), "stopped")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		said := bufio.NewScanner(out)
		next := func() string {
			t.Helper()
			if !said.Scan() {
				t.Fatal("the asker says nothing more: ", said.Err())
			}
			return said.Text()
		}
		var open ipc.ApprovalList
		for len(open.Approvals) == 0 {
			if open, err = person.approver.Approvals(ctx); err != nil {
				t.Fatal(err)
			}
		}
		decide(ctx, t, &person.approver, open.Approvals[0], ipc.Answer{Mode: "hard"})
		io.WriteString(in, "\n")
		for _, who := range []string{"the process that asked", "a child of it", "a child of it, in a session of its own"} {
			if got := next(); got != string(ipc.CodeSelfApproval) {
				t.Errorf("%s lifts the stop: %q", who, got)
			}
		}
		turn, err := person.approver.Turn(ctx, ipc.TurnRequest{Session: next()})
		if err != nil || turn.Cleared == "" {
			t.Errorf("a person does not lift it: %+v, %v", turn, err)
		}
		io.WriteString(in, "\n")
		if got := next(); got != "was not stopped" {
			t.Errorf("once it is lifted: %q", got)
		}
	})
}

// The requester of a session can't trust its project: neither the session's process nor its
// children, by any name of the directory and over either socket. A person can. The daemon does not
// recognise a process that trusts before it opens its session (SECURITY.md). R-IP-01, R-IP-07
func TestOwnTrustIsNone(t *testing.T) {
	t.Parallel()
	besideAsker(t, func(ctx context.Context, t *testing.T, a *actor, person *peer) {
		got := a.do(nil, "/usr/bin/python3", filepath.Join(a.dir, "asker.py"), a.socketDir(), "trust")
		if want := strings.Repeat(string(ipc.CodeSelfApproval)+"\n", 4) + "no_route\n"; got.out != want {
			t.Errorf("the daemon says %q, want %q (%v)", got.out, want, got)
		}
		if list, err := person.approver.Trusted(ctx); err != nil || len(list.Trusted) > 0 {
			t.Errorf("trusted are %v, %v", list, err)
		}
		if _, err := person.approver.Trust(ctx, ipc.TrustRequest{Dir: a.project}); err != nil {
			t.Errorf("a person can't: %v", err)
		}
	})
}

// kill ends the daemon at once; with a question open it would be in no hurry.
func (a *actor) kill() {
	if a.daemon != nil {
		a.daemon.Process.Kill()
		a.daemon.Wait()
		a.daemon = nil
	}
}

// attempt plays one row and returns the daemon's reply to the answerer.
func (a *actor) attempt(row int) string {
	a.t.Helper()
	script := filepath.Join(a.dir, "asker.py")
	python := func(how string) string {
		r := a.do(nil, "/usr/bin/python3", script, a.socketDir(), how, filepath.Join(bin, "sbx"))
		if r.code != 0 {
			a.t.Errorf("%s: %v", how, r)
		}
		return r.out
	}
	// background is an asker in another process tree and session than the test's.
	background := func() {
		cmd := a.command(context.Background(), "/usr/bin/python3", script, a.socketDir(), "ask")
		if err := cmd.Start(); err != nil {
			a.t.Fatal(err)
		}
		a.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	}
	both := "/usr/bin/python3 " + script + " " + a.socketDir() + " ask & "
	answer := "/usr/bin/python3 " + script + " " + a.socketDir() + " answer"
	switch row {
	case 0:
		return python("self")
	case 1:
		return python("child")
	case 2:
		return python("session")
	case 3:
		return python("parent")
	case 4:
		return a.do(nil, "/bin/sh", "-c", both+answer+"; kill $!").out
	case 5:
		return a.atTerminal("setsid " + both + "setsid -w " + answer + " > " + a.dir + "/said; kill $!")
	case 6:
		background()
		return a.do(nil, "unshare", "--user", "--map-root-user", "--pid", "--fork", "/usr/bin/python3", script, a.socketDir(), "answer").out
	case 7:
		background()
		other := exec.Command("/usr/bin/python3", script, a.socketDir(), "answer")
		if a.cred == nil {
			if os.Geteuid() != 0 {
				return "no connection" // nobody else to be
			}
			u, err := user.Lookup("nobody")
			if err != nil {
				a.t.Fatal(err)
			}
			uid, _ := strconv.Atoi(u.Uid)
			other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
			copied := filepath.Join(os.TempDir(), "asker-"+filepath.Base(a.dir)+".py")
			if err := os.WriteFile(copied, []byte(asker), 0o644); err != nil {
				a.t.Fatal(err)
			}
			defer os.Remove(copied)
			other.Args[1] = copied
		}
		var errs bytes.Buffer
		other.Stderr = &errs
		out, err := other.Output()
		if err != nil {
			a.t.Errorf("%v: %s", err, errs.String())
		}
		return string(out)
	case 8:
		return a.inline()
	case 9:
		background()
		p := a.personPeer("person-"+strconv.Itoa(int(time.Now().UnixNano()%1e9)), true)
		for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			l, err := p.approver.Approvals(a.t.Context())
			if err != nil {
				return string(ipc.CodeOf(err))
			}
			if len(l.Approvals) > 0 {
				return answerTo(p, l.Approvals[0])
			}
		}
		return "nothing was asked"
	}
	return python([]string{10: "detached", 11: "sibling", ownTerminal: "pty"}[row])
}

// atTerminal runs a line in a shell at a terminal of its own.
func (a *actor) atTerminal(line string) string {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := a.command(ctx, "/bin/bash", "-c", line)
	cmd.SysProcAttr.Setctty = true
	tty, err := pty.Start(cmd)
	if err != nil {
		a.t.Fatal(err)
	}
	defer tty.Close()
	go func() { _, _ = bytes.NewBuffer(nil).ReadFrom(tty) }()
	cmd.Wait()
	b, err := os.ReadFile(filepath.Join(a.dir, "said"))
	if err != nil {
		a.t.Fatal(err)
	}
	return string(b)
}

// inline lets a person at the terminal of sbx run say yes there.
func (a *actor) inline() string {
	a.t.Helper()
	said := "self_approval"
	_, code := a.terminal(func(tty *os.File, seen func(string) bool) {
		for deadline := time.Now().Add(6 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			if a.there("self-approved") {
				return
			}
			tty.WriteString("y\r")
		}
		tty.WriteString("\x03")
	}, "run", "--plain", "-c", "touch self-approved")
	if code == 0 && a.there("self-approved") {
		said = "allowed"
	}
	return said
}

// answerTo says yes and returns what the daemon says to that.
func answerTo(p *peer, q ipc.Approval) string {
	d, err := p.approver.Decide(context.Background(), ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: true})
	switch {
	case err != nil:
		return string(ipc.CodeOf(err))
	case d.Allowed:
		return "allowed"
	}
	return "denied"
}

// R-IP-01: an answer to several questions at once does not answer the answerer's own, though
// another process of the session has asked the same.
func TestGroupAnswerIsNoneToOnesOwn(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.start()
		ctx, cancel := within(t)
		defer cancel()
		person := a.personPeer("ann", true)
		a.trust(ctx, person)
		agent := a.fileAgent(a.agentPeer("editor"), ipc.KindAPI)
		both := a.personPeer("both", false) // asks in the agent's session, and answers
		both.agent.Secret = agent.Secret
		for c, call := range map[*ipc.Client]string{agent.Client: "theirs", &both.agent: "own"} {
			if _, err := c.StartExec(ctx, ipc.ExecRequest{Session: agent.session, CallID: call, Command: "touch made",
				Keep: true}); err != nil {
				t.Fatal(err)
			}
			question(ctx, t, &person.approver, call)
		}
		question(ctx, t, &both.approver, "own")
		decide(ctx, t, &both.approver, question(ctx, t, &both.approver, "theirs"), ipc.Answer{Allow: true, Scope: "group"})
		// it is still open
		decide(ctx, t, &person.approver, question(ctx, t, &person.approver, "own"), ipc.Answer{Mode: "soft"})
	})
}
