package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// warmRun is the result of one `sbx run --json`.
type warmRun struct {
	Stdout, Stderr string
	Status         int
	Warm           bool
	Error, Denied  any
}

func (a *actor) warmRun(line string) warmRun {
	a.t.Helper()
	var r warmRun
	got := a.sbx("run", "--json", "-c", line)
	if err := json.Unmarshal([]byte(got.out), &r); err != nil {
		a.t.Fatalf("%v: %v", err, got)
	}
	return r
}

// warmUp runs commands until one uses a warm sandbox, and gives the daemon time to
// prepare the next one.
func (a *actor) warmUp() {
	a.t.Helper()
	a.warmUpWith("true")
}

func (a *actor) warmUpWith(line string) {
	a.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if a.warmRun(line).Warm {
			time.Sleep(300 * time.Millisecond)
			return
		}
	}
	a.t.Fatal("no command ever finds a sandbox that waits")
}

// R-OS-02, warm sandboxes: after any change between the preparation of a sandbox and
// its use, the sandbox enforces the same as one created at the moment of use.
func TestWarmIsNeverWeaker(t *testing.T) {
	t.Parallel()
	const hide = "printf '[sandbox]\nhidden = [\"secret\"]\n' > .sandboxd.toml; "
	const hideKey = "printf '[sandbox]\nhidden = [\"sub/key\"]\n' > .sandboxd.toml; "
	for _, c := range []struct {
		name, setup, change, line string
		want                      string // on standard output, exactly
		root                      bool
	}{
		{name: "a secret appears", setup: hide, change: "echo SECRET > secret", line: "cat secret || echo NO", want: "NO\n"},
		{name: "a secret is replaced", setup: hide + "echo OLD > secret", change: "echo SECRET > new; mv new secret",
			line: "cat secret || echo NO", want: "NO\n"},
		{name: "the folder of a secret is replaced", setup: hideKey + "mkdir sub; echo OLD > sub/key",
			change: "mv sub was; mkdir sub; echo SECRET > sub/key; rm -r was", line: "cat sub/key || echo NO", want: "NO\n"},
		{name: "a folder becomes a link", setup: hideKey + "mkdir sub other; echo OLD > sub/key; echo OPEN > other/key",
			change: "mv sub was; ln -s was sub", line: "cat other/key; cat sub/key || echo NO", want: ""},
		{name: "the project hides more", setup: "echo SECRET > notes",
			change: "printf '[sandbox]\nhidden = [\"notes\"]\n' > .sandboxd.toml", line: "cat notes || echo NO", want: "NO\n"},
		{name: "the project protects more", setup: "echo x > gen",
			change: "printf '[sandbox]\nread_only = [\"gen\"]\n' > .sandboxd.toml", line: "echo y > gen; cat gen", want: "x\n"},
		{name: "a protected file is replaced", change: "cp .git/config new; mv new .git/config",
			line: "echo '#' >> .git/config && echo WROTE || echo NO", want: "NO\n"},
		{name: "a protected file is unlinked and linked again",
			change: "ln .git/config keep; rm .git/config; mv keep .git/config",
			line:   "echo '#' >> .git/config && echo WROTE || echo NO", want: "NO\n"},
		{name: "a protected file is made again", change: "cp .git/config keep; rm .git/config; cat keep > .git/config",
			line: "echo '#' >> .git/config && echo WROTE || echo NO", want: "NO\n"},
		{name: "a protected folder is made again", change: "rm -r .git/hooks; mkdir .git/hooks",
			line: "echo x > .git/hooks/pre-commit && echo WROTE || echo NO", want: "NO\n"},
		{name: "a protected folder is replaced", change: "mv .git/hooks was; mkdir .git/hooks; rm -r was",
			line: "echo x > .git/hooks/pre-commit && echo WROTE || echo NO", want: "NO\n"},
		{name: "a repository appears", setup: "mkdir sub", change: "git init -q sub",
			line: "echo x > sub/.git/hooks/pre-commit && echo WROTE || echo NO", want: "NO\n"},
		{name: "the person's git configuration changes", change: "git config --global sbx.test yes",
			line: "git config --get sbx.test || echo NO", want: "yes\n"},
		{name: "a mount is made", setup: "mkdir sub; echo BELOW > sub/a",
			change: "mount -t tmpfs tmpfs sub; echo ABOVE > sub/a", line: "cat sub/a", want: "ABOVE\n", root: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachUser(t, func(t *testing.T, a *actor) {
				if c.root && a.cred != nil || c.root && os.Geteuid() != 0 {
					return
				}
				t.Cleanup(func() {
					a.do(nil, "/bin/sh", "-c", "umount sub 2>/dev/null; git config --global --unset sbx.test; exit 0")
				})
				a.sh("true; " + c.setup)
				a.direct()
				a.warmRun("touch made; rm made") // the yes to it trusts the project
				a.warmUp()
				a.sh(c.change)
				got := a.warmRun(c.line)
				if c.want != "" && got.Stdout != c.want {
					t.Errorf("it says %q, want %q (%+v)", got.Stdout, c.want, got)
				}
				if strings.Contains(got.Stdout, "SECRET") {
					t.Errorf("it read what is hidden: %+v", got)
				}
				a.direct() // another daemon, where nothing waits
				if cold := a.warmRun(c.line); cold.Stdout != got.Stdout || cold.Status != got.Status {
					t.Errorf("a sandbox that waited gives %+v, a new one %+v", got, cold)
				}
			})
		})
	}
}

// R-LY-01, R-LY-10: a layered run in a sandbox that waited sees the project as it is at its start, and what it writes
// lands. Where the project's own directory has other metadata, the run gets a new sandbox.
func TestWarmLayersShowTheProject(t *testing.T) {
	t.Parallel()
	const hide = "printf '[sandbox]\nhidden = [\"secret\"]\n' > .sandboxd.toml; "
	const hideKey = "printf '[sandbox]\nhidden = [\"sub/key\"]\n' > .sandboxd.toml; "
	for _, c := range []struct {
		name, setup, change, line, want string
		cold                            bool
	}{
		{name: "a file is replaced", setup: "echo OLD > f", change: "echo NEW > n; mv n f", line: "cat f", want: "NEW\n"},
		{name: "a file is written to", setup: "echo OLD > f", change: "echo NEW > f", line: "cat f", want: "NEW\n"},
		{name: "a folder is replaced", setup: "mkdir d; echo OLD > d/f",
			change: "mv d was; mkdir d; echo NEW > d/f; rm -r was", line: "cat d/f; ls d", want: "NEW\nf\n"},
		{name: "a file is gone", setup: "touch f", change: "rm f", line: "ls f || echo NO", want: "NO\n"},
		{name: "a file is there", change: "echo NEW > f", line: "cat f; ls", want: "NEW\nREADME\nf\n"},
		{name: "the time changes", change: "touch -d @1000000000 .", line: "stat -c %Y .", want: "1000000000\n"},
		{name: "the mode changes", change: "chmod 711 .", line: "stat -c %a .", want: "711\n", cold: true},
		{name: "an attribute changes", change: "setfattr -n user.x -v NEW .",
			line: "getfattr --only-values -n user.x .; echo", want: "NEW\n", cold: true},
		{name: "a secret is replaced", setup: hide + "echo OLD > secret", change: "echo SECRET > new; mv new secret",
			line: "cat secret || echo NO", want: "NO\n", cold: true},
		{name: "the folder of a secret is replaced", setup: hideKey + "mkdir sub; echo OLD > sub/key",
			change: "mv sub was; mkdir sub; echo SECRET > sub/key; echo NEW > sub/f; rm -r was",
			line:   "cat sub/key || cat sub/f", want: "NEW\n", cold: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachUser(t, func(t *testing.T, a *actor) {
				a.sh("true; " + c.setup)
				a.layered()
				a.sbx("trust", "--contained")
				if !strings.Contains(c.setup, "sub/key") {
					a.warmUpWith("sh -c 'exit 0'")
				}
				a.sh(c.change)
				got := a.warmRun(c.line + "; echo landed > made")
				if got.Stdout != c.want || got.Warm == c.cold || got.Status != 0 {
					t.Errorf("%+v, want %q, in a sandbox that waited: %t", got, c.want, !c.cold)
				}
				if text := a.sh("cat made"); text != "landed\n" {
					t.Errorf("it landed %q", text)
				}
			})
		})
	}
}

// R-OP-03: the layers of sandboxes that wait are deleted with those, and by the next daemon.
func TestWarmLayersAreDeleted(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		for _, kill := range []bool{false, true} {
			a.layered()
			a.sbx("trust", "--contained")
			a.warmUpWith("sh -c 'exit 0'")
			spares := func() string { return a.sh("ls " + a.stateDir() + "/layers | grep spare || true") }
			if spares() == "" {
				t.Fatal("no sandbox waits with a layer")
			}
			if kill {
				a.daemon.Process.Kill()
				a.daemon.Wait()
				a.daemon = nil
				a.layered()
				a.run("true") // after the remains of the earlier daemon
			} else {
				a.stop()
			}
			if left := spares(); left != "" {
				t.Errorf("killed %t: %s is left", kill, left)
			}
		}
	})
}

// R-OP-03: sandboxes that wait end with the daemon, however that ends.
func TestWarmEndsWithTheDaemon(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		for _, how := range []string{"stopped", "killed"} {
			a.approveAll()
			a.warmUp()
			pid := a.daemon.Process.Pid
			if len(childrenOf(pid)) == 0 {
				t.Fatal("nothing waits")
			}
			waiting := descendants(pid)
			if how == "killed" {
				a.daemon.Process.Kill()
				a.daemon.Wait()
				a.daemon = nil
			} else {
				a.stop()
			}
			for _, p := range waiting {
				for end := time.Now().Add(patience); alive(p); time.Sleep(20 * time.Millisecond) {
					if time.Now().After(end) {
						t.Errorf("the daemon was %s, and process %d of a sandbox that waited lives", how, p)
						break
					}
				}
			}
		}
	})
}

func childrenOf(pid int) []int {
	var list []int
	for _, p := range processes() {
		if stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "stat")); err == nil {
			if f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])); len(f) > 1 &&
				f[1] == strconv.Itoa(pid) {
				list = append(list, p.pid)
			}
		}
	}
	return list
}

func descendants(pid int) []int {
	var list []int
	for _, c := range childrenOf(pid) {
		list = append(append(list, c), descendants(c)...)
	}
	return list
}
