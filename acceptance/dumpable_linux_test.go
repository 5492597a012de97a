package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// R-OP-06: other processes of the same user can neither trace the daemon and
// what answers for a person nor read their memory: the files of a process that is
// not dumpable belong to root (proc_pid(5)). And another bwrap on the search path, or
// another configuration on disk, changes nothing before a reload.
func TestNotDumpable(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		if a.root() {
			return // root's own processes belong to root in any case
		}
		config := a.configFile()
		a.do(strings.NewReader("[approval]\nmode = \"strict\"\n"), "/bin/sh", "-c", "umask 077; cat > "+config)
		plant := filepath.Join(a.dir, "plant")
		a.sh("mkdir " + plant + " && printf '#!/bin/sh\\ntouch " + plant + "/used\\n' > " + plant + "/bwrap && chmod 755 " +
			plant + "/bwrap")
		a.extraEnv = []string{"PATH=" + plant + ":/usr/local/bin:/usr/bin:/bin"}
		a.start("--config", config)
		belongs := func(what string, pid int) {
			t.Helper()
			fi, err := os.Stat(fmt.Sprintf("/proc/%d/mem", pid))
			if err != nil {
				t.Fatal(err)
			}
			if uid := fi.Sys().(*syscall.Stat_t).Uid; uid != 0 {
				t.Errorf("%s is dumpable: its memory belongs to %d", what, uid)
			}
		}
		belongs("the daemon", a.daemon.Process.Pid)
		a.terminal(func(tty *os.File, _ func(string) bool) {
			eventually(a.t, "sbx approve can't be traced", func() bool {
				for _, p := range processes() {
					if strings.HasPrefix(p.cmdline, filepath.Join(bin, "sbx")+" approve ") {
						fi, err := os.Stat(fmt.Sprintf("/proc/%d/mem", p.pid))
						return err == nil && fi.Sys().(*syscall.Stat_t).Uid == 0
					}
				}
				return false
			})
			tty.WriteString("\x03")
		}, "approve")

		a.do(strings.NewReader("[[shell.rules]]\npattern = \"touch *\"\napproval = false\n"), "/bin/sh", "-c", "cat > "+
			config)
		if got := a.sbx("run", "--", "touch", "unasked"); got.code != 126 || a.there("unasked") {
			t.Errorf("a configuration that nobody reloaded counts: %v", got)
		}
		if got := a.sbx("run", "--", "cat", "README"); got.code != 0 {
			t.Error(got)
		}
		if _, err := os.Stat(filepath.Join(plant, "used")); err == nil {
			t.Error("bwrap was taken from the search path")
		}
	})
}
