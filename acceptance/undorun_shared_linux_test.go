package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// R-LY-11: in a project of another user's files that the command's user may write to, a run is not covered, with the
// reason; undo restores every content and all that this user can give, and what belongs to this user exactly.
func TestUndoInASharedProject(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // nobody else can give a file away
	}
	a := ordinaryActor(t)
	a.direct()
	a.sh("mkdir d; for f in theirs gone ours d/inner; do echo $f > $f; done; chmod 664 theirs gone d/inner; chmod 775 . d")
	const colleague = 54322
	for _, name := range []string{"theirs", "gone", "d/inner", "d", "."} {
		if err := os.Chown(filepath.Join(a.project, name), colleague, int(a.cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	const content = "cat theirs gone ours d/inner; stat -c '%U %Y' ours; ls . d"
	before := a.sh(content)
	c := a.changesOf("echo m >> theirs; rm gone; echo m > ours; echo new > made; rm d/inner")
	if c.Covered || !strings.Contains(c.Why, "another user") {
		t.Errorf("the run: %+v", c)
	}
	if r := a.sbx("undo", "--last"); r.code != 0 || a.sh(content) != before {
		t.Errorf("undo: %s\n%s\n--- instead of\n%s", r, a.sh(content+" || true"), before)
	}
}
