package tree

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/internal/fault"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openTree(t *testing.T) (*Tree, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	tr, err := Open(root, Options{})
	must(t, err)
	t.Cleanup(func() { tr.Close() })
	return tr, root
}

func dirOf(t *testing.T, tr *Tree, rel string) *Dir {
	t.Helper()
	d, err := tr.Dir(rel)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func put(t *testing.T, p, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(p), 0o755))
	must(t, os.WriteFile(p, []byte(content), 0o640))
}

func get(t *testing.T, p string) string {
	t.Helper()
	data, err := os.ReadFile(p)
	must(t, err)
	return string(data)
}

// The walk that needs no openat2 agrees with it: it is what other systems, and
// old kernels, have.
func TestWalkAgreesWithOpenat2(t *testing.T) {
	_, root := openTree(t)
	put(t, filepath.Join(root, "d/e/f"), "x")
	must(t, os.Symlink("d", filepath.Join(root, "link")))
	must(t, os.Symlink("/etc", filepath.Join(root, "d/out")))
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	defer unix.Close(fd)
	for _, p := range []string{".", "d", "d/e", "d/e/f", "none", "d/none/x", "link", "link/e", "d/out", "d/out/passwd", "..", "d/../d", "d/e/f/x", "../" + filepath.Base(root)} {
		a, errA := lookup(fd, p, unix.O_RDONLY)
		b, errB := walk(fd, p, unix.O_RDONLY)
		if p == "d/../d" { // openat2 goes there, the walk takes no ".."; neither leaves
			errA = errB
		}
		if (errA == nil) != (errB == nil) {
			t.Errorf("%s: openat2 %v, walk %v", p, errA, errB)
		}
		for _, fd := range []int{a, b} {
			if fd >= 0 {
				unix.Close(fd)
			}
		}
	}
}

// Content, mode, owner, attributes survive a replacement, by either way of
// writing.
func TestReplaceKeepsLooks(t *testing.T) {
	for _, named := range []bool{false, true} {
		tr, root := openTree(t)
		d := dirOf(t, tr, ".")
		p := filepath.Join(root, "a")
		put(t, p, "old")
		must(t, os.Chmod(p, 0o754))
		attribute := unix.Setxattr(p, "user.note", []byte("kept"), 0) == nil
		if os.Geteuid() == 0 {
			must(t, os.Chown(p, 1234, 5678))
		}
		f, old, err := d.Open("a")
		must(t, err)
		old.Xattrs, err = Xattrs(f)
		must(t, err)
		f.Close()
		fresh, ok, err := d.Unnamed(".temp", 0o600)
		must(t, err)
		if named || !ok {
			if ok {
				fresh.Close()
			}
			fresh, err = d.Named(".temp", 0o600)
			must(t, err)
		}
		_, err = io.WriteString(fresh, "new")
		must(t, err)
		want := old.State
		want.ModTime = 0
		must(t, fresh.Dress(want))
		must(t, fresh.Replace("a", old))
		must(t, fresh.Close())
		now, err := d.Stat("a")
		must(t, err)
		if get(t, p) != "new" || now.Mode != 0o754 || now.UID != old.UID || now.GID != old.GID {
			t.Errorf("named %v: %q, %+v", named, get(t, p), now)
		}
		if buf := make([]byte, 10); attribute {
			if n, err := unix.Getxattr(p, "user.note", buf); err != nil || string(buf[:n]) != "kept" {
				t.Errorf("named %v: the attribute is %q, %v", named, buf[:max(n, 0)], err)
			}
		}
		if entries, _ := os.ReadDir(root); len(entries) != 1 {
			t.Errorf("named %v: left %v", named, entries)
		}
	}
}

// What somebody wrote meanwhile is not lost, by any of the ways to change.
func TestSomebodyWasFaster(t *testing.T) {
	for name, change := range map[string]func(d *Dir, old Stat) error{
		"replace": func(d *Dir, old Stat) error {
			n, err := d.Named(".temp", 0o600)
			if err != nil {
				return err
			}
			defer n.Close()
			return n.Replace("a", old)
		},
		"remove":      func(d *Dir, old Stat) error { return d.Remove("a", ".temp", old) },
		"rename":      func(d *Dir, old Stat) error { return d.Rename("a", old, d, "b") },
		"rename over": func(d *Dir, old Stat) error { return d.RenameOver("c", ".temp", mustStat(d, "c"), d, "a", old) },
		"replace without exchange": func(d *Dir, old Stat) error {
			n, err := d.Named(".temp", 0o600)
			if err != nil {
				return err
			}
			defer n.Close()
			return d.replaceChecked(".temp", d, "a", old)
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr, root := openTree(t)
			d := dirOf(t, tr, ".")
			put(t, filepath.Join(root, "a"), "old")
			put(t, filepath.Join(root, "c"), "other")
			old := mustStat(d, "a")
			put(t, filepath.Join(root, "theirs"), "theirs")
			must(t, os.Rename(filepath.Join(root, "theirs"), filepath.Join(root, "a")))
			if err := change(d, old); !errors.Is(err, &files.Conflict{Reason: files.Changed}) {
				t.Errorf("got %v", err)
			}
			if got := get(t, filepath.Join(root, "a")); got != "theirs" {
				t.Errorf("a holds %q", got)
			}
			if got := get(t, filepath.Join(root, "c")); got != "other" {
				t.Errorf("c holds %q", got)
			}
			if entries, _ := os.ReadDir(root); len(entries) != 2 {
				t.Errorf("left: %v", entries)
			}
		})
	}
}

func mustStat(d *Dir, name string) Stat {
	st, err := d.Stat(name)
	if err != nil {
		panic(err)
	}
	return st
}

// Nor is what a second one wrote while the first one's was given back.
func TestSomebodyWasFasterTwice(t *testing.T) {
	replace := func(d *Dir) error {
		n, err := d.Named(".temp", 0o600)
		if err != nil {
			return err
		}
		defer n.Close()
		return n.Replace("a", mustStat(d, "old"))
	}
	move := func(d *Dir) error { return d.RenameOver("c", ".temp", mustStat(d, "c"), d, "a", mustStat(d, "old")) }
	swap := func(a, b string) func(d *Dir) error {
		return func(d *Dir) error { return exchange(d.fd(), a, d.fd(), b) }
	}
	for name, c := range map[string]struct {
		change func(d *Dir) error
		point  string
		do     func(d *Dir) error
		// expected content of a; beside is the name, from the error, of the entry that was there
		// before.
		a, beside string
	}{
		"replaced before it went back": {replace, "swap-lost", swap("a", "second"), "second", ".temp"},
		"taken away before":            {replace, "swap-lost", func(d *Dir) error { return unlink(d.fd(), "a") }, "theirs", ""},
		"replaced once more":           {replace, "swap-lost-again", swap("a", "old"), "second", ".temp"},
		"moved over":                   {move, "swap-lost", swap("a", "second"), "second", "c"},
		"moved over what was taken":    {move, "swap-lost", func(d *Dir) error { return unlink(d.fd(), "a") }, "theirs", ""},
	} {
		t.Run(name, func(t *testing.T) {
			tr, root := openTree(t)
			d := dirOf(t, tr, ".")
			for _, f := range []string{"old", "a", "c", "second"} {
				put(t, filepath.Join(root, f), map[string]string{"a": "theirs"}[f]+strings.TrimPrefix(f, "a"))
			}
			fault.Set(func(p string) {
				switch {
				case p == c.point:
					must(t, c.do(d))
				case p == "swap-lost" && c.point == "swap-lost-again":
					must(t, swap("a", "second")(d))
				}
			})
			err := c.change(d)
			fault.Set(nil)
			if !errors.Is(err, &files.Conflict{Reason: files.Changed}) {
				t.Error(err)
			}
			names, all := map[string]string{}, ""
			entries, _ := os.ReadDir(root)
			for _, e := range entries {
				names[get(t, filepath.Join(root, e.Name()))] = e.Name()
				all += " " + e.Name()
			}
			for _, whose := range []string{"theirs", "second", "old"} {
				if names[whose] == "" {
					t.Errorf("what %q held is lost: left are%s", whose, all)
				}
			}
			if got := get(t, filepath.Join(root, "a")); got != c.a {
				t.Errorf("a holds %q, want %q", got, c.a)
			}
			if partly := (*MadeError)(nil); c.beside != "" && (!errors.As(err, &partly) || !strings.Contains(err.Error(), "is now "+filepath.Join(root, c.beside))) {
				t.Errorf("the error does not name its new path: %v", err)
			} else if _, e := os.Lstat(filepath.Join(root, ".temp")); c.beside != ".temp" && e == nil {
				t.Error("a temporary name is left")
			}
		})
	}
}

// What somebody puts under the old name of what moves, meanwhile, is theirs.
func TestMoveOverLeavesTheirs(t *testing.T) {
	tr, root := openTree(t)
	d := dirOf(t, tr, ".")
	for _, f := range []string{"from", "to", "theirs"} {
		put(t, filepath.Join(root, f), f)
	}
	fault.Set(func(p string) {
		if p == "rename-over-exchanged" {
			must(t, os.Rename(filepath.Join(root, "theirs"), filepath.Join(root, "from")))
		}
	})
	defer fault.Set(nil)
	must(t, d.RenameOver("from", ".temp", mustStat(d, "from"), d, "to", mustStat(d, "to")))
	if from, to := get(t, filepath.Join(root, "from")), get(t, filepath.Join(root, "to")); from != "theirs" || to != "from" {
		t.Errorf("from holds %q, to %q", from, to)
	}
	if entries, _ := os.ReadDir(root); len(entries) != 2 {
		t.Errorf("left: %v", entries)
	}
}

// What changed just before it was looked at may have changed once more without showing it; and
// who changes a file may give it its time again.
func TestChangedWithoutAnotherTime(t *testing.T) {
	for name, change := range map[string]func(d *Dir, old Stat) error{
		"replace": func(d *Dir, old Stat) error {
			n, err := d.Named(".temp", 0o600)
			if err != nil {
				return err
			}
			defer n.Close()
			return n.Replace("a", old)
		},
		"remove":      func(d *Dir, old Stat) error { return d.Remove("a", ".temp", old) },
		"rename over": func(d *Dir, old Stat) error { return d.RenameOver("c", ".temp", mustStat(d, "c"), d, "a", old) },
	} {
		for _, age := range []time.Duration{0, time.Hour} {
			tr, root := openTree(t)
			d := dirOf(t, tr, ".")
			a := filepath.Join(root, "a")
			put(t, a, "first")
			put(t, filepath.Join(root, "c"), "ours")
			now := time.Now().Add(-age)
			must(t, os.Chtimes(a, now, now))
			old := mustStat(d, "a")
			old.Reads(time.Now())
			old.Hash = files.Sum([]byte("first"))
			put(t, a, "again")
			must(t, os.Chtimes(a, now, now))
			if err := change(d, old); !errors.Is(err, &files.Conflict{Reason: files.Changed}) {
				t.Errorf("%s, %v old: %v", name, age, err)
			}
			if got := get(t, a); got != "again" {
				t.Errorf("%s, %v old: a holds %q", name, age, got)
			}
		}
	}
}

// On a file system that can't rename to free names only, what somebody puts under the old
// name stays.
func TestLinkedAndReplaced(t *testing.T) {
	tr, root := openTree(t)
	d := dirOf(t, tr, ".")
	put(t, filepath.Join(root, "a"), "ours")
	put(t, filepath.Join(root, "theirs"), "theirs")
	fault.Set(func(p string) {
		if p == "linked" {
			must(t, os.Rename(filepath.Join(root, "theirs"), filepath.Join(root, "a")))
		}
	})
	err := d.linkFree("a", d, "b")
	fault.Set(nil)
	must(t, err)
	if a, b := get(t, filepath.Join(root, "a")), get(t, filepath.Join(root, "b")); a != "theirs" || b != "ours" {
		t.Errorf("a holds %q, b %q", a, b)
	}
	must(t, d.linkFree("b", d, "c"))
	if _, err := os.Lstat(filepath.Join(root, "b")); err == nil || get(t, filepath.Join(root, "c")) != "ours" {
		t.Error("not moved")
	}
}

// A file that was made under the very name that it is for stays when it is closed.
func TestPlacedWhereItWasMade(t *testing.T) {
	tr, root := openTree(t)
	n, err := dirOf(t, tr, ".").Named("a", 0o600)
	must(t, err)
	_, err = n.Write([]byte("content"))
	must(t, err)
	must(t, n.Place("a"))
	must(t, n.Close())
	if got := get(t, filepath.Join(root, "a")); got != "content" {
		t.Errorf("a holds %q", got)
	}
}

// On a file system without an exchange the replacement still goes through.
func TestReplaceWithoutExchange(t *testing.T) {
	tr, root := openTree(t)
	d := dirOf(t, tr, ".")
	put(t, filepath.Join(root, "a"), "old")
	put(t, filepath.Join(root, ".temp"), "new")
	must(t, d.replaceChecked(".temp", d, "a", mustStat(d, "a")))
	if get(t, filepath.Join(root, "a")) != "new" {
		t.Error("not replaced")
	}
	if entries, _ := os.ReadDir(root); len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}

// An unnamed file that cannot be given a name is written again under one.
func TestUnnamedAgain(t *testing.T) {
	tr, root := openTree(t)
	d := dirOf(t, tr, ".")
	n, ok, err := d.Unnamed(".temp", 0o600)
	must(t, err)
	if !ok {
		t.Fatal("the file system of the tests has no O_TMPFILE")
	}
	_, err = io.WriteString(n, "content")
	must(t, err)
	must(t, n.Chmod(0o751))
	must(t, n.again())
	must(t, n.Place("a"))
	must(t, n.Close())
	if st := mustStat(d, "a"); get(t, filepath.Join(root, "a")) != "content" || st.Mode != 0o751 {
		t.Errorf("got %q, %+v", get(t, filepath.Join(root, "a")), st)
	}
	if entries, _ := os.ReadDir(root); len(entries) != 1 {
		t.Errorf("left: %v", entries)
	}
}

// The table of mounts: only what shows what would be there anyway is the same.
func TestMountTable(t *testing.T) {
	m := mountTable{
		1: {"8:1", "/", "/"}, 2: {"8:1", "/home/ann/p", "/home/ann/p"}, 3: {"8:1", "/home/ann/p/d", "/home/ann/p/d"},
		4: {"8:1", "/etc", "/home/ann/p/e"}, 5: {"0:40", "/", "/home/ann/p/t"}, 6: {"8:1", "/home/ann/p/d", "/home/ann/p/x"},
		7: {"8:2", "/home/ann/p/d", "/home/ann/p/d"}, 8: {"8:1", "/srv/q", "/mnt/q"}, 9: {"8:1", "/srv/q/d", "/mnt/q/d"}, 10: {"8:1", "/home/ann/pp", "/home/ann/pp"},
	}
	for _, c := range []struct {
		over, base uint64
		want       bool
	}{
		{3, 2, true}, {3, 1, true}, {4, 2, false}, {5, 2, false}, {6, 2, false}, {7, 2, false}, {9, 8, true}, {8, 2, false}, {10, 2, false}, {99, 2, false},
	} {
		if got := m.same(c.over, c.base); got != c.want {
			t.Errorf("mount %d over %d: %v, want %v", c.over, c.base, got, c.want)
		}
	}
	if got := unescape(`/a\040b\011c\134d`); got != "/a b\tc\\d" {
		t.Errorf("unescaped: %q", got)
	}
}

func TestOpenWantsARealPath(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.Mkdir(filepath.Join(root, "real"), 0o755))
	must(t, os.Symlink("real", filepath.Join(root, "link")))
	put(t, filepath.Join(root, "file"), "x")
	for _, p := range []string{"relative", root + "/./real", root + "/link", root + "/none", root + "/file", ""} {
		if tr, err := Open(p, Options{}); err == nil {
			tr.Close()
			t.Errorf("%q is opened", p)
		}
	}
}

// Resolve answers for every kind of link.
func TestResolve(t *testing.T) {
	tr, root := openTree(t)
	put(t, filepath.Join(root, "d/e/f"), "x")
	for link, target := range map[string]string{
		"to-dir": "d", "to-file": "d/e/f", "d/up": "../d/e", "out": "../x", "abs": root, "loop": "loop",
		"chain0": "chain1", "chain1": "chain2", "chain2": "d", "dangling": "d/none", "dots": "d/e/../../d",
	} {
		must(t, os.Symlink(target, filepath.Join(root, link)))
	}
	for _, c := range []struct {
		rel  string
		last Last
		want string // real path, or the reason
	}{
		{".", Follow, "."}, {"d/e/f", Follow, "d/e/f"}, {"to-dir/e", Follow, "d/e"}, {"to-file", Follow, "d/e/f"}, {"to-file", Keep, "to-file"},
		{"d/up/f", Follow, "d/e/f"}, {"chain0/e", Follow, "d/e"}, {"dots", Follow, "d"}, {"dangling", Follow, "d/none"}, {"dangling", Keep, "dangling"},
		{"none/a/b", Follow, "none/a/b"}, {"out", Follow, "outside"}, {"out", Keep, "out"}, {"abs", Follow, "outside"}, {"abs/d", Keep, "outside"},
		{"loop", Follow, "bad_path"}, {"d/e/f/g", Follow, "not_a_folder"}, {"..", Follow, "outside"}, {"none/../d", Follow, "missing"},
	} {
		spot, err := tr.Resolve(c.rel, c.last)
		got := spot.Rel
		var conflict *files.Conflict
		if errors.As(err, &conflict) {
			got = string(conflict.Reason)
		}
		if got != c.want {
			t.Errorf("%s: got %s (%v), want %s", c.rel, got, err, c.want)
		}
	}
	if s, _ := tr.Resolve("none/a/b", Follow); s.Missing != 2 || s.Kind != files.Absent {
		t.Errorf("missing: %+v", s)
	}
	if names, more, err := dirOf(t, tr, "d").Names(1); err != nil || len(names) != 1 || !more {
		t.Errorf("a bounded listing: %v %v %v", names, more, err)
	}
	if !strings.HasPrefix(dirOf(t, tr, "d/e").Path("f"), root) {
		t.Error("a path of its own")
	}
}

// A link comes back as its owner's or not at all; a group that is not ours to give means
// nothing in a link.
func TestSymlinkKeepsOwner(t *testing.T) {
	tr, root := openTree(t)
	d := dirOf(t, tr, ".")
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	owner := func(name string) (uint32, uint32) {
		st, err := fstatat(d.fd(), name)
		must(t, err)
		return st.UID, st.GID
	}
	must(t, d.Symlink("own", ".temp", files.State{Kind: files.Symlink, Target: "a", UID: uid, GID: gid, ModTime: 1}))
	if target, err := os.Readlink(filepath.Join(root, "own")); err != nil || target != "a" {
		t.Error(target, err)
	}
	err := d.Symlink("other", ".temp", files.State{Kind: files.Symlink, Target: "a", UID: 12345, GID: gid, ModTime: 1})
	if uid == 0 {
		if u, g := owner("other"); err != nil || u != 12345 || g != gid {
			t.Errorf("it belongs to uid %d, gid %d: %v", u, g, err)
		}
	} else {
		var c *files.Conflict
		if !errors.As(err, &c) || c.Reason != files.Unkept {
			t.Error(err)
		}
		if _, err := os.Lstat(filepath.Join(root, "other")); err == nil {
			t.Error("it is left as ours")
		}
	}
	must(t, d.Symlink("group", ".temp", files.State{Kind: files.Symlink, Target: "a", UID: uid, GID: 12345, ModTime: 1}))
	if u, g := owner("group"); u != uid || uid == 0 && g != 12345 {
		t.Errorf("it belongs to uid %d, gid %d", u, g)
	}
}
