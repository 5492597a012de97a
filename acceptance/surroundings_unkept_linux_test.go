package acceptance

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// R-LY-08: a write to a place that ends with the sandbox is in the result, unless it is a temporary file or a tool's
// own state that the words do not name. A worktree that would be lost is refused before it runs.
func TestNothingVanishes(t *testing.T) {
	eachUser(t, func(t *testing.T, a *actor) {
		a.repository()
		a.start("--mode", "approve-all")
		if r := a.sbx("trust"); r.code != 0 {
			t.Fatal(r)
		}
		home, above := a.home, filepath.Dir(a.project)
		for _, c := range []struct{ line, want string }{
			{"cp src/one.txt ~/keep.txt && test -e ~/keep.txt", home + "/keep.txt"},
			{"mkdir ../demo && echo x > ../demo/f", above + "/demo"},
			{"python3 -c \"open('../z', 'w')\"", above + "/z"},
			{"git clone -q . ../clone", above + "/clone"},
			{"echo x >> ~/.bashrc", home + "/.bashrc"},
			{"echo x > /tmp/o.log", "/tmp/o.log"},
			{"ln -s src ../ln; mv ../ln ../moved", above + "/moved"},
			{"touch ../gone && rm ../gone", ""},
			{"mktemp > /dev/null; python3 -c \"import os; os.makedirs(os.path.expanduser('~/.cac' + 'he/x'))\"", ""},
			{"echo x > src/kept", ""},
		} {
			r := a.sbx("run", "--json", "-c", c.line)
			var out struct{ Violations []ipc.Violation }
			if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.code != 0 {
				t.Errorf("%s: %v, %v", c.line, err, r)
			}
			var got []string
			for _, v := range out.Violations {
				if v.Kind == "unkept" {
					got = append(got, v.Object)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: not kept: %q, want %q", c.line, got, c.want)
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
