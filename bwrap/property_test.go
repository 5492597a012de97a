package bwrap_test

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"sandboxd/bwrap"
	"sandboxd/profile"
	"sandboxd/profile/profiletest"
)

// world draws a tree in which the universe's paths are directories, files,
// links or absent.
func world(t *rapid.T, u profiletest.Universe) fstest.MapFS {
	host := tree("/proc/", "/dev/null")
	for _, p := range rapid.SliceOfN(u.Path(1), 0, 12).Draw(t, "paths") {
		name := strings.TrimPrefix(p, "/")
		if blocked(host, name) {
			continue
		}
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0:
			host[name] = &fstest.MapFile{Mode: 0o644}
		case 1:
			host[name] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(u.Path(0).Draw(t, "target"))}
		case 2:
			host[name] = &fstest.MapFile{Mode: fs.ModeSocket | 0o755}
		default:
			host[name] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
		}
	}
	return host
}

// blocked reports whether something that is no directory is at or above name,
// or something is below it.
func blocked(host fstest.MapFS, name string) bool {
	for have, f := range host {
		if have == name || strings.HasPrefix(have, name+"/") || strings.HasPrefix(name, have+"/") && !f.Mode.IsDir() {
			return true
		}
	}
	return false
}

// made reports forms that stand on nothing of the host.
func made(f bwrap.Form) bool {
	switch f {
	case bwrap.ReadOnly, bwrap.Writable, bwrap.Pin:
		return false
	}
	return true
}

// TestNothingIsMadeOnTheHost (R-OS-04): for every mount in a tree of the host, its
// destination exists already and no link is on the way (CVE-2026-87766).
// Outer mounts come first, and no path is mounted twice.
func TestNothingIsMadeOnTheHost(t *testing.T) {
	u := profiletest.Tree("/p")
	rapid.Check(t, func(t *rapid.T) {
		host := world(t, u)
		spec := profile.Spec{Rules: u.Nested().Draw(t, "rules")}
		if rapid.Bool().Draw(t, "machine") {
			spec.Rules = append(spec.Rules, allow(rapid.SampledFrom([]profile.Access{r, rwx}).Draw(t, "access"), "/"))
		}
		p, err := profile.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		result, err := bwrap.Compile(p, nil, bwrap.Host{Version: bwrap.Version{Minor: 8}, FS: host, Euid: 1000,
			Descriptor: 3})
		if err != nil {
			t.Fatal(err)
		}
		mounted := map[string]bwrap.Form{}
		for _, m := range result.Layout {
			if _, twice := mounted[m.Path]; twice {
				t.Fatalf("%v is mounted twice", m)
			}
			if above, form := around(mounted, m.Path); m.Path != "/" && !made(form) {
				if err := real(host, m.Path); err != nil {
					t.Fatalf("%v in the %v %s: %v\n%s", m, form, above, err, layout(result))
				}
			}
			mounted[m.Path] = m.Form
		}
	})
}

// around returns the innermost mount above path.
func around(mounted map[string]bwrap.Form, at string) (string, bwrap.Form) {
	for at != "/" {
		at = path.Dir(at)
		if form, ok := mounted[at]; ok {
			return at, form
		}
	}
	return "/", mounted["/"]
}

// real fails unless path exists and none of its components is a link.
func real(host fstest.MapFS, at string) error {
	for p := at; p != "/"; p = path.Dir(p) {
		info, err := host.Lstat(p[1:])
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return errors.New("a link is on the way")
		}
	}
	return nil
}

// TestCompileIsPure: the same question has the same answer, and layers in
// another order have, too.
func TestCompileIsPure(t *testing.T) {
	u := profiletest.Tree("/p")
	rapid.Check(t, func(t *rapid.T) {
		host := world(t, u)
		draw := func(label string) profile.Profile {
			p, err := profile.New(profile.Spec{Rules: u.Nested().Draw(t, label)})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		a, b := draw("a"), draw("b")
		result := func(p profile.Profile, extra ...profile.Profile) string {
			r, err := bwrap.Compile(p, extra, bwrap.Host{Version: bwrap.Version{Minor: 8}, FS: host, Euid: 1000, Descriptor: 3})
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(r.Args, "\n")
		}
		want := result(a, b)
		for name, got := range map[string]string{
			"again": result(a, b), "turned round": result(b, a), "with their intersection": result(a.Intersect(b), a, b),
		} {
			if got != want {
				t.Fatalf("%s:\n%s\nwant\n%s", name, got, want)
			}
		}
	})
}
