package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// R-LY-03, rule 2: a file that a program outside has open for writing is a conflict, as its later writes would be cut
// off from the name. The worker needs leases for this, which commands can't take.
func TestLayersSpareOpenFiles(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("echo first > log")
		log, err := os.OpenFile(filepath.Join(a.project, "log"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		r := a.run("echo run >> log; echo run > new")
		if c := r.Changes; r.code != 126 || !strings.Contains(c.Held, "open for writing") {
			t.Errorf("%d %+v", r.code, c)
		}
		if _, err := log.WriteString("second\n"); err != nil {
			t.Fatal(err)
		}
		if got := a.sh("cat log; ls -d new 2>&1 | grep -c 'No such'"); got != "first\nsecond\n1\n" {
			t.Errorf("the project has %q", got)
		}
		r = a.run(`python3 -c "import fcntl; fcntl.fcntl(open('log'), fcntl.F_SETLEASE, fcntl.F_RDLCK)"`)
		if r.code != 1 || !strings.Contains(r.out, "PermissionError") {
			t.Errorf("a lease of a command: %s", r.result)
		}
	})
}

// R-LY-03, R-LY-04, rule 2: a program that found a file before the landing displaced it, and opens that for writing
// later, has written a version of its own. Undo names it and restores it.
func TestLayersKeepLateVersions(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("echo first > log; echo other > other")
		found, err := os.Open(filepath.Join(a.project, "log"))
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		if r := a.run("echo run >> log; echo run > other"); r.code != 0 {
			t.Fatalf("%s", r.result)
		}
		late, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", found.Fd()), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer late.Close()
		if _, err := late.WriteString("late\n"); err != nil {
			t.Fatal(err)
		}
		r := a.sbx("undo", "--last")
		if r.code != 0 || !strings.Contains(r.out+r.err, "log: another program wrote to") {
			t.Errorf("undo: %s", r)
		}
		if got := a.sh("cat log other"); got != "first\nlate\nother\n" {
			t.Errorf("after undo the project has %q", got)
		}
	})
}

// R-LY-03, rule 3: a file that a command creates does not land in another directory that somebody put in the place of
// the one that it saw; beside entries that others create, it does.
func TestLayersSpareSwappedDirectories(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("mkdir -p made/sub moved same other/sub; echo theirs > other/file; touch -d 2020-01-01 made moved same other")
		time.Sleep(30 * time.Millisecond) // their times of change are from before the command, by a coarse clock, too
		for _, c := range []struct{ dir, script, swap string }{
			{"made", "echo new > made/new", "mv made old && mkdir -p made/sub && touch made/file"},
			{"moved", "echo new > moved/new", "mv moved before && mv other moved"},
			{"", "echo new > same/new", "echo theirs > same/file; echo theirs > top; mkdir beside"},
		} {
			done := make(chan ran, 1)
			go func() { done <- a.run(c.script + "; touch ready; sleep 2") }()
			eventually(t, "the command has written", func() bool { return a.wrote("ready") })
			a.sh(c.swap)
			r := <-done
			held := r.code == 126 && strings.Contains(r.Changes.Held, "another directory") &&
				strings.Contains(r.Changes.Held, c.dir)
			if want := c.dir != ""; held != want || want == a.there("ready") {
				t.Errorf("%s: %d %+v\n%s", c.swap, r.code, r.Changes, a.sh("ls -R"))
			}
			a.sh("rm -f ready")
			if c.dir != "" {
				a.sbx("changes", "drop", r.Changes.HeldID)
			}
		}
		if got := a.sh("cat same/new same/file top"); got != "new\ntheirs\ntheirs\n" {
			t.Errorf("the project has %q", got)
		}
	})
}
