package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// ignoresOf are the rules of the repository of a work tree.
func ignoresOf(t *testing.T, dir string) (*Ignores, error) {
	t.Helper()
	repos, err := Find(Disk, dir)
	must(t, err)
	return Reader{Host: Disk}.Ignores(repos[0])
}

// TestIgnoresLikeGit compares the files that random rules ignore with those that git ls-files lists.
func TestIgnoresLikeGit(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	run(t, dir, "init", "-q")
	files := []string{"a", "b.log", "ab", "x y", "x ", "#c", "!d", "*", "é", "c/a", "c/b.log", "c/a.d/b", "c/c/c/a",
		"a.d/b/c",
		"a.d/ab", "build/a", "build/c/b.log", "c/build/x", "[a", `c/\`}
	for _, f := range files {
		write(t, filepath.Join(dir, f), "")
	}
	line := rapid.Custom(func(t *rapid.T) string {
		word := rapid.SampledFrom([]string{"a", "b", "c", ".log", ".d", "build", "*", "*", "?", "[ab]", "[!a-b]",
			"[^[:alpha:]]",
			"[]a]", "[a", "[", `\`, `\*`, " ", `\ `, "#", "!", "x", "é", "[é]", "[a\\]", "[a-"})
		text := strings.Join(rapid.SliceOfN(word, 1, 3).Draw(t, "words"), "")
		join := rapid.SampledFrom([]string{"", "", "/", "/**/", "/*/"})
		if j := join.Draw(t, "join"); j != "" {
			text += j + strings.Join(rapid.SliceOfN(word, 0, 2).Draw(t, "more"), "")
		}
		begin := rapid.SampledFrom([]string{"", "", "!", "/", "**/", "!/", "#"}).Draw(t, "begin")
		return begin + text + rapid.SampledFrom([]string{"", "", "/", "/**", "\r", "  ", "\t"}).Draw(t, "end")
	})
	compared := 0
	rapid.Check(t, func(rt *rapid.T) {
		for _, name := range []string{".gitignore", "c/.gitignore", ".git/info/exclude"} {
			lines := rapid.SliceOfN(line, 0, 3).Draw(rt, name)
			write(t, filepath.Join(dir, name), strings.Join(lines, "\n"))
		}
		g, err := ignoresOf(t, dir)
		var ours []string
		for _, f := range files {
			var top string
			if err == nil {
				top, err = g.Top(f, false)
			}
			if top != "" {
				ours = append(ours, f)
			}
		}
		if errors.Is(err, errOddGlob) {
			return
		}
		must(t, err)
		theirs := strings.Split(run(t, dir, "ls-files", "-o", "-i", "--exclude-standard", "-z"), "\x00")
		theirs = slices.DeleteFunc(theirs, func(f string) bool { return !slices.Contains(files, f) })
		slices.Sort(ours)
		if slices.Sort(theirs); !slices.Equal(ours, theirs) {
			rt.Fatalf("ignored: %q, by git %q", ours, theirs)
		}
		compared++
	})
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

// TestIgnoredTop wants the topmost ignored directory in which nothing is tracked, and no rule beyond a repository.
func TestIgnoredTop(t *testing.T) {
	dir := repo(t)
	write(t, filepath.Join(dir, ".gitignore"), "*.log\n/out/\ncache\nkept\n")
	write(t, filepath.Join(dir, "kept/tracked"), "")
	run(t, dir, "add", "-f", "kept/tracked")
	run(t, dir, "init", "-q", "nested")
	check := func() {
		t.Helper()
		g, err := ignoresOf(t, dir)
		must(t, err)
		for _, c := range []struct {
			at   string
			dir  bool
			want string
		}{
			{"x.log", false, "x.log"}, {"sub/x.log/y", false, "sub/x.log"}, {"out", false, ""}, {"out", true, "out"},
			{"out/a/b", false, "out"}, {"sub/out/a", false, ""}, {"sub/cache/a/b.log", true, "sub/cache"},
			{"kept", true, ""},
			{"kept/other", false, ""}, {"kept/tracked", false, ""}, {"nested/x.log", false, ""},
			{".git/x.log", false, ""},
			{"a.x", false, ""}, {".", true, ""}, {"../x.log", false, ""}, {"cache/.git/config", false, "cache"},
		} {
			if got, err := g.Top(c.at, c.dir); got != c.want || err != nil {
				t.Errorf("%q: %q, %v, want %q", c.at, got, err, c.want)
			}
		}
	}
	check()
	for _, version := range []int{3, 4} {
		run(t, dir, "update-index", "--index-version", fmt.Sprint(version))
		check()
	}
	run(t, dir, "update-index", "--split-index")
	check()
	must(t, os.Symlink(".gitignore", filepath.Join(dir, "sub.gitignore")))
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	must(t, os.Rename(filepath.Join(dir, "sub.gitignore"), filepath.Join(dir, "sub/.gitignore")))
	for _, at := range []string{"sub/x.log", "sub/a"} {
		if g, _ := ignoresOf(t, dir); g == nil {
			t.Error("no rules")
		} else if top, err := g.Top(at, false); top != "" || err == nil {
			t.Errorf("beside a link %q: %q, %v", at, top, err)
		}
	}
}
