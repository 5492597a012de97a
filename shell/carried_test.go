package shell_test

import (
	"strings"
	"testing"

	"sandboxd/shell"
)

// R-SH-02 R-SH-06: a preset, a wildcard and a yes to "make *" are about the project's code, not about code, or another
// program, that the words bring along.
func TestWordsThatCarryCode(t *testing.T) {
	here := func(line string) shell.Command {
		return shell.Command{Line: line, Cwd: "/src/app", Project: "/src/app", Home: "/home/eve"}
	}
	presets := newTool(t, shell.Config{Presets: []string{"go", "node", "python", "rust", "c", "jvm"}})
	python, err := shell.ParsePermission("Bash(python3 *.py)")
	if err != nil {
		t.Fatal(err)
	}
	allowed := newTool(t, shell.Config{Permissions: shell.Permissions{Allow: []shell.Permission{python}}})
	for _, c := range []struct {
		tool *shell.Tool
		line string
		want shell.Decision
	}{
		{presets, "make V=1 -j4", shell.Auto},
		{presets, "MAKEFLAGS=-j4 make", shell.Auto},
		{presets, "make 'x!=rm -rf src'", shell.Ask},
		{presets, "MAKEFLAGS='x!=y' make", shell.Ask},
		{presets, "PYTEST_ADDOPTS='-p evil' pytest", shell.Ask},
		{presets, "TS_NODE_COMPILER=./evil npx mocha", shell.Ask},
		{presets, "MAKEFLAGS='--eval=$(shell y)' make", shell.Ask},
		{presets, "go test -exec 'sh -c y' ./...", shell.Ask},
		{presets, "timeout 60 go test -exec 'sh -c y' ./...", shell.Ask},
		{presets, "gcc -wrapper sh,-c,y a.c", shell.Ask},
		{presets, "cargo test --config 'target.\"cfg(all())\".runner=[\"sh\",\"-c\",\"y\"]'", shell.Ask},
		{presets, "node --test --import data:text/javascript,y", shell.Ask},
		{presets, "python3 scripts/gen.py -c y", shell.Auto},
		{presets, "python3 '-cimport os; os.remove(\"a\")#.py'", shell.Ask},
		{presets, "node --import=data:text/javascript,y//.js", shell.Ask},
		{allowed, "python3 a.py", shell.Auto},
		{allowed, "python3 '-cimport os; os.remove(\"a\")#.py'", shell.Ask},
	} {
		if v := judgePlain(c.tool, here(c.line)); v.Decision != c.want {
			t.Errorf("%q: %v, want %v: %s [%s]", c.line, v.Decision, c.want, v.Why, v.Rule)
		}
	}
	plain := newTool(t, shell.Config{})
	var grant *shell.Suggestion
	for _, s := range judgePlain(plain, here("make all")).Suggestions {
		if strings.HasPrefix(s.Label, "make *") {
			grant = &s
		}
	}
	if grant == nil {
		t.Fatal("make *, is not suggested")
	}
	for line, want := range map[string]bool{"make clean": true, "make V=1": true, "make 'x!=y'": false,
		"make SHELL=./y": false, "make 'x=$(shell y)'": false} {
		if got := grant.Pattern.Matches("bash", judgePlain(plain, here(line)).Payload); got != want {
			t.Errorf("a yes to %q covers %q: %v, want %v", grant.Label, line, got, want)
		}
	}
}
