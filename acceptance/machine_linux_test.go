package acceptance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// machine is a Debian 12 with a systemd of its own as the first process, in a
// container (systemd-nspawn --boot). Its tree is built once and never changed:
// what it writes is in memory and gone afterwards.
type machine struct {
	t      *testing.T
	init   int // pid of its first process, as we see it
	nspawn *exec.Cmd
	log    bytes.Buffer
}

// bootMachine boots one in which the folder packages is /pkg.
func bootMachine(t *testing.T, packages string) *machine {
	t.Helper()
	cache, err := filepath.Abs("../.cache")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("../packaging/debian-tree.sh", cache).CombinedOutput(); err != nil {
		t.Fatalf("build the tree: %v\n%s", err, out)
	}
	m := &machine{t: t}
	// nspawn's own filter does not know Landlock; a real machine has no such filter.
	m.nspawn = exec.Command("systemd-nspawn", "-q", "-D", filepath.Join(cache, "debian12"), "--boot", "--volatile=overlay",
		"--register=no", "--keep-unit", "--private-network", "-M", "sbx"+strconv.Itoa(os.Getpid()), "--console=pipe",
		"--system-call-filter=landlock_create_ruleset landlock_add_rule landlock_restrict_self", "--bind-ro="+packages+
			":/pkg")
	m.nspawn.Stdout, m.nspawn.Stderr = &m.log, &m.log
	m.nspawn.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := m.nspawn.Start(); err != nil {
		t.Fatalf("systemd-nspawn: %v", err)
	}
	t.Cleanup(func() {
		m.nspawn.Process.Signal(syscall.SIGTERM) // an orderly power-off
		ended := make(chan struct{})
		go func() { m.nspawn.Wait(); close(ended) }()
		select {
		case <-ended:
		case <-time.After(patience):
			m.nspawn.Process.Kill()
			<-ended
		}
	})
	m.until("it boots", func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", m.nspawn.Process.Pid, m.nspawn.Process.Pid))
		if m.init, _ = strconv.Atoi(strings.TrimSpace(string(b))); m.init == 0 {
			return false
		}
		state := m.sh("systemctl is-system-running").out
		return state == "running" || state == "degraded"
	})
	return m
}

// until waits for something that must come.
func (m *machine) until(what string, ok func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatalf("waited in vain until %s\n%s\n%s", what, m.log.String(), m.sh("journalctl --no-pager -n 60 2>&1").out)
		}
	}
}

// sh runs a script as root in the machine.
func (m *machine) sh(script string) result { return m.as("root", script) }

// as runs a script as a user who has logged in.
func (m *machine) as(user, script string) result {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := m.command(ctx, user, script)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	r := result{out: strings.TrimSpace(out.String()), err: strings.TrimSpace(errs.String()),
		code: cmd.ProcessState.ExitCode()}
	if ctx.Err() != nil {
		m.t.Fatalf("%s: %q does not end in time: %v %s", user, script, err, r)
	}
	return r
}

func (m *machine) command(ctx context.Context, user, script string) *exec.Cmd {
	args := []string{"-t", strconv.Itoa(m.init), "-a", "--"}
	if user == "root" {
		args = append(args, "/bin/sh", "-c", script)
	} else {
		args = append(args, "/bin/su", "-", user, "-c", script)
	}
	cmd := exec.CommandContext(ctx, "nsenter", args...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/root"}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// must is sh for what must succeed.
func (m *machine) must(user, script string) string {
	m.t.Helper()
	r := m.as(user, script)
	if r.code != 0 {
		m.t.Fatalf("%s: %s\n%s", user, script, r)
	}
	return r.out
}

// started runs a script as a user in the background; its output is had by wait.
func (m *machine) started(user, script string) (wait func() result) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	cmd := m.command(ctx, user, script)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); cancel(); close(ended) }()
	return func() result {
		<-ended
		return result{out: strings.TrimSpace(out.String()), err: strings.TrimSpace(errs.String()),
			code: cmd.ProcessState.ExitCode()}
	}
}

// pending waits for a user's question and returns its id, as an approver sees it.
func (m *machine) pending(approver, user string) string {
	m.t.Helper()
	var id string
	m.until("a question of "+user+" waits", func() bool {
		id = m.as(approver, "sbx --user "+user+" pending --json 2>/dev/null | grep -o '\"id\":\"[^\"]*\"' | head -n 1 | "+
			"cut -d'\"' -f4").out
		return id != ""
	})
	return id
}

// rpmlint is the line that checks the rpm in a folder of this test. rpmlint unpacks it by cpio, which takes its names
// as absolute paths: root would install it.
func rpmlint(t *testing.T, packages string) string {
	t.Helper()
	dir, unprivileged := filepath.Dir(packages), ""
	if os.Geteuid() == 0 {
		unprivileged = "setpriv --reuid=65534 --regid=65534 --clear-groups "
		for _, dir := range []string{dir, filepath.Dir(dir)} {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	return "cp ../packaging/rpmlintrc.toml " + dir + " && cd / && HOME=/tmp " + unprivileged + "rpmlint -c " + dir +
		"/rpmlintrc.toml " + packages + "/*.rpm"
}
