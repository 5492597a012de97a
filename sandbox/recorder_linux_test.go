package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandboxd/bwrap"
	"sandboxd/profile"
	"sandboxd/watch"
)

// R-OS-02: a cached compilation is never used if compiling again would give
// another result, whatever changed in between.
func TestCompiledAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(root string)
		change func(root string)
		differ bool
	}{
		{"nothing", nil, func(string) {}, false},
		{"a protected name appears", nil, func(r string) { put(t, r, "app/.git/hooks/x") }, true},
		{"a protected name appears in a folder", func(r string) { put(t, r, "app/sub/a") }, func(r string) { put(t, r, "app/sub/.git/hooks/x") }, true},
		{"a protected name appears deep in folders", func(r string) { put(t, r, "app/a/b/c/d") }, func(r string) { put(t, r, "app/a/b/c/.git/hooks/x") }, true},
		{"a folder deep in folders is exchanged", func(r string) { put(t, r, "app/a/b/c/d"); put(t, r, "n/c/.git/hooks/x") }, func(r string) { os.Rename(r+"/app/a/b", r+"/old"); os.Rename(r+"/n", r+"/app/a/b") }, true},
		{"a folder above is exchanged", func(r string) { put(t, r, "app/a/b/c/d"); put(t, r, "n/a/b/c/.git/hooks/x") }, func(r string) { os.Rename(r+"/app", r+"/old"); os.Rename(r+"/n", r+"/app") }, true},
		{"a protected name goes", func(r string) { put(t, r, "app/.git/hooks/x") }, func(r string) { os.RemoveAll(r + "/app/.git") }, true},
		{"a protected name appears in one of two folders", func(r string) { put(t, r, "app/a/b"); put(t, r, "app/c/.git/hooks/x") }, func(r string) { put(t, r, "app/a/.git/hooks/x") }, true},
		{"a folder appears in the place of a file", func(r string) { put(t, r, "app/a/.git") }, func(r string) { os.Remove(r + "/app/a/.git"); put(t, r, "app/a/.git/hooks/x") }, true},
		{"a hidden file appears", nil, func(r string) { put(t, r, "app/secret") }, true},
		{"a hidden file becomes a folder", func(r string) { put(t, r, "app/secret") }, func(r string) { os.Remove(r + "/app/secret"); put(t, r, "app/secret/x") }, true},
		{"a folder becomes a link", func(r string) { put(t, r, "other/a") }, func(r string) { os.Rename(r+"/app", r+"/old"); os.Symlink("old", r+"/app") }, true},
		{"a link leads elsewhere", func(r string) { put(t, r, "l1/x"); put(t, r, "l2/x"); os.Symlink("l1", r+"/link") }, func(r string) { os.Remove(r + "/link"); os.Symlink("l2", r+"/link") }, true},
		{"a hidden file goes", func(r string) { put(t, r, "app/secret") }, func(r string) { os.Remove(r + "/app/secret") }, true},
		{"a protected file gets a second name", func(r string) { put(t, r, "app/guarded") }, func(r string) { os.Link(r+"/app/guarded", r+"/other") }, true},
		{"a folder that was not listed is exchanged", func(r string) { put(t, r, "far/x/z"); put(t, r, "n/y") }, func(r string) { os.Rename(r+"/far/x", r+"/far/old"); os.Rename(r+"/n", r+"/far/x") }, true},
		{"a folder above one that was not listed is exchanged", func(r string) { put(t, r, "far/x/z"); put(t, r, "n/x/y") }, func(r string) { os.Rename(r+"/far", r+"/old"); os.Rename(r+"/n", r+"/far") }, true},
		{"a folder goes and comes back with something", nil, func(r string) { os.Rename(r+"/app", r+"/old"); put(t, r, "old/secret"); os.Rename(r+"/old", r+"/app") }, true},
		{"a hidden name is given a second one", func(r string) { put(t, r, "app/.git/hooks/x") }, func(r string) { put(t, r, "app/b") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			put(t, root, "app/main.go")
			if c.before != nil {
				c.before(root)
			}
			time.Sleep(2 * watch.Settling) // until the times of folders are sure
			p, err := profile.New(profile.Spec{Rules: []profile.Rule{
				{Kind: profile.Allow, Path: "/usr", Access: profile.Read | profile.Exec},
				{Kind: profile.Allow, Path: root + "/app", Access: profile.Read | profile.Write},
				{Kind: profile.Allow, Path: root + "/link", Access: profile.Read},
				{Kind: profile.Protect, Path: root + "/app", Name: ".git/hooks"},
				{Kind: profile.Allow, Path: root + "/far/x/y", Access: profile.Read},
				{Kind: profile.Hide, Path: root + "/app/secret"},
				{Kind: profile.Protect, Path: root + "/app/guarded"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			h := func() *Host {
				set := watch.New()
				t.Cleanup(set.Close)
				return &Host{watch: set, Version: bwrap.Version{Minor: 8}, landlock: 7, report: Report{Layers: []Layer{{Name: "bwrap", Active: true}}}}
			}
			kept := h()
			compile := func(h *Host) *compiled {
				t.Helper()
				made, err := h.compile(Request{Profile: p}, []profile.Profile{p})
				if err != nil {
					t.Fatal(err)
				}
				return made
			}
			first := compile(kept)
			if compile(kept) != first {
				t.Error("it was compiled twice although nothing changed")
			}
			if compile(kept) != first || kept.watch.Watched() > 1 && !first.asked.quiet {
				t.Error("paths without an event are asked every time")
			}
			if kept.watch.Watched() > 1 && !watches(first) {
				t.Error("directories without an event are asked every time")
			}
			c.change(root)
			if got, want := made(compile(kept)), made(compile(h())); got != want {
				t.Error("the cached result is used, and compiling again gives another")
			} else if differ := got != made(first); differ != c.differ {
				t.Errorf("what is compiled differs: %v, want %v: the test tests nothing", differ, c.differ)
			}
		})
	}
}

// made is what matters of a compilation.
func made(c *compiled) string { return c.digest + fmt.Sprint(c.gaps) }

// watches reports whether all directories around the questions are watched.
func watches(c *compiled) bool {
	return !slices.ContainsFunc(c.asked.places, func(p *place) bool {
		return p.state == 0 &&
			!strings.HasPrefix(p.dir, "/sys")
	})
}

func put(t *testing.T, root, name string) {
	t.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
