package aftermath

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
	"sandboxd/watch"
)

// world is a tree in which anything may happen, and somewhere outside of it.
type world struct {
	t             *testing.T
	rand          *rand.Rand
	root, outside string
	profile       profile.Profile
	empty         []string // directories that were made to be replaced
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var in unix.Statfs_t
	if unix.Statfs(dir, &in) == nil && in.Type == unix.OVERLAYFS_SUPER_MAGIC { // nothing is watched there
		if dir, err = os.MkdirTemp("/dev/shm", "aftermath-"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 1)), root: filepath.Join(dir, "p"),
		outside: filepath.Join(dir, "o")}
	for _, d := range []string{w.root, w.outside, filepath.Join(w.root, ".git/objects/ab"),
		filepath.Join(w.root, ".git/refs"), filepath.Join(w.root, "a/b/c")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.root, ".git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := profile.Spec{Rules: []profile.Rule{{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: w.root}}}
	for _, name := range profile.ProtectedNames(profile.Executed) {
		spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Protect, Path: w.root, Name: name})
	}
	if w.profile, err = profile.New(spec); err != nil {
		t.Fatal(err)
	}
	return w
}

// any is a path that may be there, mostly in the tree.
func (w *world) any() string {
	at := w.root
	if w.rand.IntN(8) == 0 {
		at = w.outside
	}
	names := []string{"a", "b", "c", "d", "AGENTS.md", ".vscode", ".git", "objects", "refs", "HEAD", "config", "ab",
		"hooks", ".envrc"}
	for range 1 + w.rand.IntN(5) {
		at = filepath.Join(at, names[w.rand.IntN(len(names))])
	}
	return at
}

// act does one thing, which may be impossible.
func (w *world) act() string {
	a, b := w.any(), w.any()
	switch w.rand.IntN(21) {
	case 15, 16, 17:
		if w.rand.IntN(3) == 0 { // one that git keeps files by hash in
			a = filepath.Join(w.root, ".git/objects")
		}
		a = filepath.Join(a, fmt.Sprintf("%02x", w.rand.IntN(256)))
		os.MkdirAll(a, 0o755)
		w.empty = append(w.empty, a)
		return "make the empty " + a
	case 18, 19, 20:
		if len(w.empty) == 0 {
			return ""
		}
		a = w.empty[w.rand.IntN(len(w.empty))]
		return w.replace(a)
	case 0, 1, 2:
		os.MkdirAll(a, 0o755)
		return "mkdir " + a
	case 3, 4:
		os.WriteFile(a, []byte(fmt.Sprint(w.rand.IntN(3))), 0o644)
		return "write " + a
	case 5:
		os.RemoveAll(a)
		return "rm -r " + a
	case 6:
		unix.Rmdir(a)
		unix.Mkdir(a, 0o755)
		return "rmdir and mkdir " + a
	case 7, 8, 9:
		os.Rename(a, b)
		return "mv " + a + " " + b
	case 10, 11:
		unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
		return "exchange " + a + " and " + b
	case 12:
		os.Symlink(b, a)
		return "ln -s " + b + " " + a
	case 13:
		os.Link(a, b)
		return "ln " + a + " " + b
	}
	mode := []os.FileMode{0o755, 0o755, 0o311, 0o555, 0o700}[w.rand.IntN(5)]
	os.Chmod(a, mode)
	return fmt.Sprintf("chmod %o %s", mode, a)
}

// replace puts another directory in the place of an empty one, which somebody has open, so
// that the kernel reports no event of it itself, and something into that.
func (w *world) replace(at string) string {
	if f, err := os.Open(at); err == nil {
		w.t.Cleanup(func() { f.Close() })
	}
	unix.Rmdir(at)
	os.MkdirAll(filepath.Join(at, "a"), 0o755)
	os.WriteFile(filepath.Join(at, "a/AGENTS.md"), nil, 0o644)
	return "replace " + at
}

// After any change of a tree, a scan that skips directories without an event finds
// exactly what a scan without a cache finds. R-OS-03
func TestWatchedLooksSeeAll(t *testing.T) {
	rounds := 8
	if os.Getenv("WATCH") == "full" {
		rounds = 200
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { watchedLooks(t, uint64(seed)) })
	}
}

func watchedLooks(t *testing.T, seed uint64) {
	w := newWorld(t, seed)
	set := watch.New()
	t.Cleanup(set.Close)
	cache := &Cache{Watch: set}
	other := &Cache{Watch: set} // another that looks at the same directories, now and then
	var done []string
	for range 200 {
		for range w.rand.IntN(4) {
			done = append(done, w.act())
		}
		if w.rand.IntN(5) == 0 {
			walk(w.profile, other, "", nil)
		}
		want, got := walk(w.profile, &Cache{}, "", nil), walk(w.profile, cache, "", nil)
		// A scan opens closed directories, which counts as a change.
		for _, f := range []found{want, got} {
			for at, e := range f.entries {
				e.ctime = 0
				f.entries[at] = e
			}
		}
		if !want.saysSame(got) {
			t.Fatalf("seed %d: after %q\nfresh eyes see %+v\nthe watch sees %+v", seed, done[max(0, len(done)-8):], want, got)
		}
	}
	if set.Watched() == 0 {
		t.Fatal("nothing is watched")
	}
	for _, name := range []string{w.root, w.outside} {
		filepath.WalkDir(name, func(at string, d os.DirEntry, err error) error { os.Chmod(at, 0o755); return nil })
		os.RemoveAll(name)
	}
	os.Mkdir(w.root, 0o755)
	for _, c := range []*Cache{cache, other} {
		walk(w.profile, c, "", nil)
		for _, v := range c.views {
			if n := v.nodes.Load(); n != 0 {
				t.Errorf("seed %d: %d directories are remembered of an empty tree", seed, n)
			}
		}
	}
	if n := set.Watched(); n != 1 {
		t.Errorf("seed %d: %d directories are watched where there is one", seed, n)
	}
}
