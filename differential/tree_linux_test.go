package differential

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
	"sandboxd/profile/profiletest"
)

// canary begins every file of the host, so that reading one shows.
const canary = "#!/usr/bin/true\nhost "

// A world is one generated profile and the real files it speaks of.
type world struct {
	seed   int
	top    string // the directory of the whole tree
	root   string // what the rules speak of
	rules  []profile.Rule
	random *rand.Rand
	dirs   []string          // directories below and with root
	files  map[string]bool   // every path made, true for directories
	links  map[string]string // symbolic link → real target
	share  int               // how much of what can be tried is, in percent
	close  []func()
}

// newWorld makes the tree for the profile of that seed.
func newWorld(t testing.TB, seed, owner, share int) *world {
	t.Helper()
	top, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		seed: seed, top: top, root: top + "/p", random: rand.New(rand.NewPCG(uint64(seed), 1)),
		files: map[string]bool{}, links: map[string]string{}, share: share,
	}
	w.rules = profiletest.Tree(w.root).Nested().Example(seed)
	w.mkdir(t, w.root)
	w.mkdir(t, top+"/outside")
	w.plantRules(t)
	for range 4 {
		w.mkdir(t, path.Join(w.pick(w.dirs), w.pick([]string{"src", "lib", "main", "secret", ".git"})))
	}
	w.plantNames(t)
	for _, dir := range w.dirs {
		w.furnish(t, dir)
	}
	w.furnish(t, top+"/outside")
	w.chown(t, owner)
	return w
}

func (w *world) pick(from []string) string { return from[w.random.IntN(len(from))] }

// plantRules makes what the rules for one path speak of: mostly directories,
// some files, and now and then a link or nothing.
func (w *world) plantRules(t testing.TB) {
	for _, r := range w.rules {
		inner := false
		for _, other := range w.rules {
			inner = inner || strings.HasPrefix(other.Path, r.Path+"/") || other.Path == r.Path && other.Name != ""
		}
		_, made := w.files[r.Path]
		_, linked := w.links[r.Path]
		if made || linked || !w.mkdir(t, path.Dir(r.Path)) {
			continue
		}
		switch chance := w.random.IntN(20); {
		case inner || chance < 13:
			w.mkdir(t, r.Path)
		case chance < 17:
			w.write(t, r.Path)
		case chance < 18:
			w.symlink(t, r.Path, w.pick(w.dirs))
		}
	}
}

// plantNames makes matches of the rules by name.
func (w *world) plantNames(t testing.TB) {
	instance := map[string]string{".env*": ".env.local", "*.key": "id.key"}
	for _, r := range w.rules {
		if r.Name == "" {
			continue
		}
		name := r.Name
		if i := instance[name]; i != "" {
			name = i
		}
		for _, dir := range w.dirs {
			if !strings.HasPrefix(dir+"/", r.Path+"/") || w.random.IntN(3) != 0 {
				continue
			}
			at := path.Join(dir, name)
			if !w.mkdir(t, path.Dir(at)) {
				continue
			}
			if w.random.IntN(2) == 0 {
				w.mkdir(t, at)
			} else if _, made := w.files[at]; !made && w.links[at] == "" {
				w.write(t, at)
			}
		}
	}
}

// targets are the files of every directory that probes use up.
var targets = []string{"read", "write", "append", "trunc", "otrunc", "unlink", "mv", "xc", "ln", "meta", "exec"}

// furnish fills a directory with what probes need.
func (w *world) furnish(t testing.TB, dir string) {
	for _, purpose := range targets {
		if w.random.IntN(100) < w.share {
			w.write(t, w.target(dir, purpose))
		}
	}
	w.mkdirQuiet(t, dir+"/empty")
	w.symlink(t, dir+"/to", w.target(w.pick(w.dirs), "read"))
	w.listen(t, dir+"/sock")
}

// target is the name of a directory's file for a purpose; some match a name.
func (w *world) target(dir, purpose string) string {
	switch (len(dir)*7 + len(purpose)*13 + int(purpose[0])) % 9 {
	case 0:
		return dir + "/" + purpose + ".key"
	case 1:
		return dir + "/.env." + purpose
	}
	return dir + "/" + purpose
}

// mkdir makes dir and what is above it, unless something else is in the way.
func (w *world) mkdir(t testing.TB, dir string) bool {
	if isDir, made := w.files[dir]; made {
		return isDir
	}
	if dir == w.top {
		return true
	}
	if !strings.HasPrefix(dir, w.top+"/") || !w.mkdir(t, path.Dir(dir)) {
		return false
	}
	if _, linked := w.links[dir]; linked {
		return false
	}
	w.mkdirQuiet(t, dir)
	if dir == w.root || strings.HasPrefix(dir, w.root+"/") {
		w.dirs = append(w.dirs, dir)
	}
	return true
}

func (w *world) mkdirQuiet(t testing.TB, dir string) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w.files[dir] = true
}

func (w *world) write(t testing.TB, file string) {
	if err := os.WriteFile(file, []byte(canary+file), 0o755); err != nil {
		t.Fatal(err)
	}
	w.files[file] = false
}

func (w *world) symlink(t testing.TB, link, target string) {
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	w.links[link] = target
}

// listen makes a socket that can be connected to.
func (w *world) listen(t testing.TB, at string) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: at})
	}
	if err == nil {
		err = unix.Listen(fd, 64)
	}
	if err != nil {
		t.Fatalf("listen at %q: %v", at, err)
	}
	w.close = append(w.close, func() { unix.Close(fd) })
}

func (w *world) chown(t testing.TB, owner int) {
	err := filepath.WalkDir(w.top, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(p, owner, owner)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) remove() {
	for _, f := range w.close {
		f()
	}
	os.RemoveAll(w.top)
}

// below returns what is below dir, relative to it.
func (w *world) below(dir string) []string {
	var out []string
	filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err == nil && p != dir {
			out = append(out, p[len(dir)+1:])
		}
		return nil
	})
	return out
}

// snapshot describes every file below top: path → type, mode, size, time,
// attribute, content.
func (w *world) snapshot(t testing.TB) map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(w.top, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		s := fmt.Sprintf("%o %d:%d", st.Mode, st.Uid, st.Gid)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			content, _ := os.ReadFile(p)
			s += fmt.Sprintf(" %d.%d %q", st.Mtim.Sec, st.Mtim.Nsec, content)
		case unix.S_IFLNK:
			target, _ := os.Readlink(p)
			s += " " + target
		}
		if n, err := unix.Lgetxattr(p, "user.differential", nil); err == nil {
			s += fmt.Sprintf(" xattr %d", n)
		}
		out[p] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
