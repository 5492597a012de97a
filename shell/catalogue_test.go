package shell_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sandboxd/shell"
	"sandboxd/shell/facts"
	"sandboxd/shell/shelltest"
)

func catalogue(t testing.TB) []shelltest.Case {
	t.Helper()
	data, err := os.ReadFile("testdata/approval-bypass.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := shelltest.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// R-SH-08: the catalogue holds, every line of it.
func TestCatalogue(t *testing.T) {
	root := t.TempDir()
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	for _, c := range catalogue(t) {
		t.Run(c.ID, func(t *testing.T) {
			cfg, err := c.Config()
			if err != nil {
				t.Fatal(err)
			}
			tool, err := shell.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(root, c.ID)
			if err := c.Prepare(dir); err != nil {
				t.Fatal(err)
			}
			cmd := shell.Command{Line: c.Command, Cwd: dir, Project: dir, Home: "/home/nobody-lives-here", Env: c.Env,
				TTY: c.TTY, Description: c.Description}
			v, _ := facts.Judge(context.Background(), tool, cmd, facts.Options{})
			if err := c.Judge(v.Decision.String()); err != nil {
				t.Errorf("%v: %s: %+v", err, v.Why, v.Parts)
			}
			if len(v.NeedsFacts) > 0 {
				t.Errorf("facts are still missing: %v", v.NeedsFacts)
			}
		})
	}
}
