package shell_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"sandboxd/shell"
	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// seedLines are the catalogue and some generated lines.
func seedLines(t testing.TB) []string {
	var out []string
	for _, c := range catalogue(t) {
		if len(c.Command) < 4096 {
			out = append(out, c.Command)
		}
	}
	return append(out, lines(7, 300)...)
}

var fuzzTool = func() *shell.Tool {
	tool, err := shell.New(shell.Config{Presets: []string{"go", "git"},
		Permissions: shell.Permissions{Deny: []shell.Permission{must(shell.ParsePermission("Bash(curl *)"))},
			Allow: []shell.Permission{must(shell.ParsePermission("Bash(npm test)"))}}})
	if err != nil {
		panic(err)
	}
	return tool
}()

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func decide(line string) shell.Verdict {
	return judgePlain(fuzzTool, shell.Command{Line: line, Cwd: "/p", Project: "/p", Home: "/home/eve"})
}

// FuzzJudge: no panic, an end in time, and an honest verdict.
func FuzzJudge(f *testing.F) {
	for _, l := range seedLines(f) {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var v shell.Verdict
		if d := least(1, func() {
			v = fuzzTool.Judge(shell.Command{Line: line, Cwd: "/p", Project: "/p"},
				shell.Facts{})
		}); d > 50*time.Millisecond*slower {
			if d = least(3, func() {
				fuzzTool.Judge(shell.Command{Line: line, Cwd: "/p", Project: "/p"},
					shell.Facts{})
			}); d > 50*time.Millisecond*slower {
				t.Errorf("judging %d bytes takes %v", len(line), d)
			}
		}
		v = decide(line)
		honest(t, line, v)
	})
}

// honest checks what must hold of every verdict.
func honest(t *testing.T, line string, v shell.Verdict) {
	t.Helper()
	if v.Description == "" || v.Why == "" || len(v.NeedsFacts) > 0 {
		t.Errorf("%q: description %q, why %q, facts %v", line, v.Description, v.Why, v.NeedsFacts)
	}
	if v.Decision != shell.Auto {
		if v.Run.Argv != nil || v.Run.Script != "" || len(v.Env) > 0 {
			t.Errorf("%q is %s and has something to run: %+v", line, v.Decision, v.Run)
		}
		return
	}
	if (v.Run.Argv == nil) == (v.Run.Script == "") {
		t.Fatalf("%q is auto and runs %+v", line, v.Run)
	}
	if v.Danger || v.Protected || v.Hidden || v.Outside {
		t.Errorf("%q is auto, with warnings %v", line, v.Warnings())
	}
	if v.Run.Script == "" {
		return
	}
	// Our own writing reads back as what was judged: no doubt, all literal but
	// for values that are only printed or are a status, and those that the line itself produces for
	// commands that only read.
	s := analysis.Line(v.Run.Script, analysis.Place{Cwd: "/p"})
	if len(s.Doubts) > 0 {
		t.Errorf("%q is written as %q, which has doubts: %v", line, v.Run.Script, s.Doubts)
	}
	for _, c := range s.Calls {
		for _, w := range c.Args {
			shown := w.Kind == analysis.Shown && slices.Contains([]string{"echo", "printf", "test", "[", "exit"}, c.Name())
			use, _ := safelist.Match(c.Args)
			derived := w.Kind == analysis.Derived && use != nil
			if w.Kind != analysis.Literal && w.Kind != analysis.Glob && !shown && !derived {
				t.Errorf("%q is written as %q, where %q is not literal", line, v.Run.Script, w.Source)
			}
		}
	}
	again := decide(v.Run.Script)
	if again.Decision != shell.Auto {
		t.Errorf("%q is written as %q, which asks: %s", line, v.Run.Script, again.Why)
	}
}

// wraps put a whole line into something larger.
var wraps = []struct{ before, after string }{
	{"", "\nls"}, {"ls\n", ""}, {"ls; ", ""}, {"( ", "\n)"}, {"{ ", "\n}"}, {"if true; then ", "\nfi"},
	{"if ", "\nthen ls; fi"}, {"for unused in a; do ", "\ndone"}, {"while ", "\ndo ls; done"},
	{"f() { ", "\n}; f"}, {"ls | { ", "\n}"}, {"{ ", "\n} | cat"}, {"true && { ", "\n}"}, {"! { ", "\n}"},
	{"time { ", "\n}"}, {"echo \"$( ", "\n)\""},
}

// wrapsSimple go in front of one simple command.
var wrapsSimple = []string{"env ", "env A=b ", "timeout 5 ", "nice ", "command ", "exec ", "sudo ", "nohup ", "xargs ",
	"! ", "time "}

// FuzzMonotone: adding a segment or a wrapper never turns ask into auto.
func FuzzMonotone(f *testing.F) {
	for _, l := range seedLines(f) {
		f.Add(l)
	}
	f.Fuzz(monotone)
}

func monotone(t *testing.T, line string) {
	if len(line) > 8<<10 || !whole(line) || decide(line).Decision == shell.Auto {
		return
	}
	for _, w := range wraps {
		if v := decide(w.before + line + w.after); v.Decision == shell.Auto {
			t.Errorf("%q asks, but %q is auto: %s", line, w.before+line+w.after, v.Run.Script)
		}
	}
	if s := analysis.Line(line, analysis.Place{Cwd: "/p"}); len(s.Calls) == 1 && len(s.Calls[0].Assigns) == 0 &&
		!strings.ContainsAny(line, "!{([") {
		for _, w := range wrapsSimple {
			if v := decide(w + line); v.Decision == shell.Auto {
				t.Errorf("%q asks, but %q is auto: %+v", line, w+line, v.Run)
			}
		}
	}
	blocked := decide(line).Decision == shell.Block
	if v := decide("ls\n" + line); blocked && v.Decision != shell.Block {
		t.Errorf("%q is blocked, but not behind ls: %s", line, v.Decision)
	}
}

// whole says that a text is a line of its own, so that text put around it does
// not change what it means: it parses, and nothing at its end reaches out.
func whole(line string) bool {
	if strings.HasSuffix(line, "\\") || strings.Contains(line, "<<") || strings.TrimSpace(line) == "" ||
		strings.HasPrefix(strings.TrimSpace(line), "=") {
		return false
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	return err == nil && len(file.Stmts) > 0
}

// R-SH-02: the same, over the catalogue and generated lines.
func TestMonotone(t *testing.T) {
	for _, l := range append(seedLines(t), lines(99, 1500)...) {
		monotone(t, l)
	}
}

// R-SH-02: what must hold of every verdict, over generated lines.
func TestHonest(t *testing.T) {
	for _, l := range append(seedLines(t), lines(5, 3000)...) {
		honest(t, l, decide(l))
	}
}

// FuzzArgv: a command without a shell is judged by its words alone.
func FuzzArgv(f *testing.F) {
	f.Add("ls", "-la", "a")
	f.Add("bash", "-lc", "ls; touch x")
	f.Add("env", "A=b", "git")
	f.Add("git", "diff", "--output=x")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		v := judgePlain(fuzzTool, shell.Command{Argv: []string{a, b, c}, Cwd: "/p", Project: "/p"})
		if v.Decision == shell.Auto && v.Run.Argv == nil && v.Run.Script == "" {
			t.Errorf("%q is auto and runs nothing", []string{a, b, c})
		}
		if v.Decision == shell.Auto && v.Run.Argv != nil && !slices.Contains([]string{"bash", "sh"}, a) &&
			len(v.Run.Argv) < 3 {
			t.Errorf("%q became %q", []string{a, b, c}, v.Run.Argv)
		}
	})
}
