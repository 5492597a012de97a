package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// refused is one violation of the result of sbx run --json.
type refused struct {
	Kind, Access, Object, By, Rule, Hint string
	Count                                int
}

// refusedBy runs a script and returns what the result says was refused.
func (a *actor) refusedBy(script string) (list []refused, warnings []string) {
	a.t.Helper()
	got := a.sbx("run", "--json", "-c", script)
	var r struct {
		Ran        bool
		Violations []refused
		Warnings   []struct{ Message string }
	}
	if err := json.Unmarshal([]byte(got.out), &r); err != nil || !r.Ran {
		a.t.Fatalf("sbx run --json -c %q: %v\n%v", script, err, got)
	}
	for _, w := range r.Warnings {
		warnings = append(warnings, w.Message)
	}
	allowed := func(v refused) bool { return v.Kind == "unkept" } // TestNothingVanishes looks at those
	return slices.DeleteFunc(r.Violations, allowed), warnings
}

// Issue "The sandbox", 7. R-OS-11: the result says what the sandbox refused, by
// which rule, and how to permit it: writes, connections and system calls. The
// kernel has nobody to tell of a read that it refused.
func TestRefusalsAreReported(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		outside := filepath.Join(a.dir, "outside")
		a.sh("mkdir " + outside + " && echo old > " + outside + "/file && ln -s " + outside + "/file link && git add link && git commit -qm link")
		a.configured(fmt.Sprintf("[sandbox]\nlayers = \"off\"\nread = [%q]\n[network]\nmode = \"none\"\n", outside),
			"--mode", "approve-all")
		a.sbx("trust", a.project)
		for _, c := range []struct {
			name, script string
			want         refused // parts of each; Count at least
		}{
			{"a write to a read-only path", "echo new > " + outside + "/file",
				refused{"path", "write", outside + "/file", backend + "+landlock", "allow read " + outside, "sbx allow --write " + outside + "/file", 1}},
			{"through a symbolic link", "echo new > link",
				refused{"path", "write", outside + "/file", backend + "+landlock", "allow read " + outside, "sbx allow --write " + outside + "/file", 1}},
			{"relative, from another directory", "cd " + outside + "/../outside; : >> ./file; : >> file",
				refused{"path", "write", outside + "/file", backend, "allow", "sbx allow --write ", 2}},
			{"a new file", "touch " + outside + "/new",
				refused{"path", "create", outside + "/new", backend, "allow", "sbx allow --write " + outside, 1}},
			{"a new directory", "mkdir " + outside + "/new",
				refused{"path", "create", outside + "/new", backend, "allow", "sbx allow --write " + outside, 1}},
			{"a removal", "rm -f " + outside + "/file",
				refused{"path", "remove", outside + "/file", backend, "allow", "sbx allow --write " + outside, 1}},
			{"a move", "mv README " + outside + "/new || true",
				refused{"path", "create", outside + "/new", backend, "allow", "sbx allow --write " + outside, 1}},
			{"a protected name", "echo '#!/bin/sh' > .git/hooks/pre-commit",
				refused{"path", "create", a.project + "/.git/hooks/pre-commit", backend, "protect", "outside the sandbox", 1}},
			{"a write to the system", "touch /usr/share/x",
				refused{"path", "create", "/usr/share/x", backend, "", "no command changes the system", 1}},
			{"a refused connect", "exec 3<>/dev/tcp/127.0.0.1/80",
				refused{"network", "connect", "IPv4 TCP", "seccomp", "network none", "sbx allow HOST:PORT", 1}},
			{"a raw socket", "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'",
				refused{"syscall", "call", "raw IPv4 socket", "seccomp", "neither TCP nor UDP", "no setting permits", 1}},
			{"a ping", "python3 -c 'import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, 58)'",
				refused{"network", "connect", "IPv6 ping", "seccomp", "network none", `mode = "full"`, 1}},
			{"a denied system call", "unshare -n true",
				refused{"syscall", "call", "unshare", "seccomp", "namespaces", "no setting permits", 1}},
			{"a denied argument", "chmod u+s README",
				refused{"syscall", "call", "chmod", "seccomp", "set-user-ID", "no setting permits", 1}},
		} {
			list, _ := a.refusedBy(c.script + "; true")
			if !slices.ContainsFunc(list, func(r refused) bool {
				return r.Kind == c.want.Kind && r.Access == c.want.Access && strings.Contains(r.Object, c.want.Object) && strings.Contains(r.By, c.want.By) &&
					strings.Contains(r.Rule, c.want.Rule) && strings.Contains(r.Hint, c.want.Hint) && r.Count >= c.want.Count
			}) {
				t.Errorf("%s: want %+v, got %+v", c.name, c.want, list)
			}
		}

		// Ordinary work is no refusal, and neither is text that looks like one.
		work := `echo a > /dev/null; echo b > /dev/stderr; echo c > new; mv new old; mkdir -p d/e; rm -r d old; git status > /tmp/x; python3 -c 'open("/tmp/y", "w+").write("x")'
			[ -e /nowhere/at/all ] || echo "touch: cannot touch '/etc/x': Permission denied" >&2; cat /nowhere 2>/dev/null; exit 1`
		if list, warnings := a.refusedBy(work); len(list) > 0 {
			t.Errorf("of ordinary work: %+v %q", list, warnings)
		}

		// In the terminal, in brief, and in the audit log.
		got := a.sbx("run", "-c", "echo new > "+outside+"/file")
		if want := "the sandbox refused write " + outside + "/file"; got.code != 1 || !strings.Contains(got.err, want) || !strings.Contains(got.err, "sbx allow --write ") {
			t.Errorf("no %q in %v", want, got)
		}
		many := a.sbx("run", "-c", "for i in $(seq 40); do echo > "+outside+"/$i; done; false")
		if n := strings.Count(many.err, "the sandbox refused"); n < 2 || n > 7 || !strings.Contains(many.err, "more") {
			t.Errorf("40 refusals in %d lines: %v", n, many.err)
		}
		if list, warnings := a.refusedBy("for i in $(seq 40); do echo > " + outside + "/$i; done"); len(list) != 32 || !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "8 more") }) {
			t.Errorf("of 40 refusals %d are reported, with the warnings %q", len(list), warnings)
		}
		log, err := os.ReadFile(filepath.Join(a.stateDir(), "audit", "00000001.jsonl"))
		if err != nil || !strings.Contains(string(log), `"violations":["write `+outside+`/file [allow read `) {
			t.Errorf("%v: no refusal in the audit log", err)
		}

		// What the hint says permits it.
		a.configured(fmt.Sprintf("[sandbox]\nwrite = [%q]\n", outside+"/file"), "--mode", "approve-all")
		if list, _ := a.refusedBy("echo new > " + outside + "/file"); len(list) > 0 || a.sh("cat "+outside+"/file") != "new\n" {
			t.Errorf("after the hint was followed: %+v", list)
		}
	})
}

// A refusal to connect to an address that the network mode does not grant names the address.
func TestRefusedAddressesAreReported(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.configured("[network]\nmode = \"loopback\"\n", "--mode", "approve-all")
		list, _ := a.refusedBy("exec 3<>/dev/tcp/192.0.2.1/8080; exec 4<>/dev/tcp/127.0.0.1/9; true")
		if len(list) != 1 || list[0].Object != "192.0.2.1:8080" || list[0].Access != "connect" ||
			list[0].Rule != "network loopback" {
			t.Errorf("got %+v", list)
		}
	})
}

// R-OS-11: a refused socket names the mode that permits it: loopback for the command's own localhost, the
// allowlist for hosts, full for what no proxy carries. Where a rule or [shell] network is the cause, the hint
// names that. The remedy is then followed, and works.
func TestRefusedSocketsNameTheRemedy(t *testing.T) {
	t.Parallel()
	const (
		serve = `python3 -c 'import socket as s; l = s.create_server(("127.0.0.1", 0)); s.create_connection(l.getsockname())'`
		six   = `python3 -c 'import socket as s; s.create_server(("::1", 0), family=s.AF_INET6)'`
		udp   = `python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_DGRAM).bind(("127.0.0.1", 0))'`
		host  = "exec 3<>/dev/tcp/192.0.2.1/8080"

		loopback = `[network] mode = "loopback" for 127.0.0.1 and ::1`
		none     = "[network]\nmode = \"none\"\n"
		unbound  = "[network]\nmode = \"full\"\n"
		without  = unbound + "[shell]\nnetwork = \"none\"\n"
		ruled    = unbound + "[[shell.rules]]\npattern = \"python3\"\nnetwork = \"none\"\n"
	)
	bothUsers(t, func(t *testing.T, a *actor) {
		for _, c := range []struct{ config, script, object, hint string }{
			{none, serve, "IPv4 TCP", loopback},
			{none, serve, "IPv4 TCP", "or sbx allow HOST:PORT"},
			{none, six, "IPv6 TCP", loopback},
			{none, udp, "IPv4 UDP", loopback + `, or mode = "full"`},
			{"[network]\nmode = \"loopback\"\n", host, "192.0.2.1:8080", "sbx allow 192.0.2.1:8080"},
			{"[network]\nmode = \"loopback\"\n", serve, "", ""},
			{"[network]\nmode = \"loopback\"\n", six, "", ""},
			{"[network]\nmode = \"loopback\"\n", udp, "", ""},
			{without, serve, "IPv4 TCP", `[shell] network = "loopback"`},
			{ruled, serve, "IPv4 TCP", `[[shell.rules]] network = "loopback"`},
			{strings.Replace(without, "none", "loopback", 1), serve, "", ""},
			{strings.Replace(ruled, "none", "loopback", 1), serve, "", ""},
		} {
			a.configured(c.config, "--mode", "approve-all")
			list, _ := a.refusedBy(c.script)
			switch {
			case c.hint == "" && len(list) > 0:
				t.Errorf("%q with %q: refused %+v", c.script, c.config, list)
			case c.hint != "" && (len(list) != 1 || list[0].Object != c.object || !strings.Contains(list[0].Hint, c.hint)):
				t.Errorf("%q with %q: want %s and %q, got %+v", c.script, c.config, c.object, c.hint, list)
			}
		}
	})
}

// Refused calls without end are refused without end, and neither hang the
// command nor hold up anybody else.
func TestFloodOfRefusals(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.approveAllCold(a.counted()...)
		a.sbx("run", "--", "true")
		before := a.descriptors()
		const flood = `python3 -c '
import os, threading
def work():
    for i in range(5000):
        try: os.chmod("README", 0o4755)
        except PermissionError: pass
        else: raise SystemExit("it was let through")
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print("done")'`
		list, _ := a.refusedBy(flood)
		if len(list) != 1 || list[0].Count != 20000 {
			t.Errorf("of 20000 refusals: %+v", list)
		}
		// Killed in the middle of it, it is gone at once.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		forever := a.command(ctx, filepath.Join(bin, "sbx"), "run", "--timeout", "2s", "-c",
			"while :; do chmod u+s README; done 2>/dev/null")
		start := time.Now()
		forever.Run()
		if took := time.Since(start); forever.ProcessState.ExitCode() != 124 || took > 30*time.Second {
			t.Errorf("the flood ended with %d after %v", forever.ProcessState.ExitCode(), took)
		}
		if got := a.sbx("run", "--", "true"); got.code != 0 {
			t.Error(got)
		}
		a.sheds(t, before)
	})
}

// A daemon below another seccomp listener can't observe refusals. The result and the
// status say so, and the sandbox enforces everything else unchanged.
func TestRefusalsNotAvailable(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		daemon := []string{filepath.Join(bin, "sandboxd"), "--socket-dir", a.socketDir(), "--state-dir", a.stateDir(),
			"--mode", "approve-all"}
		if a.cred != nil { // only the user that runs the tests can execute the test binary
			daemon = append([]string{"/usr/bin/setpriv", "--clear-groups", "--reuid", strconv.Itoa(int(a.cred.Uid)), "--regid",
				strconv.Itoa(int(a.cred.Gid))}, daemon...)
		}
		cmd := a.command(context.Background(), self, daemon...)
		cmd.SysProcAttr.Credential = nil
		cmd.Env = append(cmd.Env, outerListener+"=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		a.daemon = cmd
		eventually(t, "the daemon serves", func() bool {
			_, err := os.Stat(filepath.Join(a.socketDir(), "approver.sock"))
			return err == nil
		})
		list, warnings := a.refusedBy("chmod u+s README || echo > /etc/hostname || unshare -n true; [ ! -u README ]")
		if len(list) > 0 || !slices.ContainsFunc(warnings,
			func(w string) bool { return strings.Contains(w, "not available on this host") }) {
			t.Errorf("got %+v, warnings %q", list, warnings)
		}
		if got := a.sbx("run", "--", "git", "status", "--short"); got.code != 0 {
			t.Error(got)
		}
		// sbx prints the warning once, with a command that fails.
		script := "for i in 1 2 3; do " + filepath.Join(bin, "sbx") + " run -c 'exit 3'; done"
		if got := a.do(nil, "/bin/bash", "-c", script); strings.Count(got.err, "not available on this host") != 1 {
			t.Errorf("want the warning once: %v", got)
		}
		if got := a.sbx("status"); !strings.Contains(got.out, "listener") {
			t.Errorf("the status does not say it: %v", got)
		}
	})
}

// A daemon that has recorded its start and can't serve records its end, too: the log holds no daemon that never ran.
// R-AU-03
func TestStartThatFailsIsRecorded(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.start()
		a.stop()
		open := strings.TrimSpace(a.sh("dir=$(mktemp -d) && chmod 755 $dir && echo $dir"))
		r := a.do(nil, filepath.Join(bin, "sandboxd"), "--socket-dir", open, "--state-dir", a.stateDir())
		if r.code == 0 || !strings.Contains(r.err, "0700") {
			t.Fatalf("got %v, want a refusal of the directory", r)
		}
		a.start()
		starts := strings.Count(a.sbx("log", "--json").out, `"category":"config","operation":"start"`)
		stops := strings.Count(a.sbx("log", "--json").out, `"category":"config","operation":"stop"`)
		if starts != stops+1 || starts < 3 {
			t.Errorf("got %d starts and %d ends, want one more start, of the daemon that runs", starts, stops)
		}
	})
}
