package shell_test

import (
	"context"
	"strings"
	"testing"

	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// R-LY-08: the files outside the project that a line writes in place are known before it runs.
func TestWritten(t *testing.T) {
	tool := newTool(t, shell.Config{})
	for line, want := range map[string]string{
		"echo x >> ../a":              "/home/u/a",
		"echo x > a":                  "",
		"cat ../a":                    "",
		"cp ../a b ../c":              "/home/u/c",
		"echo x | tee ~/b; touch ../": "/home/u/b /home/u",
		"mv a ../b":                   " in /home/u /home/u/b",
		"mv ../b/x ~/c/y":             " in /home/u/b /home/u/c /home/u/c/y",
		"rm ../b":                     " in /home/u",
		"rm ~/d/x ../d/y":             " in /home/u/d",
		"sed -i s/a/b/ ../b":          " in /home/u",
		"cp a ../*.txt":               "replaced",
	} {
		cmd := shell.Command{Line: line, Cwd: "/home/u/p", Project: "/home/u/p", Home: "/home/u"}
		v, _ := facts.Judge(context.Background(), tool, cmd, facts.Options{})
		got := strings.Join(v.Written, " ")
		if len(v.WrittenIn) > 0 {
			got += " in " + strings.Join(v.WrittenIn, " ")
		}
		if v.Replaced {
			got = "replaced"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// R-LY-08: the places of worktrees are known before the line runs.
func TestWorktrees(t *testing.T) {
	tool := newTool(t, shell.Config{})
	for line, want := range map[string]string{
		"git worktree add ../x":                         "/home/u/x",
		"git worktree add -b new ../x main":             "/home/u/x",
		"git -c a.b=c worktree add --reason r /srv/x":   "/srv/x",
		"git -C sub worktree add ../x":                  "/home/u/p/x",
		"cd sub && git worktree add -f --lock ../../x":  "/home/u/x",
		"git worktree move one ../two":                  "/home/u/two",
		"git worktree add -- -x; git worktree add ../y": "/home/u/p/-x /home/u/y",
		"git worktree list":                             "",
		"git worktree remove ../x":                      "",
		"echo git worktree add ../x":                    "",
	} {
		cmd := shell.Command{Line: line, Cwd: "/home/u/p", Project: "/home/u/p", Home: "/home/u"}
		v, _ := facts.Judge(context.Background(), tool, cmd, facts.Options{})
		if got := strings.Join(v.Worktrees, " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
