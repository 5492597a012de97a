package abspath_test

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sandboxd/profile/abspath"
)

var samples = []string{"/", "/a", "/a/b", "/a/bc", "/ab", "/a/b/c", "/…/\n"}

func TestPaths(t *testing.T) {
	for _, p := range samples {
		if got := abspath.Parent(p); got != path.Dir(p) {
			t.Errorf("parent of %q: %q", p, got)
		}
		if got := abspath.Base(p); got != strings.TrimPrefix(path.Base(p), "/") {
			t.Errorf("base of %q: %q", p, got)
		}
		if p != "/" && abspath.Join(abspath.Parent(p), abspath.Base(p)) != p {
			t.Errorf("%q does not join again", p)
		}
		if got := abspath.Elements(p); "/"+strings.Join(got, "/") != p || slices.Contains(got, "") {
			t.Errorf("elements of %q: %q", p, got)
		}
		if abspath.Contains("", p) {
			t.Errorf("an empty directory contains %q", p)
		}
		for _, q := range samples {
			if want := strings.HasPrefix(q+"/", strings.TrimSuffix(p, "/")+"/"); abspath.Contains(p, q) != want {
				t.Errorf("%q contains %q: not %v", p, q, want)
			}
		}
	}
}

func TestFollow(t *testing.T) {
	links := map[string]string{"/l": "/a/b", "/a/up": "..", "/a/b/out": "../../c", "/loop": "loop",
		"/chain": "l/./out//x/"}
	link := func(at string) (string, error) {
		if at == "/closed" {
			return "", fs.ErrPermission
		}
		return links[at], nil
	}
	for p, want := range map[string]string{
		"/": "/", "/x//./y/": "/x/y", "/l": "/a/b", "/l/..": "/a", "/l/out/d": "/c/d", "/a/up/up": "/up", "/..": "/",
		"/chain/y": "/c/x/y", "/a/../l/x": "/a/b/x",
	} {
		if got, err := abspath.Follow(p, link); got != want || err != nil {
			t.Errorf("%q leads to %q, %v; want %q", p, got, err, want)
		}
	}
	for p, want := range map[string]error{"/loop/x": syscall.ELOOP, "/closed/x": fs.ErrPermission} {
		if got, err := abspath.Follow(p, link); got != "" || err != want {
			t.Errorf("%q leads to %q, %v; want %v", p, got, err, want)
		}
	}
}
