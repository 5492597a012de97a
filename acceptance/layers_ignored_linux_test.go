package acceptance

import (
	"strings"
	"testing"
)

// R-LY-03, R-LY-05, rule 16: where the only conflicts are at paths that git ignores, these are held, a topmost ignored
// directory whole, and the rest lands with the command's own status. One that git tracks, or that the rules ignore only
// from the command on, holds all.
func TestLayersHoldIgnoredPathsAlone(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		a.sh("printf '*.log\\n.cache/\\n/.vscode/\\n' > .gitignore; mkdir -p .cache/x .vscode sub; " +
			"echo 0 | tee build.log .cache/x/a .vscode/tasks.json kept.log notes; git add -f kept.log .gitignore; " +
			"git commit -qm logs")
		for _, c := range []struct {
			name, line, beside string
			rest               bool
		}{
			{"an ignored file", "echo 1 >> build.log; echo 1 > sub/one.log", "echo 2 >> build.log", true},
			{"an ignored directory", "echo 1 > .cache/x/b; echo 1 >> .cache/x/a", "echo 2 >> .cache/x/a", true},
			{"both, and one that is open", "echo 1 >> .cache/x/a; echo 1 >> build.log",
				"echo 2 >> .cache/x/a; (exec 3>> build.log; sleep 20) > /dev/null 2>&1 & sleep 0.1", true},
			{"a tracked file", "echo 1 >> kept.log", "echo 2 >> kept.log", false},
			{"an ignored one beside another", "echo 1 >> build.log; echo 1 >> notes",
				"echo 2 >> build.log; echo 2 >> notes", false},
			{"rules of the command", "echo notes >> .gitignore; echo 1 >> notes", "echo 2 >> notes", false},
			{"protected names", "echo 1 >> .vscode/tasks.json", "echo 2 >> .vscode/tasks.json", false},
		} {
			done := make(chan ran, 1)
			go func() { done <- a.run(c.line + "; echo rest > rest; touch ready; sleep 2; exit 3") }()
			eventually(t, "the command has written", func() bool { return a.wrote("ready") })
			a.sh(c.beside)
			theirs := a.everything()
			r := <-done
			held := r.Changes.HeldID
			if want := map[bool]int{true: 3, false: 126}[c.rest]; r.code != want || held == "" ||
				r.Changes.Landed == nil || *r.Changes.Landed || c.rest != a.there("rest") ||
				c.rest != strings.Contains(r.Changes.Held, "git ignores") {
				t.Errorf("%s: %d %+v %v", c.name, r.code, r.Changes, r.Warnings)
			}
			if got := a.sh("cat build.log .cache/x/*"); strings.Contains(got, "1") {
				t.Errorf("%s: the project has %q", c.name, got)
			}
			if !c.rest && a.everything() != theirs {
				t.Errorf("%s: held, and the project is\n%s\n--- of\n%s", c.name, a.everything(), theirs)
			}
			if c.rest {
				if l := a.sbx("changes", "land", held); l.code == 0 || !strings.Contains(l.err, "since the run began") {
					t.Errorf("%s: what is held lands: %d %s%s", c.name, l.code, l.out, l.err)
				}
				u := a.sbx("undo", "--last")
				_, now, _ := strings.Cut(a.everything(), "\n") // the time of a folder with a part that is held stays
				if _, was, _ := strings.Cut(theirs, "\n"); u.code != 0 || now != was {
					t.Errorf("%s: after its undo: %d %s, the project is\n%s\n--- of\n%s", c.name, u.code, u.err, now, was)
				}
			}
			if d := a.sbx("changes", "drop", held); d.code != 0 {
				t.Errorf("%s: %s", c.name, d.err)
			}
			a.noLayers()
		}
	})
}
