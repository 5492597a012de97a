package pattern

import (
	"strings"
	"testing"
	"time"
)

func words(text string) []Word {
	var out []Word
	for _, w := range strings.Fields(text) {
		kind := Literal
		switch {
		case strings.HasPrefix(w, "$"):
			w, kind = "", Unknown
		case strings.ContainsAny(w, "*?"):
			kind = Glob
		}
		out = append(out, Word{w, kind})
	}
	return out
}

// R-SH-05: what a word pattern permits and what it names.
func TestWords(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		more             bool
		sub              int
		permits          bool
		names            Answer
	}{
		{"git status", "git status", false, 0, true, Yes},
		{"git status", "git status -s", false, 0, false, No},
		{"git status *", "git status -s", false, 0, true, Yes},
		{"git status", "git status -s", true, 0, true, Yes},
		{"git push", "/usr/bin/git push", true, 0, false, Yes},
		{"git push", "git -C d push x", true, 3, false, Yes},
		{"git push", "git -C d push x", true, 0, false, Maybe},
		{"yarn add", "yarn --cwd x add y", true, 0, false, Maybe},
		{"yarn add", "yarn --cwd x why add", true, 0, false, No},
		{"git push", "git $x", true, 0, false, Maybe},
		{"rm", "rm -r x", false, 0, false, Yes},
		{"rm -rf", "rm x -r -f", true, 0, false, Yes},
		{"rm -rf", "rm x -r -- -f", true, 0, false, No},
		{"rm --force", "rm --forc x", true, 0, false, Yes},
		{"python *.py", "python a/b.py", false, 0, true, Yes},
		{"python *.py", "python -cCODE.py", false, 0, false, Yes},
		{"cat src/*", "cat src/../x", false, 0, false, Yes},
		{"rm app/[id]/*", "rm app/[id]/x", false, 0, false, Yes},
		{"rm app/[id]/*", "rm app/i/x", false, 0, true, Yes},
		{"*cat x", "/bin/cat x", false, 0, false, Yes},
	} {
		w, err := NewWords(c.pattern, words(c.pattern), c.more)
		if err != nil {
			t.Fatal(err)
		}
		args := words(c.command)
		if got := w.Permits(args); got != c.permits {
			t.Errorf("%q permits %q: got %v, want %v", c.pattern, c.command, got, c.permits)
		}
		if got := w.Names(Command{args, c.sub}); got != c.names {
			t.Errorf("%q names %q: got %v, want %v", c.pattern, c.command, got, c.names)
		}
	}
	if _, err := NewWords("$x", words("$x"), false); err == nil {
		t.Error("a word that is not literal: got a pattern, want an error")
	}
}

// A pattern of a project's file costs little, whatever it is.
func TestWildIsQuick(t *testing.T) {
	text, start := strings.Repeat("a", 64<<10), time.Now()
	if Wild(strings.Repeat("*a", 30)+"*b", text) {
		t.Error("it matches")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	for p, texts := range map[string][2]string{
		"*": {"", "x"}, "a*b*c": {"abc", "aXbbYc"}, "a?c": {"abc", "a?c"}, "[a-c]*": {"b", "cx"},
		`a\*b`: {"a*b", "a*b"}, "*.go": {"x.go", "a/b.go"}, "a[": {"a[", "a["},
	} {
		for _, s := range texts {
			if !Wild(p, s) {
				t.Errorf("%q does not match %q", p, s)
			}
		}
	}
	for p, s := range map[string]string{"": "x", "a": "", "a*b": "abx", `a\*b`: "axb", "[a-c]": "d", "?": "", "a?": "a"} {
		if Wild(p, s) {
			t.Errorf("%q matches %q", p, s)
		}
	}
}

// FuzzWild: it agrees with a plain recursive matcher, and is never slow.
func FuzzWild(f *testing.F) {
	f.Add("*.md", "docs/a.md")
	f.Add("a?c*", "abc")
	f.Add("****", "")
	f.Add(strings.Repeat("*a", 20), strings.Repeat("a", 30)+"b")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		got := Wild(pattern, s)
		if len(pattern) > 8 || len(s) > 8 || strings.ContainsAny(pattern, `[\`) {
			return
		}
		if want := matchSlowly(pattern, s); got != want {
			t.Fatalf("Wild(%q, %q) = %t, want %t", pattern, s, got, want)
		}
	})
}

func matchSlowly(p, s string) bool {
	switch {
	case p == "":
		return s == ""
	case p[0] == '*':
		return matchSlowly(p[1:], s) || s != "" && matchSlowly(p, s[1:])
	case s == "":
		return false
	}
	return (p[0] == '?' || p[0] == s[0]) && matchSlowly(p[1:], s[1:])
}
