package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// in runs a script, in which $sbx is the program, where the daemon is started by it.
func (a *actor) in(script string) result {
	a.t.Helper()
	return a.do(nil, "/bin/bash", "-c", "sbx="+filepath.Join(bin, "sbx")+"; "+script)
}

// R-OS-05, R-UX-07: a limit on open files that is too low for a daemon is what the error
// names, and not what it would have failed at; sbx itself needs next to none.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		r := a.in("ulimit -n 20; exec $sbx run -- true")
		if r.code != 125 || !strings.Contains(r.err, "at most 20 files may be open") ||
			!strings.Contains(r.err, "LimitNOFILE=") || strings.Contains(r.err, "dmesg") {
			t.Errorf("a daemon is to be started: %v", r)
		}
		if r := a.in("ulimit -n 256; exec $sbx run -c 'ls | wc -l'"); r.code != 0 {
			t.Errorf("as many as it wants: %v", r)
		}
		for _, verb := range []string{"run -- true", "status", "run -c 'ls | cat'"} {
			if r := a.in("ulimit -n 12; exec $sbx " + verb); r.code != 0 {
				t.Errorf("with a daemon that runs, sbx %s: %v", verb, r)
			}
		}
	})
}

// R-UX-07, R-IP-09: wherever sbx is called from, it works or says what is wrong and what
// to do. None of these may hang or end with the stack of a program that crashed.
func TestEnvironmentAroundTheRun(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		for _, c := range []struct{ what, script string }{
			{"of cron", "exec env -i HOME=$HOME SHELL=/bin/sh SBX_SOCKET_DIR=$SBX_SOCKET_DIR SBX_STATE_DIR=$SBX_STATE_DIR $sbx"},
			{"without HOME", "unset HOME; exec $sbx"},
			{"with another HOME", "export HOME=/; exec $sbx"},
			{"without standard input", "exec <&-; exec $sbx"},
			{"without any descriptor", "exec <&- >&- 2>&-; exec $sbx"},
			{"with an umask that forbids all", "umask 0777; exec $sbx"},
			{"with no directory for temporary files", "export TMPDIR=/nowhere; exec $sbx"},
			{"in a directory whose name is not ASCII", "export LC_ALL=C; mkdir -p $'\\xc3\\xbc'; cd $'\\xc3\\xbc'; exec $sbx"},
		} {
			a.stop()
			for _, verb := range []string{" run -- true", " shell -c true", " status"} {
				start := time.Now()
				if r := a.in(c.script + verb); r.code != 0 || strings.Contains(r.err, "goroutine") ||
					time.Since(start) > slow*30*time.Second {
					t.Errorf("%s,%s: %v", c.what, verb, r)
				}
			}
		}
		deleted := "mkdir gone; cd gone; rmdir ../gone; exec $sbx "
		for verb, want := range map[string]string{"run -- true": "change to another one",
			"--socket-dir s status": "give an absolute path"} {
			if r := a.in(deleted + verb); r.code != 125 || !strings.Contains(r.err, want) {
				t.Errorf("in a directory that is gone, %s: %v", verb, r)
			}
		}
		if r := a.in("mkdir $'\\xfc'; cd $'\\xfc'; exec $sbx run -- true"); r.code != 125 ||
			!strings.Contains(r.err, "cwd is not UTF-8") || !strings.Contains(r.err, "another name") {
			t.Errorf("in a directory whose name is no text: %v", r)
		}
		if r := a.in("mkdir -p $'new\\nline'/x; cd $'new\\nline'/x; exec $sbx run -- true"); r.code != 125 ||
			!strings.Contains(r.err, "line break; give that directory another name") {
			t.Errorf("below a directory whose name has two lines: %v", r)
		}
		if r := a.in("unset HOME; exec $sbx hook install claude --user"); r.code != 125 ||
			!strings.Contains(r.err, "looks for its settings below it") {
			t.Errorf("settings without HOME: %v", r)
		}
		if r := a.in(deleted + "status"); r.code != 0 {
			t.Errorf("in a directory that is gone: %v", r)
		}
	})
}

// R-IP-09: sbx finds a daemon that a person started by hand, with no socket directory configured
// for either, and without a runtime directory.
func TestStartedByHand(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: a developer's own daemon may serve there; CI runs this as root")
		return
	}
	a := newActor(t, ordinaryUser(t))
	dir := "/tmp/sandboxd-" + strconv.Itoa(int(a.cred.Uid))
	t.Cleanup(func() { os.RemoveAll(dir) })
	daemon := a.command(t.Context(), filepath.Join(bin, "sandboxd"), "--state-dir", a.stateDir())
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { daemon.Process.Signal(syscall.SIGTERM); daemon.Wait() }()
	eventually(t, "it serves", func() bool { return answers(filepath.Join(dir, "agent.sock")) })
	if r := a.in("unset SBX_SOCKET_DIR SBX_STATE_DIR; exec $sbx status"); r.code != 0 ||
		!strings.Contains(r.out, "process "+strconv.Itoa(daemon.Process.Pid)+",") {
		t.Errorf("sbx found another: %v", r)
	}
}

// R-IP-09, R-UX-07: sbx reports a directory of the configuration that the daemon does not use.
func TestPlacesOverruled(t *testing.T) {
	t.Parallel()
	a := ordinaryActor(t)
	file := filepath.Join(a.dir, "c.toml")
	a.sh("printf '[daemon]\nstate_dir = \"/nowhere\"\n' > " + file + "; chmod 600 " + file)
	if r := a.sbx("--config", file, "status"); r.code != 0 ||
		!strings.Contains(r.err, `state_dir = "/nowhere" is not used`) || !strings.Contains(r.out, a.stateDir()) {
		t.Error(r)
	}
}

// R-UX-07: both programs report that their user is in no password database.
func TestNoHome(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can be another user; CI runs this as root")
		return
	}
	a := newActor(t, "")
	for program, want := range map[string]string{"sbx run -- true": "not in the password database",
		"sandboxd": "add the user to the password database"} {
		r := a.in("cd /tmp; exec setpriv --reuid 54321 --regid 54321 --clear-groups env SBX_STATE_DIR= SBX_SOCKET_DIR= " +
			filepath.Join(bin, program))
		if r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("%s: %v", program, r)
		}
	}
	os.Remove("/tmp/sandboxd-54321/start.lock")
	os.Remove("/tmp/sandboxd-54321")
}

// R-OS-07: a hidden or read-only path through a symbolic link protects the target of the link, as a granted path
// grants the target.
func TestConfiguredThroughLinks(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		disk, link := filepath.Join(a.dir, "disk"), filepath.Join(a.dir, "data")
		a.sh("mkdir -p " + disk + "/secret " + disk + "/fixed && echo CANARY > " + disk + "/secret/k && echo CANARY > " +
			disk + "/x.key && ln -s disk " + link)
		a.configured(fmt.Sprintf("[sandbox]\nwrite = [%q]\nhidden = [%q, %q]\nread_only = [%q]\n", link, link+"/secret", link+
			"/**/*.key", link+"/fixed"), "--mode", "approve-all")
		r := a.sbx("run", "-c", "cd "+disk+" && echo w > w && cat w; cat secret/k x.key; echo x > fixed/x; ls fixed")
		if strings.TrimSpace(r.out) != "w" {
			t.Errorf("%v", r)
		}
	})
}
