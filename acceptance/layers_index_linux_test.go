package acceptance

import "testing"

// R-LY-04, R-LY-10, rule 12: the index that a layered run leaves knows the files as they landed. So git reads none of
// them again to see that they are unchanged, a person's git status does not write the index, and the run can be undone
// after that.
func TestLayersRefreshTheIndex(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		a.sh("mkdir more; for i in $(seq 40); do echo $i > more/$i; done")
		state := func() string { return a.sh("git ls-files -s; git log --oneline; stat -c '%n %Y' more/*") }
		before := state()
		for _, line := range []string{
			"touch -d 2020-01-01 more/* && git add -A && git commit -qm all",
			"touch -d 2020-01-01 more/* && git add -A && git update-index --index-version 4",
		} {
			if r := a.run(line); r.code != 0 || r.Changes.Undo == "" {
				t.Fatalf("%s", r.result)
			}
			index := a.sh("sha256sum .git/index")
			if got := a.sh("git status >&2; sha256sum .git/index"); got != index {
				t.Errorf("after %q git status makes %q of the index %q", line, got, index)
			}
			a.sh("git fsck --no-dangling --no-progress >&2")
			if r := a.sbx("undo", "--last"); r.code != 0 {
				t.Fatalf("undo: %s", r)
			}
			if now := state(); now != before {
				t.Errorf("undo left %s", lineDifferences(now, before))
			}
		}
	})
}
