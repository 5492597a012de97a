package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// add watches a directory, which is its own name in the news.
func add(t *testing.T, g *Group, dir string) *Dir {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return g.Add(int(f.Fd()), dir)
}

// tempDir is a new directory that can be watched.
func tempDir(t *testing.T) string {
	t.Helper()
	var in unix.Statfs_t
	if dir := t.TempDir(); unix.Statfs(dir, &in) == nil && in.Type != unix.OVERLAYFS_SUPER_MAGIC {
		return dir
	}
	dir, err := os.MkdirTemp("/dev/shm", "watch-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func newGroup(t *testing.T) *Group {
	t.Helper()
	s := New()
	t.Cleanup(s.Close)
	// which reports no mount that others make meanwhile
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.mounts.fd = fd
	return s.Group()
}

// want asks for the news, which are to be about these directories.
func want(t *testing.T, g *Group, after string, about ...string) []News {
	t.Helper()
	news, lost := g.News()
	ok := !lost && len(news) == len(about)
	for i := range about {
		ok = ok && news[i].About == about[i]
	}
	if !ok {
		t.Errorf("after %s: news %v, lost %v; want %q", after, news, lost, about)
	}
	return news
}

func TestNews(t *testing.T) {
	dir := tempDir(t)
	a, b := mkdir(t, filepath.Join(dir, "a")), mkdir(t, filepath.Join(dir, "b"))
	g := newGroup(t)
	want(t, g, "nothing")
	if add(t, g, a) == nil || add(t, g, b) == nil {
		t.Fatal("a directory can't be watched")
	}
	want(t, g, "watching")
	os.WriteFile(a+"/f", nil, 0o644)
	if n := want(t, g, "a new file", a); len(n) > 0 && n[0].Directories {
		t.Error("a file is reported as a directory")
	}
	os.WriteFile(a+"/f", []byte("x"), 0o644)
	want(t, g, "writing a file")
	os.Link(a+"/f", b+"/g")
	if n := want(t, g, "a link", b); len(n) > 0 && n[0].Directories {
		t.Error("a link is reported as a directory")
	}
	os.Mkdir(a+"/d", 0o755)
	if n := want(t, g, "a new directory", a); len(n) > 0 && !n[0].Directories {
		t.Error("a directory is not reported as one")
	}
	os.Rename(a+"/d", b+"/d")
	for _, n := range want(t, g, "a move", a, b) {
		if !n.Directories {
			t.Errorf("%v: a directory is not reported as one", n)
		}
	}
	unix.Renameat2(unix.AT_FDCWD, a+"/f", unix.AT_FDCWD, b+"/d", unix.RENAME_EXCHANGE)
	for _, n := range want(t, g, "an exchange of a file and a directory", a, b) {
		if !n.Directories {
			t.Errorf("%v: a directory is not reported as one", n)
		}
	}
	os.Chmod(b, 0o700)
	want(t, g, "a new mode", b)
	os.RemoveAll(a)
	if n := want(t, g, "its end", a); len(n) > 0 && !n[0].Removed {
		t.Error("a removed directory is still watched")
	}
	os.Mkdir(a, 0o755)
	want(t, g, "its return, of which only its directory could tell")
}

// What is too much, or could hide something, makes all be lost, and can be added again.
func TestLost(t *testing.T) {
	dir := mkdir(t, filepath.Join(tempDir(t), "d"))
	for name, lose := range map[string]func(g *Group){
		"a full queue": func(g *Group) {
			limit, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			fmt.Sscan(string(limit), &n)
			for i := range n/2 + 10 { // each makes two events, of which no two equal ones follow each other
				name := filepath.Join(dir, fmt.Sprint(i%2))
				os.Mkdir(name, 0o755)
				os.Remove(name)
			}
		},
		"a long silence": func(g *Group) {
			g.set.mu.Lock()
			g.used = g.used.Add(-idle)
			g.set.mu.Unlock()
			g.set.expire()
			if n := g.set.Watched(); n != 0 {
				t.Errorf("%d directories are watched of which nobody wants to know", n)
			}
		},
		"a mount":        func(g *Group) { g.set.mu.Lock(); g.set.seen--; g.set.mu.Unlock() },
		"a broken queue": func(g *Group) { unix.Close(g.set.fd); g.set.fd = 1 << 20 },
		"no room for long": func(g *Group) {
			g.set.mu.Lock()
			g.set.most = 1
			g.set.mu.Unlock()
			if add(t, g, filepath.Dir(dir)) != nil {
				t.Error("more is watched than there is room for")
			}
			want(t, g, "a refusal")
			g.set.mu.Lock()
			g.set.most, g.refused = mostDirs, g.refused.Add(-idle)
			g.set.mu.Unlock()
		},
	} {
		g := newGroup(t)
		if add(t, g, dir) == nil {
			t.Fatalf("%s: it can't be watched", name)
		}
		want(t, g, "watching")
		lose(g)
		if news, lost := g.News(); !lost || len(news) > 0 {
			t.Errorf("%s: news %v, lost %v", name, news, lost)
		}
		want(t, g, name)
		if add(t, g, dir) == nil {
			t.Errorf("%s: it can't be watched again", name)
		}
		os.Mkdir(dir+"/x", 0o755)
		os.Remove(dir + "/x")
		want(t, g, name+" and a change", dir)
	}
}

// What one group drops or asks is nothing to another that watches the same.
func TestGroupsShareDirectories(t *testing.T) {
	dir := tempDir(t)
	g := newGroup(t)
	h := g.set.Group()
	mine, again := add(t, g, dir), add(t, g, dir)
	if mine == nil || again == nil || add(t, h, dir) == nil {
		t.Fatal("it can't be watched")
	}
	if n := g.set.Watched(); n != 1 {
		t.Errorf("%d directories are watched, want 1", n)
	}
	os.Mkdir(dir+"/a", 0o755)
	want(t, g, "a change", dir, dir)
	mine.Drop()
	mine.Drop()
	os.Mkdir(dir+"/b", 0o755)
	want(t, g, "dropping one", dir)
	want(t, h, "two changes", dir)
	g.Close()
	os.Mkdir(dir+"/c", 0o755)
	want(t, h, "closing the other", dir)
	if add(t, g, dir) != nil {
		t.Error("a closed group watches")
	}
	h.Close()
	if n := g.set.Watched(); n != 0 {
		t.Errorf("%d directories are watched, want 0", n)
	}
}

// A nil Set watches nothing, and neither does one where the file system is changed elsewhere.
func TestNotWatched(t *testing.T) {
	var none *Set
	g := none.Group()
	if add(t, g, tempDir(t)) != nil {
		t.Error("a nil set watches")
	}
	want(t, g, "nothing")
	g.Close()
	none.Close()
	g = newGroup(t)
	for _, dir := range []string{"/proc/self/fd", "/sys"} {
		if add(t, g, dir) != nil {
			t.Errorf("%s is watched", dir)
		}
	}
}

// A mount shows by its number alone, at once.
func TestMounts(t *testing.T) {
	var m Mounts
	defer m.Close()
	first, err := m.Generation()
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; {
		again, err := m.Generation()
		if err == nil && again == first {
			return
		}
		if first = again; err != nil || time.Now().After(end) { // somebody mounts things meanwhile
			t.Fatalf("generation %d, then %d: %v", first, again, err)
		}
	}
}
