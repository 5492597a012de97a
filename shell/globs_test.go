package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// R-SH-03: a glob with character classes runs as it was written, or asks.
func TestCharacterClasses(t *testing.T) {
	needBwrap(t)
	dir := workspace(t)
	for _, name := range []string{"Makefile", "README", "x1", "u", "p:", "7up", "[", "upper]x", "_a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tool := newTool(t, shell.Config{})
	judge := func(line string) shell.Verdict {
		v, _ := facts.Judge(context.Background(), tool,
			shell.Command{Line: line, Cwd: dir, Project: dir, Home: "/nosuch"}, facts.Options{})
		return v
	}
	for _, line := range []string{
		"ls [[:upper:]]*", "ls -d [![:upper:]]*", "ls -d [^[:lower:]]*", "wc -l [[:digit:][:upper:]_]*",
		"wc -l [a-c[:digit:]]*",
		"wc -l [[:alpha:]][[:digit:]]",
		"cat [[:upper:]]\"\"*", "wc -l [:upper:]*",
		"wc -l [[:upper:]", "echo ./[[:punct:]]*", "ls [[:space:]]*; wc -l [\"[:upper:]\"]*",
		"echo sr[[:lower:]]/*.go",
	} {
		v := judge(line)
		if v.Decision != shell.Auto {
			t.Errorf("%q is %s: %s", line, v.Decision, v.Why)
			continue
		}
		want, wantCode := inside(t, dir, nil, "/bin/bash", "--noprofile", "--norc", "-c", line)
		if got, code := runs(t, dir, v); got != want || code != wantCode {
			t.Errorf("%q printed (%d)\n%s\nbut what runs for it, %+v, printed (%d)\n%s", line, wantCode, want, v.Run, code, got)
		}
	}
	if err := os.Symlink("/etc/shadow", filepath.Join(dir, "Zlink")); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"ls [[.a.]]*", "ls [[=a=]]*", "ls [[:nope:]]*", "ls [[:up\"p\"er:]]*", "ls [[:\\upper:]]*",
		"cat Z[[:lower:]]*", "cat [[:upper:]]*", "cat /etc/[[:lower:]]hadow",
		"cat ~/.ssh/i[[:lower:]]_rsa",
	} {
		if v := judge(line); v.Decision != shell.Ask {
			t.Errorf("%q is %s and runs %+v", line, v.Decision, v.Run)
		}
	}
}
