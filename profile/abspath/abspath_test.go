package abspath_test

import (
	"path"
	"slices"
	"strings"
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
