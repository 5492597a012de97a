package layer

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// file is the step that creates a file.
func file(name Name, data string) step {
	return step{Do: "create", Path: name, Data: data, Mode: 0o644}
}

// landBench makes a root, runs a script on a layer above it, and takes the layer.
func landBench(t *testing.T, tree, script []step) *bench {
	t.Helper()
	b := newBench(t, disk, tree...)
	t.Cleanup(b.close)
	past(t, b.root.Name())
	return b.layer("run", script...).take()
}

func (b *bench) at(name string) string { return filepath.Join(b.root.Name(), name) }

func (b *bench) land(paths ...Name) {
	b.t.Helper()
	if err := b.Land(b.root, yes, paths...); err != nil {
		b.t.Fatal(err)
	}
}

// refuses wants a landing to fail with a conflict at a path, and to change nothing.
func (b *bench) refuses(at Name) {
	b.t.Helper()
	before := b.snapshot()
	err := b.Land(b.root, yes)
	var conflict *ConflictError
	if !errors.As(err, &conflict) {
		b.t.Fatalf("got %v, want a conflict", err)
	}
	if !slices.ContainsFunc(conflict.Conflicts, func(n Note) bool { return n.Path == at }) {
		b.t.Errorf("got %v, want a conflict at %q", conflict.Conflicts, at)
	}
	if d := differences(b.snapshot(), before); d != "" {
		b.t.Errorf("refused, yet different:\n%s", d)
	}
	if b.Status() != Held {
		b.t.Errorf("refused, and %s", b.Status())
	}
}

// Rule 1: a descriptor that a dead run passed on writes to no file of the root, before the landing or after.
func TestDescriptorOfADeadRun(t *testing.T) {
	b := newBench(t, disk, file("file", "old"))
	t.Cleanup(b.close)
	past(t, b.root.Name())
	b.layer("run", step{Do: "append", Path: "file", Data: " new"}, step{Do: "mkdir", Path: "dir", Mode: 0o755})
	f, err := os.OpenFile(b.Upper()+"/file", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir, err := os.Open(b.Upper() + "/dir")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	b.take()
	if _, err := f.WriteAt([]byte("bad"), 0); err != nil {
		t.Fatal(err)
	}
	b.land()
	if _, err := f.WriteAt([]byte("bad"), 0); err != nil {
		t.Fatal(err)
	}
	if fd, err := unix.Openat(int(dir.Fd()), "bad", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600); err != nil {
		t.Fatal(err)
	} else {
		unix.Close(fd)
	}
	if got, err := os.ReadFile(b.at("file")); err != nil || string(got) != "old new" {
		t.Errorf("got %q, %v", got, err)
	}
	if exists(b.at("dir/bad")) {
		t.Error("a descriptor of a dead run's directory made a file in the root")
	}
}

// Rule 2: a file that another program has open for writing does not change its inode under it.
func TestOpenForWriting(t *testing.T) {
	for _, script := range [][]step{
		{{Do: "append", Path: "dir/log", Data: "new"}}, {{Do: "rm", Path: "dir/log"}}, {{Do: "rmtree", Path: "dir"}},
	} {
		b := landBench(t, []step{{Do: "mkdir", Path: "dir", Mode: 0o755}, file("dir/log", "old")}, script)
		f, err := os.OpenFile(b.at("dir/log"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		b.refuses(b.Set().Ops[0].Path)
		f.Close()
		b.land()
	}
}

// Rule 2: a database and its journal land together.
func TestDatabaseIsOneUnit(t *testing.T) {
	b := landBench(t, nil, []step{file("a.db", "1"), file("a.db-wal", "2"), file("other", "3")})
	b.land("a.db")
	if !exists(b.at("a.db-wal")) || exists(b.at("other")) || b.Status() != Partly {
		t.Errorf("landed %v, %s", b.snapshot(), b.Status())
	}
}

// Rule 2: a write to a displaced file is reported before its last name goes.
func TestLateWrite(t *testing.T) {
	b := landBench(t, []step{file("file", "old"), file("quiet", "old")},
		[]step{file("file", "new"), file("quiet", "new")})
	f, err := os.Open(b.at("file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b.land()
	if late, err := b.Late(); err != nil || len(late) != 0 {
		t.Errorf("before: %v, %v", late, err)
	}
	if err := os.WriteFile(procPath(int(f.Fd())), []byte("late"), 0); err != nil {
		t.Fatal(err)
	}
	if late, err := b.Late(); err != nil || !slices.Equal(late, []Name{"file"}) {
		t.Errorf("after: %v, %v", late, err)
	}
}

// Rule 3: conflicts are found by the time of the run's start, at the path, above it and below it.
func TestConflicts(t *testing.T) {
	tree := []step{{Do: "mkdir", Path: "a", Mode: 0o755}, {Do: "mkdir", Path: "a/b", Mode: 0o755}, file("a/b/c", "old"),
		file("top", "old"), {Do: "mkdir", Path: "x", Mode: 0o755}, {Do: "mkdir", Path: "x/b", Mode: 0o755},
		file("x/b/c", "other")}
	edit := []step{file("a/b/c", "new")}
	for _, c := range []struct {
		name          string
		script, other []step
		at            Name
	}{
		{"the same file", edit, []step{file("a/b/c", "other")}, "a/b/c"},
		{"its mode", edit, []step{{Do: "chmod", Path: "a/b/c", Mode: 0o600}}, "a/b/c"},
		{"a directory's mode", []step{{Do: "chmoddir", Path: "a/b", Mode: 0o700}},
			[]step{{Do: "chmoddir", Path: "a/b", Mode: 0o711}}, "a/b"},
		{"a created name", []step{file("a/new", "1")}, []step{file("a/new", "2")}, "a/new"},
		{"swapped ancestors", edit, []step{{Do: "mv", Path: "a", To: "y"}, {Do: "mv", Path: "x", To: "a"},
			file("a/more", "other")}, "a"},
		{"a swapped directory of a new file", []step{file("a/b/new", "new")},
			[]step{{Do: "mv", Path: "a/b", To: "y"}, {Do: "mv", Path: "x/b", To: "a/b"}}, "a/b"},
		{"a directory made again above a new file", []step{file("a/b/new", "new")},
			[]step{{Do: "mv", Path: "a/b", To: "y"}, {Do: "mkdir", Path: "a/b", Mode: 0o755},
				file("a/b/c", "other")}, "a/b"},
		{"a file removed at the top", []step{{Do: "append", Path: "top", Data: "new"}},
			[]step{{Do: "rm", Path: "top"}}, "top"},
		{"a removed ancestor", edit, []step{{Do: "rmtree", Path: "a"}}, "a"},
		{"below a removed directory", []step{{Do: "rmtree", Path: "a"}}, []step{file("a/b/c", "other")}, "a/b/c"},
		{"new below a removed directory", []step{{Do: "rmtree", Path: "a"}}, []step{file("a/b/d", "other")}, "a/b"},
		{"below a replaced directory", []step{{Do: "rmtree", Path: "a"}, {Do: "mkdir", Path: "a", Mode: 0o755}},
			[]step{file("a/b/d", "other")}, "a/b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, disk, tree...)
			t.Cleanup(b.close)
			past(t, b.root.Name())
			b.layer("run", c.script...)
			order{Dir: b.root.Name(), Script: c.other}.run(t)
			b.take().refuses(c.at)
		})
	}
}

// Rule 3: what somebody else changes beside a path of the change set is no conflict, and both are there.
func TestChangesBeside(t *testing.T) {
	tree := []step{{Do: "mkdir", Path: "a", Mode: 0o755}, {Do: "mkdir", Path: "a/b", Mode: 0o755}, file("a/b/c", "old"),
		file("a/b/gone", "old")}
	for _, c := range []struct {
		name          string
		script, other []step
	}{
		{"a file of the same directory", []step{file("a/b/c", "new"), {Do: "rm", Path: "a/b/gone"}},
			[]step{file("a/b/other", "theirs")}},
		{"new files, and directories above", []step{file("a/b/new", "new")},
			[]step{file("a/b/other", "theirs"), file("a/more", "theirs"), file("top", "theirs")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, disk, tree...)
			t.Cleanup(b.close)
			past(t, b.root.Name())
			b.layer("run", c.script...)
			order{Dir: b.root.Name(), Script: c.other}.run(t)
			theirs, err := os.Stat(b.at("a/b"))
			if err != nil {
				t.Fatal(err)
			}
			above, err := stat(int(b.root.Fd()), "a")
			if err != nil {
				t.Fatal(err)
			}
			b.take().land()
			if now, err := stat(int(b.root.Fd()), "a"); err != nil || now.CTime != above.CTime {
				t.Errorf("the directory above changed: %+v, %v, want %+v", now, err, above)
			}
			if !holds(b.at(string(c.script[0].Path)), "new") || !holds(b.at("a/b/other"), "theirs") {
				t.Errorf("landed %v", b.snapshot())
			}
			if now, err := os.Stat(b.at("a/b")); err != nil || now.ModTime().Before(theirs.ModTime()) {
				t.Errorf("the directory's time went back from %v: %v, %v", theirs.ModTime(), now.ModTime(), err)
			}
		})
	}
}

// Rule 16: all but what is at or below a path lands, whatever conflicts are there, and its undo is exact. A change set
// with another conflict does not land.
func TestLandsBeside(t *testing.T) {
	b := newBench(t, disk, step{Do: "mkdir", Path: "cache", Mode: 0o755}, file("cache/a", "old"), file("b", "old"))
	t.Cleanup(b.close)
	past(t, b.root.Name())
	b.layer("run", file("cache/a", "new"), file("cache/c", "new"), file("b", "new"), file("d", "new"))
	order{Dir: b.root.Name(), Script: []step{file("cache/a", "theirs")}}.run(t)
	b.take()
	before := b.snapshot()
	if err := b.LandBeside(b.root, yes, "d"); err == nil || differences(b.snapshot(), before) != "" {
		t.Errorf("beside another path: %v", err)
	}
	if err := b.LandBeside(b.root, yes, "cache"); err != nil {
		t.Fatal(err)
	}
	if !holds(b.at("b"), "new") || !holds(b.at("d"), "new") || !holds(b.at("cache/a"), "theirs") ||
		exists(b.at("cache/c")) {
		t.Errorf("landed %v", b.snapshot())
	}
	if err := b.Undo(b.root); err != nil || differences(b.snapshot(), before) != "" {
		t.Errorf("undone: %v\n%s", err, differences(b.snapshot(), before))
	}
}

// Rule 4: a landing waits for no lock of git, and takes git's locks for its own time only.
func TestLocksOfGit(t *testing.T) {
	b := gitBench(t, "git commit -q --allow-empty -m two")
	if err := os.WriteFile(b.at(".git/index.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.refuses(".git/index.lock")
	if err := os.Remove(b.at(".git/index.lock")); err != nil {
		t.Fatal(err)
	}
	b.land()
	if locks, _ := filepath.Glob(b.at(".git/*.lock")); len(locks) > 0 {
		t.Errorf("left behind: %v", locks)
	}
	b.git("fsck", "--strict")
}

// Rule 4: the changes in a git directory land together.
func TestGitDirectoryIsOneUnit(t *testing.T) {
	b := gitBench(t, "echo two > file; git commit -qam two; echo 3 > other")
	b.land(".git/HEAD", ".git/index")
	if got := b.git("log", "--format=%s"); got != "two\none\n" {
		t.Errorf("got %q", got)
	}
	if exists(b.at("other")) {
		t.Error("other landed, too")
	}
}

// Rule 4: an undo restores no reference whose object was pruned.
func TestUndoOfAPrunedObject(t *testing.T) {
	b := gitBench(t, "git commit -q --amend -m two")
	b.land()
	b.git("prune", "--expire=now")
	before := b.snapshot()
	var conflict *ConflictError
	if err := b.Undo(b.root, ".git/refs"); !errors.As(err, &conflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	if d := differences(b.snapshot(), before); d != "" {
		t.Errorf("refused, yet different:\n%s", d)
	}
}

// Rules 5 and 13: of a file with two names the written one lands alone, is reported, and undo makes them one again.
func TestHardLinks(t *testing.T) {
	b := newBench(t, disk, file("a", "old"), step{Do: "link", Path: "a", To: "b"})
	t.Cleanup(b.close)
	past(t, b.root.Name())
	before := b.snapshot()
	b.layer("run", step{Do: "append", Path: "a", Data: " new"}).take().land()
	if !holds(b.at("a"), "old new") || holds(b.at("b"), "new") {
		t.Errorf("landed %v", b.snapshot())
	}
	if len(b.Set().Altered) != 1 || b.Set().Altered[0].Path != "a" {
		t.Errorf("reported %v", b.Set().Altered)
	}
	if err := b.Undo(b.root); err != nil {
		t.Fatal(err)
	}
	if d := differences(b.snapshot(), before); d != "" {
		t.Errorf("undone:\n%s", d)
	}
}

// Rule 8: recovery overwrites no edit that was made after the death. The layer is held then, or landed.
func TestRecoveryMeetsEdits(t *testing.T) {
	stride, moving := max(4000/cases(t), 1), 0
	for at := 1; ; at += stride {
		b := newBench(t, memory, file("a", "old"), file("b", "old"), file("c", "old"))
		past(t, b.root.Name())
		b.layer("run", file("a", "new"), file("b", "new"), step{Do: "rm", Path: "c"}).take()
		seen := die(t, task{"land", b.root.Name(), b.dir + "/run"}, at)
		l, err := Open(b.dir + "/run")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b", "c"} {
			if err := appendTo(b.at(name), "edit", 0); err != nil {
				t.Fatal(err)
			}
		}
		if l.Status() == Moving {
			moving++
		}
		if err := l.Recover(b.root); err != nil && l.Status() == Moving {
			t.Fatalf("killed at %d: %v", at, err)
		}
		for _, name := range []string{"a", "b", "c"} {
			if !holds(b.at(name), "edit") {
				t.Fatalf("killed at %d: the edit of %s is lost: %v", at, name, b.snapshot())
			}
		}
		b.close()
		if seen < at {
			break
		}
	}
	if moving == 0 {
		t.Error("no death was in a landing")
	}
}

// Rule 10: a file that was opened for writing and not written is no change.
func TestNoChange(t *testing.T) {
	b := newBench(t, disk, file("file", "old"))
	t.Cleanup(b.close)
	past(t, b.root.Name())
	b = b.layer("run", step{Do: "open", Path: "file"})
	if !exists(b.Upper() + "/file") {
		t.Fatal("the overlay did not copy the file")
	}
	if b = b.take(); !b.Set().Empty() {
		t.Errorf("got %v", b.Set().Changes())
	}
}

// Rule 11: the root's own mode survives, set-user-ID bits and marks of overlays do not land, and the layer is closed.
func TestAttributes(t *testing.T) {
	b := newBench(t, disk, step{Do: "create", Path: "tool", Mode: 0o755})
	t.Cleanup(b.close)
	if err := unix.Chmod(b.root.Name(), 0o2750); err != nil {
		t.Fatal(err)
	}
	past(t, b.root.Name())
	b.layer("run", step{Do: "append", Path: "tool", Data: "x"}, step{Do: "chmod", Path: "tool", Mode: 0o6755},
		step{Do: "mkdir", Path: "dir", Mode: 0o755}, step{Do: "xattr", Path: "dir", Data: "overlay.opaque"},
		step{Do: "xattr", Path: "tool", Data: "mine"})
	var st unix.Stat_t
	if err := unix.Stat(filepath.Dir(b.Upper()), &st); err != nil || st.Mode&0o7777 != 0o700 {
		t.Errorf("the layer has mode %o, %v", st.Mode, err)
	}
	b.take().land()
	for name, want := range map[string]uint32{".": 0o2750, "tool": 0o755} {
		if err := unix.Stat(b.at(name), &st); err != nil || st.Mode&0o7777 != want {
			t.Errorf("%s has mode %o, %v; want %o", name, st.Mode&0o7777, err, want)
		}
	}
	if len(b.Set().Altered) != 1 || b.Set().Altered[0].Path != "tool" {
		t.Errorf("reported %v", b.Set().Altered)
	}
	list := make([]byte, 1000)
	for name, want := range map[string]string{"dir": "", "tool": "user.mine\x00"} {
		n, err := unix.Listxattr(b.at(name), list)
		if got := string(list[:max(n, 0)]); err != nil || strings.ReplaceAll(got, "security.selinux\x00", "") != want {
			t.Errorf("%s has %q, %v; want %q", name, got, err, want)
		}
	}
}

// A root that the command closed to its owner lands open to the owner alone, and is reported: undo can open it.
func TestClosedRoot(t *testing.T) {
	b := newBenchOf(t, ordinary, disk, file("file", "old"))
	t.Cleanup(b.close)
	past(t, b.root.Name())
	before := b.snapshot()
	b.layer("run", step{Do: "append", Path: "file", Data: " new"}, step{Do: "chmoddir", Path: ".", Mode: 0o311}).take()
	if err := b.move("land"); err != nil {
		t.Fatal(err)
	}
	if looks := b.snapshot()["."]; !strings.HasPrefix(looks, "dir 0700 ") || !holds(b.at("file"), "old new") {
		t.Errorf("landed %v", b.snapshot())
	}
	if len(b.Set().Altered) != 1 || b.Set().Altered[0].Path != "." {
		t.Errorf("reported %v", b.Set().Altered)
	}
	if err := b.move("undo"); err != nil {
		t.Fatal(err)
	}
	if d := differences(b.snapshot(), before); d != "" {
		t.Errorf("undone:\n%s", d)
	}
}

// Rule 17: FIFOs and sockets are named and do not land.
func TestFIFO(t *testing.T) {
	b := landBench(t, nil, []step{{Do: "fifo", Path: "pipe", Mode: 0o600}, {Do: "mkdir", Path: "dir", Mode: 0o755},
		{Do: "fifo", Path: "dir/pipe", Mode: 0o600}})
	b.land()
	if exists(b.at("pipe")) || exists(b.at("dir/pipe")) || !exists(b.at("dir")) {
		t.Errorf("landed %v", b.snapshot())
	}
	if len(b.Set().Skipped) != 2 {
		t.Errorf("named %v", b.Set().Skipped)
	}
}

// A refusal of one change by the judge keeps all of them, and undoes nothing that landed before.
func TestRefusal(t *testing.T) {
	b := landBench(t, nil, []step{file("a", "1"), {Do: "mkdir", Path: "dir", Mode: 0o755}, file("dir/b", "2")})
	no := func(c Change) error {
		if c.Path == "dir/b" {
			return errors.New("protected")
		}
		return nil
	}
	var refused *RefusedError
	if err := b.Land(b.root, no); !errors.As(err, &refused) || len(refused.Refused) != 1 {
		t.Errorf("got %v, want one refusal", err)
	}
	if exists(b.at("a")) || b.Status() != Held {
		t.Errorf("%v, %s", b.snapshot(), b.Status())
	}
	if err := b.Land(b.root, no, "a"); err != nil || !exists(b.at("a")) || exists(b.at("dir")) {
		t.Errorf("the part: %v, %v", err, b.snapshot())
	}
}

// gitBench makes a repository with one commit of one file, and takes a layer in which a shell script ran.
func gitBench(t *testing.T, script string) *bench {
	t.Helper()
	b := newBench(t, disk)
	t.Cleanup(b.close)
	b.git("init", "-q", "-b", "main")
	b.git("config", "core.logAllRefUpdates", "false")
	if err := os.WriteFile(b.at("file"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.git("add", "file")
	b.git("commit", "-q", "-m", "one")
	return b.layer("run", step{Do: "sh", Data: script}).take()
}

func (b *bench) git(args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = b.root.Name()
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}
