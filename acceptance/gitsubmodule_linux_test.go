package acceptance

import (
	"strings"
	"testing"

	"sandboxd/ipc"
)

// A submodule that a command adds by a protocol is whole after a person's yes, for git outside and inside. R-LY-08
func TestSubmoduleAdd(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh("git init -q --bare origin.git; echo origin.git >> .git/info/exclude; " +
			"git push -q ./origin.git HEAD:refs/heads/master")
		a.start()
		if r := a.sbx("trust"); r.code != 0 {
			t.Fatal(r)
		}
		var asked []string
		yes := func(q ipc.Approval) bool { asked = append(asked, q.Description); return true }
		r := a.landing(yes, "run", "--json", "-c", "git -c protocol.file.allow=always submodule --quiet add file://"+
			a.project+"/origin.git mod && git commit -qm submodule")
		if r.code != 0 || r.Changes.Kind != "layered" || len(asked) == 0 {
			t.Fatalf("after the questions %q: %s%s", asked, r.out, r.err)
		}
		t.Logf("asked: %q", asked)
		a.sh("git submodule status | grep -q mod; git -C mod log --oneline | grep -q first; git fsck --no-progress >&2")
		if got := a.sh("git status --porcelain; git -C mod status --porcelain"); got != "" {
			t.Errorf("git status: %s", got)
		}
		if r := a.sbx("run", "-c", "git submodule status && git -C mod log --oneline"); !strings.Contains(r.out, "first") {
			t.Errorf("inside: %v", r)
		}
	})
}
