package aftermath

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/git"
)

// moved is the disk as it will be when the directory at now has the place of the one at root.
type moved struct {
	git.Host  // of names without links above their last element
	root, now string
}

// at returns where the object of a name is now.
func (m moved) at(name string) string {
	dir, _, err := git.Resolve(moved{nil, m.root, m.now}, path.Dir(name))
	if err != nil {
		return "/dev/null/none"
	}
	return m.place(path.Join(dir, path.Base(name)))
}

func (m moved) place(name string) string {
	if rest, ok := strings.CutPrefix(name, m.root); ok && (rest == "" || rest[0] == '/') {
		return m.now + rest
	}
	return name
}

type statInfo struct {
	fs.FileInfo
	st unix.Stat_t
}

func (s statInfo) Sys() any { return &s.st }

func (m moved) Lstat(name string) (fs.FileInfo, error) {
	if m.Host == nil {
		return os.Lstat(m.place(name))
	}
	at := m.at(name)
	info, err := os.Lstat(at)
	if err != nil {
		return nil, err
	}
	s := statInfo{FileInfo: info}
	return s, unix.Lstat(at, &s.st)
}

func (m moved) Readlink(name string) (string, error) {
	if m.Host == nil {
		return os.Readlink(m.place(name))
	}
	return os.Readlink(m.at(name))
}

func (m moved) ReadFile(name string, most int64) ([]byte, error) {
	real, _, err := git.Resolve(moved{nil, m.root, m.now}, name)
	if err != nil {
		return nil, err
	}
	return git.Disk.ReadFile(m.place(real), most)
}

func (m moved) ReadDir(name string) ([]fs.DirEntry, error) {
	real, _, err := git.Resolve(moved{nil, m.root, m.now}, name)
	if err != nil {
		return nil, err
	}
	return git.Disk.ReadDir(m.place(real))
}

// differing returns the topmost paths below root that differ between two directories.
func differing(a, b, root string) (names []string) {
	seen := map[string]bool{}
	for _, dir := range []string{a, b} {
		list, _ := os.ReadDir(dir)
		for _, e := range list {
			seen[e.Name()] = true
		}
	}
	for name := range seen {
		x, y := filepath.Join(a, name), filepath.Join(b, name)
		was, err := os.Lstat(x)
		now, nerr := os.Lstat(y)
		switch {
		case err == nil && nerr == nil && was.IsDir() && now.IsDir():
			names = append(names, differing(x, y, filepath.Join(root, name))...)
			continue
		case err == nil && nerr == nil && was.Mode() == now.Mode():
			text, _ := os.ReadFile(x)
			other, _ := os.ReadFile(y)
			to, _ := os.Readlink(x)
			else_, _ := os.Readlink(y)
			if to == else_ && (was.Mode()&fs.ModeSymlink != 0 || string(text) == string(other)) {
				continue
			}
		}
		names = append(names, filepath.Join(root, name))
	}
	return names
}

// prepare does one thing of those by which a file comes under a protected name, or by which git would run one.
func (w *world) prepare() string {
	pick := func(list ...string) string { return list[w.rand.IntN(len(list))] }
	dir := filepath.Join(w.root, pick("", "a", "a/b", "node_modules/x", "a/.git", ".git", "d.git"))
	name := filepath.Join(dir, pick("HEAD", "objects", "refs", "commondir", "hooks", "config", ".git", ".vscode", "link",
		"script", "AGENTS.md"))
	text := pick("ref: refs/heads/main\n", "gitdir: ../d.git\n", "gitdir: "+w.root+"/a/.git\n", "../d.git\n",
		"[core]\n\thooksPath = "+w.root+"/hooks\n", "[include]\n\tpath = ../script\n", "[core]\n\tfsmonitor = a/script\n")
	switch w.rand.IntN(9) {
	case 0, 1:
		os.MkdirAll(filepath.Join(name, pick("", "", "x")), 0o755)
		return "mkdir " + name
	case 2, 3, 4:
		os.MkdirAll(filepath.Dir(name), 0o755)
		os.WriteFile(name, []byte(text), 0o644)
		return "write " + name + ": " + text
	case 5:
		os.MkdirAll(filepath.Join(dir, "objects/ab"), 0o755)
		os.MkdirAll(filepath.Join(dir, "refs"), 0o755)
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644)
		return "make a repository of " + dir
	case 6:
		to := filepath.Join(w.root, pick("node_modules/x", "a", "d.git", "script", ".vscode"))
		os.Symlink(to, name)
		return "ln -s " + to + " " + name
	case 7:
		os.RemoveAll(name)
		return "rm -r " + name
	}
	to := filepath.Join(w.root, pick("a/b", "d.git", "node_modules/x", ".vscode", "script"))
	os.Rename(name, to)
	return "mv " + name + " " + to
}

// What Judge expects of a tree after a change is what a walk finds there once the change is made. R-LY-02
func TestLandingIsForeseen(t *testing.T) {
	rounds := 100
	if os.Getenv("WATCH") == "full" {
		rounds = 2000
	}
	for seed := range rounds {
		w := newWorld(t, uint64(seed))
		var done []string
		for range 30 {
			done = append(done, w.prepare())
		}
		open := func() {
			filepath.WalkDir(w.root, func(at string, d os.DirEntry, _ error) error {
				if d != nil && d.IsDir() {
					os.Chmod(at, 0o755)
				}
				return nil
			})
		}
		open()
		was, now := w.root+".was", w.root+".now"
		if out, err := exec.Command("cp", "-a", w.root, was).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		done = append(done, "-----")
		for range 1 + w.rand.IntN(6) {
			done = append(done, w.prepare())
		}
		open()
		os.Rename(w.root, now)
		os.Rename(was, w.root)

		cache := &Cache{}
		before := walk(w.profile, cache, "", nil)
		got := cache.foresee(w.profile, before, Landing{After: moved{git.Disk, w.root, now},
			Names: differing(w.root, now, w.root)})
		os.Rename(w.root, was)
		os.Rename(now, w.root)
		want := walk(w.profile, &Cache{}, "", before.named)
		for _, f := range []found{want, got} {
			for at, e := range f.entries {
				e.stamp = stamp{mode: e.mode}
				e.aliased = false
				f.entries[at] = e
			}
		}
		if !want.gitUse.same(got.gitUse) || !maps.Equal(want.repos, got.repos) ||
			!maps.EqualFunc(want.entries, got.entries, func(a, b entry) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
			brief := func(f found) string {
				var list []string
				for at, e := range f.entries {
					list = append(list, fmt.Sprintf("%s %v %q", at, e.mode, e.content))
				}
				slices.Sort(list)
				return fmt.Sprintf("%s\n%v %v %v", strings.Join(list, "\n"), f.repos, f.gitUse, f.links)
			}
			t.Fatalf("seed %d: %s\nforeseen:\n%s\nthere is:\n%s", seed, strings.Join(done, "\n"), brief(got), brief(want))
		}
		os.RemoveAll(was)
	}
}
