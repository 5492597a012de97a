package worker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/files"
	"sandboxd/files/filestest"
)

// The number of steps made follows from the content under all names, from times where contents are
// equal, and holds after another process's change to one of them (R-FS-04).
func TestSettle(t *testing.T) {
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	// A tree is written "NAME CONTENT", with a * for a file that is an hour old, or
	// "NAME =OTHER" for another name of one.
	plant := func(b *filestest.Bench, tree []string) {
		for _, line := range tree {
			name, text, _ := strings.Cut(line, " ")
			if other, ok := strings.CutPrefix(text, "="); ok {
				must(t, os.Link(filepath.Join(b.Root, other), filepath.Join(b.Root, name)))
				continue
			}
			content, aged := strings.CutSuffix(text, "*")
			b.Write(name, content)
			full := filepath.Join(b.Root, name)
			must(t, os.Chmod(full, 0o644))
			if aged {
				must(t, os.Chtimes(full, old, old))
			}
		}
	}
	absent := files.State{Kind: files.Absent}
	for _, c := range []struct {
		name  string
		steps func(at func(name string) string, file func(text string) files.State) []files.Step
		tree  []string
		made  int
		left  string // the names that are there afterwards
	}{
		{"nothing of two", puts, []string{"a 1*", "b 1*"}, 0, "a b"},
		{"one of two", puts, []string{"a 2", "b 1*"}, 1, "a b"},
		{"both", puts, []string{"a 2", "b 2"}, 2, "a b"},
		{"the first is somebody else's, the second made", puts, []string{"a other", "b 2"}, 2, "a b"},
		{"the first is somebody else's, the second not made", puts, []string{"a other", "b 1*"}, 1, "a b"},
		{"the second is somebody else's, the first made", puts, []string{"a 2", "b other"}, 2, "a b"},
		{"the second is somebody else's, the first not made", puts, []string{"a 1*", "b other"}, 0, "a b"},
		{"the second alone looks made", puts, []string{"a 1*", "b 2"}, 0, "a b"},

		{"renamed and filled again with the same: nothing", back, []string{"b 1*"}, 0, "b"},
		{"renamed and filled again with the same: renamed", back, []string{"a 1*"}, 1, "a"},
		{"renamed and filled again with the same: both", back, []string{"a 1*", "b 1"}, 2, "a b"},

		{"onto the same content: nothing", over("1"), []string{"a 1*", "b 1"}, 0, "a b"},
		{"onto the same content: exchanged", over("1"), []string{"a 1", "b 1*"}, 1, "b"},
		{"onto the same content: made", over("1"), []string{"b 1*"}, 1, "b"},
		{"onto other content: nothing", over("2"), []string{"a 1*", "b 2"}, 0, "a b"},
		{"onto other content: exchanged", over("2"), []string{"a 2", "b 1*"}, 1, "b"},
		{"onto other content, the old name somebody else's", over("2"), []string{"a other", "b 1*"}, 1, "a b"},
		{"no name is taken away on a guess", over("1*"), []string{"a 1*", "b 1*"}, 0, "a b"},

		{"linked for a move, the old name not taken away", func(at func(string) string, file func(string) files.State) []files.Step {
			return []files.Step{{Kind: files.RenameStep, Path: at("a"), To: at("b"), Before: file("1*"), After: absent}}
		}, []string{"a 1*", "b =a"}, 1, "b"},
		{"linked into place, the temporary name not taken away", func(at func(string) string, file func(string) files.State) []files.Step {
			return []files.Step{{Kind: files.PutStep, Path: at("a"), Before: absent, After: file("1"), Temp: ".sandboxd-1.tmp"}}
		}, []string{"a 1", ".sandboxd-1.tmp =a"}, 1, "a"},
		{"linked to be removed, neither name taken away", func(at func(string) string, file func(string) files.State) []files.Step {
			return []files.Step{{Kind: files.RemoveStep, Path: at("a"), Before: file("1*"), After: absent, Temp: ".sandboxd-1.tmp"}}
		}, []string{"a 1*", ".sandboxd-1.tmp =a"}, 0, "a"},

		{"the same content again: nothing", func(at func(string) string, file func(string) files.State) []files.Step {
			return []files.Step{{Kind: files.PutStep, Path: at("a"), Before: file("1*"), After: file("1")}}
		}, []string{"a 1*"}, 0, "a"},
		{"the same content again: made", func(at func(string) string, file func(string) files.State) []files.Step {
			return []files.Step{{Kind: files.PutStep, Path: at("a"), Before: file("1*"), After: file("1")}}
		}, []string{"a 1"}, 1, "a"},
		{"folders on the way", func(at func(string) string, file func(string) files.State) []files.Step {
			dir := files.State{Kind: files.Dir}
			return []files.Step{
				{Kind: files.MkdirStep, Path: at("d"), Before: absent, After: dir},
				{Kind: files.MkdirStep, Path: at("d/e"), Before: absent, After: dir},
				{Kind: files.RenameStep, Path: at("a"), To: at("d/e/a"), Before: file("1*"), After: absent},
			}
		}, []string{"a 1*", "d/x other"}, 1, "a d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := filestest.New(t, filestest.Options{})
			plant(b, c.tree)
			steps := c.steps(func(name string) string { return filepath.Join(b.Root, name) }, func(text string) files.State {
				content, aged := strings.CutSuffix(text, "*")
				s := files.State{
					Kind: files.File, Mode: 0o644, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
					Size: int64(len(content)), Hash: files.Sum([]byte(content)),
				}
				if aged {
					s.ModTime = old.UnixNano()
				}
				return s
			})
			ctx, cancel := b.Context()
			defer cancel()
			made, err := b.Client.Settle(ctx, steps)
			must(t, err)
			entries, err := os.ReadDir(b.Root)
			must(t, err)
			var left []string
			for _, e := range entries {
				left = append(left, e.Name())
			}
			if got := strings.Join(left, " "); made != c.made || got != c.left {
				t.Errorf("%d steps made and %q there, not %d and %q", made, got, c.made, c.left)
			}
		})
	}
}

func puts(at func(string) string, file func(string) files.State) []files.Step {
	return []files.Step{
		{Kind: files.PutStep, Path: at("a"), Before: file("1*"), After: file("2")},
		{Kind: files.PutStep, Path: at("b"), Before: file("1*"), After: file("2")},
	}
}

// back is the undoing of a move of a onto b, which held the same.
func back(at func(string) string, file func(string) files.State) []files.Step {
	absent := files.State{Kind: files.Absent}
	return []files.Step{
		{Kind: files.RenameStep, Path: at("b"), To: at("a"), Before: file("1*"), After: absent},
		{Kind: files.PutStep, Path: at("b"), Before: absent, After: file("1")},
	}
}

// over is a move of a onto b, which held text.
func over(text string) func(func(string) string, func(string) files.State) []files.Step {
	return func(at func(string) string, file func(string) files.State) []files.Step {
		displaced := file(text)
		return []files.Step{{
			Kind: files.RenameStep, Path: at("a"), To: at("b"), Before: file("1*"), Displaced: &displaced,
			After: files.State{Kind: files.Absent},
		}}
	}
}
