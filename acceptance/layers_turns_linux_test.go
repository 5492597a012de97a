package acceptance

import (
	"path/filepath"
	"testing"
	"time"
)

// R-LY-03, rule 16: git waits for a layered run of its project for longer than ten seconds, as its locks are not seen
// in another layer, and both changes land.
func TestLayersGitWaits(t *testing.T) {
	eachUser(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		wait := a.begin("run", "-c", "echo a > first; sleep 13; git add first")
		eventually(t, "the first writes", func() bool {
			found, _ := filepath.Glob(filepath.Join(a.stateDir(), "layers", "*", "upper", "first"))
			return len(found) == 1
		})
		begin := time.Now()
		r := a.run("echo b > second; git add second")
		if r.code != 0 || r.Changes.Held != "" || time.Since(begin) < 11*time.Second {
			t.Errorf("after %v: %s", time.Since(begin), r.result)
		}
		if r := wait(); r.code != 0 {
			t.Errorf("the first: %s", r)
		}
		if got := a.sh("git diff --cached --name-only -- first second"); got != "first\nsecond\n" {
			t.Errorf("git has %q", got)
		}
	})
}
