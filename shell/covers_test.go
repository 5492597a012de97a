package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandboxd/shell"
	"sandboxd/shell/facts"
)

func allowing(t *testing.T, texts ...string) shell.Config {
	t.Helper()
	var c shell.Config
	for _, text := range texts {
		p, err := shell.ParsePermission("Bash(" + text + ")")
		if err != nil {
			t.Fatal(err)
		}
		c.Permissions.Allow = append(c.Permissions.Allow, p)
	}
	return c
}

// beyond is one paragraph of testdata/beyond.txt: the lines that a prefix covers, and those that it does not.
type beyond struct {
	allow        string
	auto, asking []string
}

func beyondTable(t *testing.T) (out []beyond) {
	t.Helper()
	data, err := os.ReadFile("testdata/beyond.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		word, text, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		text = strings.TrimSpace(text)
		switch word {
		case "", "#":
		case "allow":
			out = append(out, beyond{allow: text})
		case "auto":
			out[len(out)-1].auto = append(out[len(out)-1].auto, text)
		case "asks":
			out[len(out)-1].asking = append(out[len(out)-1].asking, text)
		default:
			t.Fatalf("beyond.txt: %q", line)
		}
	}
	return out
}

// ground makes a project with the files that the tests' lines name.
func ground(t *testing.T) string {
	t.Helper()
	dir := workspace(t)
	for name := range strings.FieldsSeq("evil.sh evil.mk run.sh other/run.sh sub/Makefile Makefile scripts/x.sh") {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("other", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func judgeIn(tool *shell.Tool, cwd, root, line string) shell.Verdict {
	cmd := shell.Command{Line: line, Cwd: cwd, Project: root, Home: "/nosuch"}
	v, _ := facts.Judge(context.Background(), tool, cmd, facts.Options{})
	return v
}

// R-SH-01 R-SH-05: a rule or permission covers further words, but for those that bring code, a program or a file along,
// unless it spells them.
func TestWordsBeyondARule(t *testing.T) {
	dir := ground(t)
	for _, c := range beyondTable(t) {
		no := false
		pattern, exact := c.allow, !strings.HasSuffix(c.allow, " *")
		for how, config := range map[string]shell.Config{
			"permission": allowing(t, c.allow),
			"rule":       {Rules: []shell.Rule{{Pattern: pattern, Approval: &no, Exact: exact}}},
		} {
			if how == "rule" && exact && strings.Contains(pattern, "*") {
				continue
			}
			tool := newTool(t, config)
			for _, line := range c.auto {
				if v := judgeIn(tool, dir, dir, line); v.Decision != shell.Auto {
					t.Errorf("%s %q: %q is %s: %s [%s]", how, c.allow, line, v.Decision, v.Why, v.Rule)
				}
			}
			for _, line := range c.asking {
				if v := judgeIn(tool, dir, dir, line); v.Decision == shell.Auto {
					t.Errorf("%s %q: %q runs: %s [%s]", how, c.allow, line, v.Why, v.Rule)
				}
			}
		}
	}
}

// R-SH-01: safe_commands and permissions by the parameter command are about first words, too.
func TestWordsBeyondOtherPrefixes(t *testing.T) {
	dir := ground(t)
	when := permission(t, map[string]any{"tool": "Bash", "when": map[string]any{"command": "frob *"}})
	for name, config := range map[string]shell.Config{
		"safe_commands": {SafeCommands: []string{"frob"}},
		"when":          {Permissions: shell.Permissions{Allow: []shell.Permission{when}}},
	} {
		tool := newTool(t, config)
		for line, want := range map[string]shell.Decision{
			"frob a": shell.Auto, "frob --exec x": shell.Ask, "cd sub && frob a": shell.Ask,
		} {
			if v := judgeIn(tool, dir, dir, line); v.Decision != want {
				t.Errorf("%s: %q is %s: %s", name, line, v.Decision, v.Why)
			}
		}
	}
	// What is for every command is for these.
	all := newTool(t, shell.Config{Permissions: shell.Permissions{Allow: []shell.Permission{{Tool: "Bash", Any: true}}}})
	for _, line := range []string{"make SHELL=x", "cd sub && make", "frob --exec x"} {
		if v := judgeIn(all, dir, dir, line); v.Decision != shell.Auto {
			t.Errorf("Bash: %q is %s: %s", line, v.Decision, v.Why)
		}
	}
}

// R-SH-01 R-SH-05: a rule or permission is for the project's root: what is named by a relative path, or reads its
// directory, is another program elsewhere.
func TestRulesAreForTheRoot(t *testing.T) {
	dir := ground(t)
	config := allowing(t, "./run.sh", "bash ./run.sh", "make *", "npm run *", "pytest *",
		"scripts/x.sh *", "git commit *", "cp *", "python3 a.py", "cd sub && ./run.sh", "frob *")
	no := false
	config.Rules = []shell.Rule{{Pattern: "mill", Approval: &no}}
	at := permission(t, map[string]any{"tool": "Bash(grind)", "when": map[string]any{"cwd": dir + "/other"}})
	config.Permissions.Allow = append(config.Permissions.Allow, at)
	tool := newTool(t, config)
	for _, c := range []struct {
		cwd, line string
		want      shell.Decision
	}{
		{"", "./run.sh", shell.Auto},
		{"", "cd . && ./run.sh", shell.Auto},
		{"", "cd sub && cd .. && ./run.sh", shell.Auto},
		{"", "cd " + dir + " && ./run.sh", shell.Auto},
		{"other", "cd .. && ./run.sh", shell.Auto},
		{"", "cd other && ./run.sh", shell.Ask},
		{"", "cd other; ./run.sh", shell.Ask},
		{"", "(cd other && ./run.sh)", shell.Ask},
		{"", "cd link && ./run.sh", shell.Ask},
		{"", "cd other && bash ./run.sh", shell.Ask},
		{"", "pushd other && ./run.sh", shell.Ask},
		{"", "bash -c 'cd other && ./run.sh'", shell.Ask},
		{"", "env -C other ./run.sh", shell.Ask},
		{"", "cd sub || true; make", shell.Ask},
		{"", "cd sub && make", shell.Ask},
		{"", "cd sub && timeout 5 make", shell.Ask},
		{"", "cd sub && npm run x", shell.Ask},
		{"", "cd sub && pytest", shell.Ask},
		{"", "cd other && python3 a.py", shell.Ask},
		{"", "cd other && mill", shell.Ask},
		{"", "cd other && frob x", shell.Ask},
		{"", "cd $X && make", shell.Ask},
		{"", "cd /tmp && make", shell.Ask},
		{"other", "./run.sh", shell.Ask},
		{"sub", "make", shell.Ask},
		{"other", "mill", shell.Ask},
		{"other", "scripts/x.sh", shell.Ask},
		{"other", "cd sub && ./run.sh", shell.Ask},
		{"", "make", shell.Auto},
		{"", "mill", shell.Auto},
		{"", "cd other && grind", shell.Auto},
		{"other", "grind", shell.Auto},
		{"", "grind", shell.Ask},
		{"", "cd sub && cp a b", shell.Auto},
		{"src", "git commit -m x", shell.Auto},
		{"", "cd src && git commit -m x", shell.Auto},
		{"", "cd nested && git commit -m x", shell.Ask},
	} {
		if c.line == "cd nested && git commit -m x" {
			git(t, dir, "init", "-q", "nested")
		}
		if v := judgeIn(tool, filepath.Join(dir, c.cwd), dir, c.line); v.Decision != c.want {
			t.Errorf("in %q: %q is %s, want %s: %s [%s]", c.cwd, c.line, v.Decision, c.want, v.Why, v.Rule)
		}
	}
	v := judgeIn(tool, dir, dir, "cd other && ./run.sh")
	if !strings.Contains(v.Why, "project's root") || !strings.Contains(v.Why, "other") {
		t.Errorf("the reason names neither the root nor the directory: %s", v.Why)
	}
}

// R-SH-01: a rule with exact = true is for its words alone, whatever it says of them.
func TestExactRules(t *testing.T) {
	no, yes := false, true
	tool := newTool(t, shell.Config{Rules: []shell.Rule{
		{Pattern: "make test", Exact: true, Approval: &no}, {Pattern: "rm", Exact: true, Allowed: &no},
		{Pattern: "frob x", Exact: true, Approval: &yes}, {Pattern: "frob", Approval: &no},
	}})
	for line, want := range map[string]shell.Decision{
		"make test": shell.Auto, "make test lint": shell.Ask, "make": shell.Ask, "rm": shell.Block, "rm a": shell.Ask,
		"frob x": shell.Ask, "frob x y": shell.Auto,
	} {
		if v := judgePlain(tool, shell.Command{Line: line, Cwd: "/p", Project: "/p"}); v.Decision != want {
			t.Errorf("%q is %s, want %s: %s [%s]", line, v.Decision, want, v.Why, v.Rule)
		}
	}
	_, err := shell.New(shell.Config{Rules: []shell.Rule{{Pattern: "make *", Exact: true}}})
	if err == nil || !strings.Contains(err.Error(), "exact") {
		t.Errorf("a rule that is exact and open: %v", err)
	}
}
