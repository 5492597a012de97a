package supervisor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// R-IP-07: what can never be a session's root.
func TestRootsThatAreRefused(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(base, "home", "ann")
	own := filepath.Join(home, ".local", "state", "sandboxd")
	project := filepath.Join(home, "src", "app")
	for _, d := range []string{own, project, filepath.Join(base, "link")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink("/etc", filepath.Join(base, "link", "etc"))
	os.Symlink(home, filepath.Join(base, "link", "home"))
	file := filepath.Join(project, "file")
	os.WriteFile(file, nil, 0o644)
	g := newGuard([]string{home}, []string{own})
	for _, dir := range []string{
		"/", "/etc", "/usr/share", "/proc", "/proc/self", "/root", "/home", "/tmp", "/var", "/var/lib",
		home, filepath.Dir(home), base, home + "/", home + "/src/..", own, filepath.Join(own), filepath.Dir(own),
		filepath.Join(home, ".local"),
		filepath.Join(base, "link", "etc"), filepath.Join(base, "link", "home"), file, filepath.Join(base, "absent"),
		"relative", "", ".", "/proc/self/root",
	} {
		got, err := g.check(dir)
		var root *RootError
		if !errors.As(err, &root) {
			t.Errorf("Check(%q) = %q, %v; want it refused", dir, got, err)
		}
	}
	for _, dir := range []string{project, filepath.Join(home, "src"), filepath.Join(base, "link", "home", "src", "app")} {
		if got, err := g.check(dir); err != nil || filepath.IsAbs(got) == false {
			t.Errorf("Check(%q) = %q, %v; want it accepted", dir, got, err)
		}
	}
}

func TestEnclosingRepository(t *testing.T) {
	base, _ := filepath.EvalSymlinks(t.TempDir())
	home := filepath.Join(base, "ann")
	deep := filepath.Join(home, "repo", "a", "b")
	os.MkdirAll(deep, 0o755)
	os.Mkdir(filepath.Join(home, ".git"), 0o755) // takes nobody's home
	g := newGuard([]string{home}, nil)
	if got := g.enclosingRepository(deep); got != deep {
		t.Errorf("without a repository: %q", got)
	}
	os.WriteFile(filepath.Join(home, "repo", ".git"), []byte("gitdir: elsewhere\n"), 0o644) // a linked worktree
	if got, want := g.enclosingRepository(deep), filepath.Join(home, "repo"); got != want {
		t.Errorf("in a worktree: %q, want %q", got, want)
	}
}

// R-IP-07: trust is kept by real path and which directory that is.
func TestTrustIsOfTheDirectoryAsItIs(t *testing.T) {
	base, _ := filepath.EvalSymlinks(t.TempDir())
	file := filepath.Join(base, "trust.json")
	dir := filepath.Join(base, "project")
	os.Mkdir(dir, 0o755)
	s, err := OpenTrust(file)
	if err != nil {
		t.Fatal(err)
	}
	if s.Trusted(1000, dir) {
		t.Error("trusted before anyone said so")
	}
	if _, err := s.add(Trust{UID: 1000, Dir: dir, By: "test"}); err != nil {
		t.Fatal(err)
	}
	again, err := OpenTrust(file)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Trusted(1000, dir) || again.Trusted(1001, dir) {
		t.Error("the trust of one user is not kept for that user alone")
	}
	// Another directory takes the name, and where the file system gives it out at once, the number too.
	for range 3 {
		os.Remove(dir)
		os.Mkdir(dir, 0o755)
		if again.Trusted(1000, dir) {
			t.Fatal("a directory that was removed and made again is still trusted")
		}
	}
	if _, err := again.add(Trust{UID: 1000, Dir: dir, By: "test"}); err != nil {
		t.Fatal(err)
	}
	// And while the first still exists.
	os.Rename(dir, dir+".old")
	os.Mkdir(dir, 0o755)
	if again.Trusted(1000, dir) {
		t.Error("a directory that was replaced is still trusted")
	}
	if again.Trusted(1000, dir+".old") {
		t.Error("the trust moved along with the directory")
	}
	os.Remove(dir)
	os.Symlink(dir+".old", dir)
	if again.Trusted(1000, dir) {
		t.Error("a link to the directory is trusted")
	}
	if removed, err := again.remove(1000, dir); !removed || err != nil {
		t.Error(removed, err)
	}
	os.WriteFile(file, []byte("{broken"), 0o600)
	if _, err := OpenTrust(file); err == nil {
		t.Error("a broken file was taken for an empty one")
	}
	if b, _ := os.ReadFile(file); string(b) != "{broken" {
		t.Error("a broken file was overwritten")
	}
}

// R-OS-07: a home and the daemon's own places that symbolic links lead to are meant themselves.
func TestPlacesBehindLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(dir, "disk"), filepath.Join(dir, "home")
	if err := os.MkdirAll(filepath.Join(real, "ann", "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for home, want := range map[string]string{link + "/ann": real + "/ann", link + "/ann/": real + "/ann", link +
		"/bob": real + "/bob", "": "", "relative": "relative", "/": "/"} {
		if got := realHome(home); got != want {
			t.Errorf("home %q: %q, want %q", home, got, want)
		}
	}
	want := []string{link + "/ann/run", real + "/state", real + "/ann/run"}
	if got := alsoReal(want[:2]); !slices.Equal(got, want) {
		t.Errorf("own places: %q, want %q", got, want)
	}
	targets := []string{link + "/ann", "name", link + "/**/*.key", real + "/x", link + "/gone/y/**"}
	if got, want := newLinks(nil).targets(targets, ""),
		append(targets, real+"/ann", real+"/**/*.key", real+"/gone/y/**"); !slices.Equal(got, want) {
		t.Errorf("what is hidden: %q, want %q", got, want)
	}
}
