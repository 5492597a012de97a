package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sandboxd/profile"
	"sandboxd/profile/document"
)

// lender is a home directory with a person's module cache, a project's cache, and a profile that shows the former.
func lender(t *testing.T) (home, cache string, p document.Preset, shown profile.Profile) {
	t.Helper()
	home = RealPath(t.TempDir())
	cache = filepath.Join(home, ".cache", "sandboxd", "x")
	for name, text := range map[string]string{
		"a/m/v1.zip": "zip", "a/m/v1.lock": "lock", "a/m/list": "v1", "b/v1.zip": "zip", "b/empty": "",
	} {
		full := filepath.Join(home, "go/pkg/mod/cache/download", name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := document.FindPreset("go")
	if err != nil {
		t.Fatal(err)
	}
	shown, err = document.Derive(document.Tools{OS: "linux", Home: home, Presets: []string{"go"}, Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	return home, cache, p, shown
}

// R-LY-08: a project's cache has links to the files of the person's, but for locks and lists; entries of the project's
// own stay.
func TestLend(t *testing.T) {
	home, cache, p, shown := lender(t)
	own := filepath.Join(cache, "go-mod/cache/download/b/v1.zip")
	if err := os.MkdirAll(filepath.Dir(own), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("own"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a repeated one changes nothing
		lendAll(cache, home, p, shown)
	}
	var got []string
	filepath.WalkDir(cache, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(cache, path)
			target, _ := os.Readlink(path)
			got = append(got, rel+" "+target)
		}
		return nil
	})
	want := []string{
		"go-mod/cache/download/a/m/v1.zip " + home + "/go/pkg/mod/cache/download/a/m/v1.zip",
		"go-mod/cache/download/b/v1.zip ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// R-OS-07: the daemon makes no entry outside of the cache, wherever a command had links in it lead.
func TestLendStaysInside(t *testing.T) {
	for _, at := range []string{
		"go-mod", "go-mod/cache", "go-mod/cache/download", "go-mod/cache/download/a", "go-mod/cache/download/a/m",
	} {
		home, cache, p, shown := lender(t)
		outside := filepath.Join(home, "outside")
		for _, dir := range []string{outside, filepath.Dir(filepath.Join(cache, at))} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(outside, filepath.Join(cache, at)); err != nil {
			t.Fatal(err)
		}
		lendAll(cache, home, p, shown)
		if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
			t.Errorf("%s led out: %v %v", at, entries, err)
		}
	}
}

// A path that commands may not read has no link.
func TestLendNothingHidden(t *testing.T) {
	home, cache, p, _ := lender(t)
	hidden, err := document.Derive(document.Tools{
		OS: "linux", Home: home, Presets: []string{"go"}, Cache: cache, Hidden: []string{filepath.Join(home, "go/pkg/mod")},
	})
	if err != nil {
		t.Fatal(err)
	}
	lendAll(cache, home, p, hidden)
	if _, err := os.Lstat(filepath.Join(cache, "go-mod/cache/download/a")); err == nil {
		t.Error("names of a hidden cache were shown")
	}
}

// An emptied cache is the same directory without entries, whatever modes they had, and links are not followed.
func TestEmptyCache(t *testing.T) {
	home, cache, p, shown := lender(t)
	lendAll(cache, home, p, shown)
	closed := filepath.Join(cache, "go-mod", "m@v1")
	if err := os.MkdirAll(filepath.Join(closed, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(home, "go"), filepath.Join(closed, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cache+".emptied/left", 0o700); err != nil { // by a daemon that died
		t.Fatal(err)
	}
	before, _ := os.Stat(cache)
	if err := emptyCache(cache); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(cache)
	if entries, _ := os.ReadDir(cache); err != nil || !os.SameFile(before, after) || len(entries) > 0 {
		t.Errorf("got %v %v", entries, err)
	}
	if _, err := os.Stat(filepath.Join(home, "go/pkg/mod/cache/download/a/m/v1.zip")); err != nil {
		t.Error(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		left, _ := filepath.Glob(cache + ".emptied")
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left: %q", left)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
