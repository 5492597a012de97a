package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// R-LY-11: a file of the user's second group, or of a group that the user is not in, is changed, lands with its group,
// and undo restores its content, whatever of the group can be given. Folders get their modes whatever the umask.
func TestUndoOfOtherGroups(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // nobody else can give a file to these groups
	}
	const second, strange = 54330, 54331
	a := ordinaryActor(t)
	a.cred.Groups = []uint32{second}
	a.sh("mkdir -m 777 wide; mkdir -m 2775 shared; echo in > wide/in")
	a.layered()
	for _, kind := range []string{"--layered", "--direct"} {
		for _, gid := range []int{second, strange} {
			a.sh("echo one > changed; echo two > removed; echo three > moved; echo four > shared/four; " +
				"mkdir -p -m 770 d; echo i > d/i")
			for _, name := range []string{"changed", "removed", "moved", "shared", "shared/four", "d", "d/i"} {
				if err := os.Chown(filepath.Join(a.project, name), -1, gid); err != nil {
					t.Fatal(err)
				}
			}
			a.sh("chmod 664 changed removed moved")
			const content = "cat changed removed moved shared/four d/i wide/in; ls -A; stat -c '%n %a' changed wide"
			before := a.sh(content)
			run := []string{"run", "--json", "-c", "echo m >> changed; rm removed; mv moved away; echo m >> shared/four; " +
				"echo new > shared/new; rm -r d wide"}
			if kind == "--direct" {
				run = append(run[:2:2], append([]string{kind}, run[2:]...)...)
			}
			r := a.sbx(run...)
			info, err := os.Stat(filepath.Join(a.project, "changed"))
			if r.code != 0 || err != nil || groupOf(info) != gid {
				t.Errorf("%s, group %d: the run: %s; %v", kind, gid, r, info)
			}
			if r := a.sbx("file", "write", "--from", "README", "changed"); r.code != 0 || a.sh("cat changed") != "hello\n" {
				t.Errorf("%s, group %d: a write: %s", kind, gid, r)
			}
			for _, undo := range []string{"the write", "the run"} {
				if r := a.sbx("undo", "--last"); r.code != 0 {
					t.Errorf("%s, group %d: undo of %s: %s", kind, gid, undo, r)
				}
			}
			if info, err := os.Stat(filepath.Join(a.project, "changed")); err != nil || groupOf(info) != gid {
				t.Errorf("%s, group %d: undone: %v", kind, gid, info)
			}
			if got := a.sh(content + " || true"); got != before {
				t.Errorf("%s, group %d: undone:\n%s\n--- instead of\n%s", kind, gid, got, before)
			}
		}
	}
}

// groupOf is the number of a file's group.
func groupOf(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Gid) }

// R-LY-11: by Landlock alone, where nothing may be made or removed at the top of a project, a run that was covered is
// undone there, too.
func TestUndoByLandlockAlone(t *testing.T) {
	t.Parallel()
	a := ordinaryActor(t)
	a.sh("echo f1 > f1.txt; mkdir d; echo in > d/in")
	cmd := a.on(withoutNamespaces(), requirement{require: "false", fallback: "fail_fast"})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.daemon = cmd
	if !a.serves(make(chan struct{})) {
		t.Fatal("the daemon does not serve")
	}
	a.sbx("trust", a.project)
	before := a.everything()
	if c := a.changesOf("echo m >> f1.txt; echo m >> d/in; echo new > d/new"); !c.Covered {
		t.Errorf("the run: %+v", c)
	}
	if r := a.sbx("undo", "--last"); r.code != 0 || a.everything() != before {
		t.Errorf("undo: %s: %s", r, lineDifferences(a.everything(), before))
	}
	a.sh("ln f1.txt twice") // so that it is not written where it is: its other name can lie anywhere
	a.changesOf("echo m >> f1.txt; echo m >> d/in")
	r := a.sbx("undo", "--last", "--rest")
	if got := a.sh("cat d/in f1.txt"); got != "in\nf1\nm\n" || !strings.Contains(r.err, "f1.txt") {
		t.Errorf("undo of the rest: %s: %s", r, got)
	}
}
