package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// R-LY-08: a write to a place that ends with the sandbox is in the result; what is temporary, or a tool's own state,
// and not named by the words, only there. A worktree that would be lost is refused before it runs.
func TestNothingVanishes(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.repository()
		a.start("--mode", "approve-all")
		if r := a.sbx("trust"); r.code != 0 {
			t.Fatal(r)
		}
		home, above := a.home, filepath.Dir(a.project)
		python := func(code string) string {
			return `cd; python3 -c "import os; ` + code + `"`
		}
		for _, c := range []struct{ line, want, minor string }{
			{"cp src/one.txt ~/keep.txt && test -e ~/keep.txt", home + "/keep.txt", ""},
			{"mkdir ../demo && echo x > ../demo/f", above + "/demo", ""},
			{"python3 -c \"open('../z', 'w')\"", above + "/z", ""},
			{"git clone -q . ../clone", above + "/clone", ""},
			{"echo x >> ~/.bashrc", home + "/.bashrc", ""},
			{"echo x > /tmp/o.log", "/tmp/o.log", ""},
			{"ln -s src ../ln; mv ../ln ../moved", above + "/moved", ""},
			{"mkdir ~/.k && ssh-keygen -q -N '' -f ~/.k/id", home + "/.k", ""},
			{"touch ../gone && rm ../gone", "", ""},
			{"HISTFILE=~/.bash_history bash -ic 'history -s x; history -w' 2> /dev/null", "", home + "/.bash_history"},
			{"python3 -c \"open('/tm' + 'p/x', 'w')\"", "", "/tmp/x"},
			{python("os.makedirs('.cac' + 'he/x')"), "", home + "/.cache"},
			{python("os.makedirs('.con' + 'fig/go/telemetry/local')"), "", home + "/.config"},
			{python("os.makedirs('.con' + 'fig/go/telemetry'); open('.con' + 'fig/own', 'w')"), home + "/.config", ""},
			{python("os.makedirs('.loc' + 'al/lib/python3/site-packages/m')"), home + "/.local", ""},
			{"echo x > src/kept", "", ""},
		} {
			r := a.sbx("run", "--json", "-c", c.line)
			var out struct{ Violations []ipc.Violation }
			if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.code != 0 {
				t.Errorf("%s: %v, %v", c.line, err, r)
			}
			got := map[bool]string{}
			for _, v := range out.Violations {
				if v.Kind == "unkept" {
					got[v.Minor] = strings.TrimSpace(got[v.Minor] + " " + v.Object)
				}
			}
			if got[false] != c.want || got[true] != c.minor {
				t.Errorf("%s: not kept: %q and minor %q, want %q and %q", c.line, got[false], got[true], c.want, c.minor)
			}
		}
		before := a.sh("git worktree list; git branch -a")
		for _, line := range []string{
			"git worktree add ../x", "git worktree add -b new /tmp/x", "git -C src worktree add ../../y",
		} {
			if r := a.sbx("run", "-c", line); r.code != 126 || !strings.Contains(r.err, "[sandbox] write") {
				t.Errorf("%s: %v", line, r)
			}
		}
		kept := "git worktree add -q inner && git worktree remove inner && git branch -D inner"
		if r := a.sbx("run", "-c", kept); r.code != 0 {
			t.Error(r)
		}
		if after := a.sh("git worktree list; git branch -a"); after != before {
			t.Errorf("the repository has\n%swant\n%s", after, before)
		}
	})
}

// A path with ".." is found while others rename: openat2(2) gives up with EAGAIN then. R-LY-08
func TestUnkeptBesideRenames(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.start("--mode", "approve-all")
		a.sh("mkdir src")
		if r := a.sbx("trust"); r.code != 0 {
			t.Fatal(r)
		}
		beside, err := os.MkdirTemp("/dev/shm", "renames-")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(beside)
		names := [2]string{}
		for i := range names {
			names[i] = filepath.Join(beside, strconv.Itoa(i))
		}
		if err := os.Mkdir(names[0], 0o755); err != nil {
			t.Fatal(err)
		}
		stop, stopped := make(chan struct{}), make(chan error)
		go func() {
			for {
				select {
				case <-stop:
					stopped <- nil
					return
				default:
				}
				for i := range names {
					if err := os.Rename(names[i], names[1-i]); err != nil {
						stopped <- err
						return
					}
				}
			}
		}()
		const files = 30
		r := a.sbx("run", "--json", "-c", fmt.Sprintf(
			"python3 -c \"[open('src/../' * 3 + '../z%%d' %% i, 'w') for i in range(%d)]\"", files))
		close(stop)
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(r.out, `"kind":"unkept"`); r.code != 0 || n != files {
			t.Errorf("%d of %d files are reported: %v", n, files, r)
		}
	})
}
