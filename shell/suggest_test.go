package shell_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// readSuggestions are commands in the project, which is TOP/work/p, and their offers.
var readSuggestions = []struct {
	line   string
	labels []string
}{
	{"ls", []string{"ls under the project"}},
	{"ls .", []string{"ls under the project"}},
	{"ls -la tools/", []string{"ls under tools/", "ls under the project"}},
	{"ls tools", []string{"ls under tools/", "ls under the project"}},
	{"ls tools/in/deep/er", []string{"ls under tools/in/deep/er/", "ls under tools/in/deep/",
		"ls under tools/in/"}},
	{"ls -la tools/ src/", []string{"ls under the project"}},
	{"tree api", []string{"tree under api/", "tree under the project"}},
	{"stat tools", []string{"stat under tools/", "stat under the project"}},
	{"find . -name x", []string{"find under the project"}},
	{"find -name x", []string{"find under the project"}},
	{"find tools -name '*.go' -type f", []string{"find under tools/", "find under the project"}},
	{"grep -r pattern api/", []string{"grep under api/", "grep under the project"}},
	{"grep -rn a/b api/", []string{"grep under api/", "grep under the project"}},
	{"grep -rn ../x api/v1", []string{"grep under api/v1/", "grep under api/", "grep under the project"}},
	{"grep -r x .", []string{"grep under the project"}},
	{"grep -r x", []string{"grep under the project"}},
	{"cat src/main.go", []string{"cat under src/", "cat under the project"}},
	{"tail -n 5 src/main.go", []string{"tail under src/", "tail under the project"}},
	{"less src/main.go", []string{"less under src/", "less under the project"}},
	{"more src/main.go", []string{"more under src/", "more under the project"}},
	{"file src/main.go", []string{"file under src/", "file under the project"}},
	{"cat src/*.go", nil}, // files that are not there yet would be covered
	{"head -n 100 README.md", []string{"head under the project"}},
	{"cat src/main.go | head -50", []string{"cat, head under src/", "cat, head under the project"}},
	{"wc -l README.md src/main.go", []string{"wc under the project"}},
	{"ls TOP/work/other/a", []string{"ls under TOP/work/other/a", "ls under TOP/work/other"}},
	{"ls ../other/a", []string{"ls under TOP/work/other/a", "ls under TOP/work/other"}},
	{"cat TOP/work/other/a/x", []string{"cat TOP/work/other/a/x", "cat under TOP/work/other/a",
		"cat under TOP/work/other"}},
	{"cat TOP/work/other/a/x TOP/work/other/top", []string{"cat under TOP/work/other"}},
	{"find TOP/work/other", []string{"find under TOP/work/other"}},
	{"ls ..", nil},
	{"ls TOP/work", nil},
	{"ls /", nil},
	{"ls ~", nil},
	{"cat src/main.go TOP/work/other/a/x", nil},
	{"ls leads-out/", nil},
}

// The chat specification's blocked_path: the path that made a command ask. R-IP-04
//
//   - Row 004-27 yes: a path that climbs out of the project warns
//   - Row 004-28 yes: a path in the home directory warns
func TestBlockedPath(t *testing.T) {
	for line, want := range map[string]string{
		"cat /srv/a":                   "/srv/a",
		"cat src/x /srv/a /srv/b":      "/srv/a",
		"cat ../q/x":                   "/q/x",
		"cat ~/.bashrc":                "/home/eve/.bashrc",
		"cat /srv/a ~/.ssh/id_rsa":     "/home/eve/.ssh/id_rsa",
		"touch .git/hooks/pre-commit":  "/p/.git/hooks/pre-commit",
		"frob /srv/a":                  "/srv/a",
		"echo x > out/y":               "/p/out/y",
		"echo x > out/y && cat /srv/a": "/srv/a",
		"echo x > /srv/y":              "/srv/y",
		"echo x > .git/config":         "/p/.git/config",
		"make all":                     "",
		"rm -r build":                  "",
		"echo hi | frob":               "",
	} {
		v := judgePlain(newTool(t, shell.Config{}), shell.Command{Line: line, Cwd: "/p", Project: "/p", Home: "/home/eve"})
		if r := v.Request(shell.Command{}); v.Decision != shell.Ask || r.BlockedPath != want {
			t.Errorf("%q is %s with the path %q, want %q", line, v.Decision, r.BlockedPath, want)
		}
		if outside := want != "" && !strings.HasPrefix(want, "/p/"); v.Outside != outside {
			t.Errorf("%q warns of a path outside the project: %t", line, v.Outside)
		}
	}
}

// R-SH-06: a reading command offers the directory that it reads. Inside the project
// no offer is wider than the project; outside, the path itself comes first; none
// contains the project or the home directory.
//
//   - Row 004-19 yes: eligible for prefixes: cat, head, tail, less, more
//   - Row 004-20 yes: eligible for prefixes: ls, tree, stat, file, wc
//   - Row 004-21 yes: eligible for prefixes: grep, find
func TestReadSuggestions(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, home := filepath.Join(top, "work", "p"), filepath.Join(top, "home", "eve")
	for _, dir := range []string{"work/p/tools/in/deep/er", "work/p/api/v1", "work/p/src", "work/other/a", "home/eve"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"work/p/README.md", "work/p/src/main.go", "work/other/a/x", "work/other/top"} {
		if err := os.WriteFile(filepath.Join(top, file), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../other/a", filepath.Join(project, "leads-out")); err != nil {
		t.Fatal(err)
	}
	asking := false
	judge := func(line, cwd string) shell.Verdict {
		c := shell.Command{Line: line, Cwd: cwd, Project: project, Home: home}
		v, _ := facts.Judge(t.Context(), newTool(t, shell.Config{AutoSafe: &asking}), c, facts.Options{})
		return v
	}
	for _, c := range readSuggestions {
		v := judge(strings.ReplaceAll(c.line, "TOP", top), project)
		var labels []string
		for _, s := range v.Suggestions {
			labels = append(labels, strings.ReplaceAll(s.Label, top, "TOP"))
		}
		if v.Decision != shell.Ask || !slices.Equal(labels, c.labels) {
			t.Errorf("%q is %s (%s) and offers %q, want %q", c.line, v.Decision, v.Why, labels, c.labels)
		}
	}
	// From a directory of the project, and a grant for one covers no sibling.
	v := judge("ls", project+"/tools")
	if len(v.Suggestions) != 2 || v.Suggestions[0].Label != "ls under tools/" {
		t.Fatalf("ls in tools offers %v", v.Suggestions)
	}
	for line, covered := range map[string]bool{"ls tools": true, "ls -R tools/in": true, "ls src": false, "ls": false,
		"ls ..": false, "ls leads-out": false, "find tools": false} {
		if v.Suggestions[0].Pattern.Matches("bash", judge(line, project).Payload) != covered {
			t.Errorf("ls under tools/ covers %q: want %t", line, covered)
		}
	}
}
