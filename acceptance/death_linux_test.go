package acceptance

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Issue "The main job", 5: a killed daemon leaves no process, and the next run
// works. R-OP-03
func TestKilledDaemonLeavesNothing(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.sbx("trust", a.project)
		const mark = "98761"
		// sleep alone is harmless enough to ask for; approve through mode.
		a.approveAll()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cmd := a.command(ctx, filepath.Join(bin, "sbx"), "run", "-c", "setsid sleep "+mark+" & (sleep "+mark+
			" &) ; trap '' TERM; sleep "+mark)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "three sleeps", func() bool { return count("sleep "+mark) >= 3 })
		a.daemon.Process.Kill()
		a.daemon.Wait()
		a.daemon = nil
		eventually(t, "no sleep", func() bool { return count("sleep "+mark) == 0 })
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 125 {
			t.Errorf("the client ended with %d", code)
		}
		if got := a.sbx("run", "--", "git", "status", "--short"); got.code != 0 {
			t.Errorf("the next run: %v", got)
		}
		if got := a.sbx("log", "verify"); got.code != 0 {
			t.Error(got)
		}
	})
}

// A run whose launch server is killed is reported and recorded as cut off, nothing of it is left, and the next run
// has another server. R-OP-03
func TestKilledServerCutsOff(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		file := filepath.Join(a.dir, "native.toml")
		a.sh("umask 077; printf '[sandbox]\\nbackend = \"native\"\\n' > " + file)
		a.start("--mode", "approve-all", "--config", file)
		const mark = "98767"
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var out strings.Builder
		cmd := a.command(ctx, filepath.Join(bin, "sbx"), "run", "-c", "trap '' TERM; (setsid sleep "+mark+" &); sleep "+mark)
		cmd.Stderr = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "two sleeps", func() bool { return count("sleep "+mark) >= 2 })
		if err := syscall.Kill(a.find("server"), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "no sleep", func() bool { return count("sleep "+mark) == 0 })
		cmd.Wait()
		code := cmd.ProcessState.ExitCode()
		if code != 137 || !strings.Contains(out.String(), "Cut off: the launch server ended") {
			t.Errorf("the client ended with %d: %s", code, out.String())
		}
		if got := a.sbx("run", "--", "true"); got.code != 0 {
			t.Errorf("the next run: %v", got)
		}
		if log := a.sbx("log", "--json"); !strings.Contains(log.out, `"launch server ended"`) {
			t.Errorf("no record: %s", log.out)
		}
	})
}

// A daemon whose sockets are gone leaves, so that another can serve. R-OP-03
func TestLostSockets(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.approveAll()
		os.RemoveAll(a.socketDir())
		ended := make(chan struct{})
		daemon := a.daemon
		go func() { daemon.Wait(); close(ended) }()
		select {
		case <-ended:
			a.daemon = nil
		case <-time.After(patience):
			t.Fatal("the daemon still runs, though no client can find it")
		}
		if got := a.sbx("run", "--", "git", "status", "--short"); got.code != 0 {
			t.Errorf("the next run: %v", got)
		}
	})
}

// count counts living processes by the start of their command line.
func count(cmdline string) int {
	n := 0
	for _, p := range processes() {
		if p.state != 'Z' && strings.HasPrefix(p.cmdline, cmdline+" ") {
			n++
		}
	}
	return n
}

// Issue "The main job", 6: one changed byte is found and its record named. R-AU-02
func TestLogVerifyNamesAChangedRecord(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		for range 3 {
			a.sbx("run", "--", "git", "status")
		}
		if got := a.sbx("log", "verify"); got.code != 0 {
			t.Fatal(got)
		}
		if got := a.sbx("log"); !strings.Contains(got.out, "git status") {
			t.Errorf("the log does not show the command: %v", got)
		}
		a.stop()
		files, _ := filepath.Glob(filepath.Join(a.stateDir(), "audit", "*.jsonl"))
		if len(files) == 0 {
			t.Fatal("there is no audit file")
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		i := strings.Index(string(b), "git status")
		line := strings.Count(string(b[:i]), "\n") + 1
		seq := regexp.MustCompile(`"seq":(\d+)`).FindStringSubmatch(strings.Split(string(b), "\n")[line-1])
		b[i] = 'G'
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		got := a.sbx("log", "verify")
		if got.code == 0 || seq == nil || !strings.Contains(got.out+got.err, seq[1]) ||
			!strings.Contains(got.out+got.err, filepath.Base(files[0])) {
			t.Errorf("record %v of %s was changed: %v", seq, files[0], got)
		}
	})
}

// R-IP-09: a daemon that sbx started leaves when idle, and takes no other's place.
func TestDaemonLeavesWhenIdle(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.start("--idle-timeout", "1s")
		daemon := a.daemon
		exited := make(chan struct{})
		go func() { daemon.Wait(); close(exited) }()
		select {
		case <-exited:
		case <-time.After(patience):
			t.Error("it stays")
			daemon.Process.Signal(syscall.SIGKILL)
			<-exited
		}
		a.daemon = nil
	})
}
