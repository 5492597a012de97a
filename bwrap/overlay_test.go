package bwrap_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sandboxd/bwrap"
	"sandboxd/profile"
)

// R-LY-01: an overlay has the place of the mount of its path; what is hidden in it is hidden above it, and nothing of
// the host's own tree is mounted in it.
func TestWithOverlay(t *testing.T) {
	host := bwrap.Host{Version: bwrap.OverlaySince, Descriptor: 5,
		FS: tree("/p/", "/p/a/", "/p/a/secret", "/p/a/dir/", "/p/docs/", "/other/")}
	compile := func(rules ...profile.Rule) bwrap.Result {
		t.Helper()
		r, err := bwrap.Compile(mustNew(t, append(rules, allow(rwx, "/other"))...), nil, host)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	hides := []profile.Rule{allow(rwx, "/p"), rule(profile.Hide, "/p/a/secret"), rule(profile.Hide, "/p/a/dir")}
	const masks = " --perms 0000 --tmpfs /p/a/dir --perms 0000 --ro-bind-data 5 /p/a/secret --remount-ro /p/a/dir"
	for _, c := range []struct {
		name    string
		rules   []profile.Rule
		overlay bwrap.Overlay
		want    string // options from the overlay's on, or the error
		refused bool
	}{
		{"a layer", hides, bwrap.Overlay{Path: "/p", Upper: "/s/u", Work: "/s/w"},
			"--overlay-src /p --overlay /s/u /s/w /p" + masks, false},
		{"above held ones", hides, bwrap.Overlay{Path: "/p", Upper: "/s/u", Work: "/s/w", Above: []string{"/s/2", "/s/1"}},
			"--overlay-src /p --overlay-src /s/1 --overlay-src /s/2 --overlay /s/u /s/w /p" + masks, false},
		{"read-only", []profile.Rule{allow(rx, "/p")}, bwrap.Overlay{Path: "/p", Above: []string{"/s/2", "/s/1"}},
			"--overlay-src /p --overlay-src /s/1 --overlay-src /s/2 --ro-overlay /p", false},
		{"a read-only directory in it", []profile.Rule{allow(rwx, "/p"), allow(rx, "/p/docs")},
			bwrap.Overlay{Path: "/p", Upper: "/s/u", Work: "/s/w"}, `can't mount "/p/docs" of the layer`, true},
		{"a writable directory in it", []profile.Rule{allow(rx, "/p"), allow(rwx, "/p/docs")},
			bwrap.Overlay{Path: "/p", Above: []string{"/s/1"}}, `can't mount "/p/docs" of the layer`, true},
		{"one that can't be written", []profile.Rule{allow(rx, "/p")},
			bwrap.Overlay{Path: "/p", Upper: "/s/u", Work: "/s/w"}, "no such mount", true},
		{"one that is not mounted", hides, bwrap.Overlay{Path: "/p/a", Upper: "/s/u", Work: "/s/w"}, "no such mount", true},
		{"more than a page of options", hides, bwrap.Overlay{Path: "/p", Upper: "/s/u", Work: "/s/w",
			Above: slices.Repeat([]string{"/" + strings.Repeat(",", 100)}, 20)}, "20 layers", true},
	} {
		made := compile(c.rules...)
		before := fmt.Sprint(made.Args)
		r, err := made.WithOverlay(c.overlay)
		if fmt.Sprint(made.Args) != before {
			t.Errorf("%s: the result without the overlay is another one", c.name)
		}
		if c.refused {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
			continue
		}
		got := strings.Join(r.Args, " ")
		if i := strings.Index(got, "--overlay-src"); err != nil || i < 0 || !strings.HasPrefix(got[i:], c.want) ||
			strings.Contains(got, "bind /p") || !strings.Contains(got[:i], "--bind /other /other ") {
			t.Errorf("%s: %v\n%s\nwant from the overlay on\n%s", c.name, err, got, c.want)
		}
	}
}
