package shell_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// R-SH-03, R-FS-02: a secret asks by each of git's spellings of its name
// (gitrevisions(7), gitglossary(7)), and no other file asks because of it.
func TestSecretsByGitsSpellings(t *testing.T) {
	judge := func(line string, hidden ...string) shell.Decision {
		t.Helper()
		tool, err := shell.New(shell.Config{Hidden: hidden})
		if err != nil {
			t.Fatal(err)
		}
		return judgePlain(tool, shell.Command{Line: line, Cwd: "/p", Project: "/p", Home: "/h"}).Decision
	}
	for _, line := range []string{
		"git show :.env", "git show :0:.env", "git show :2:sub/.env", "git show :./.env", "git show HEAD:.env",
		"git show HEAD:./sub/../.env",
		"git show '@{u}:.env'", "git show 'HEAD@{2030-01-01 04:00:00}:.env'", "git show 'HEAD^{/fix: it}:.env'",
		"git show 'HEAD^{tree}:.env'",
		"git show stash@{0}^3:.env", "git cat-file -p :.env", "git cat-file blob HEAD:.env",
		"git diff HEAD~1:.env HEAD:.env",
		"git diff HEAD:.env..HEAD:README", "git diff HEAD:README..HEAD:.env", "git log -L1,5:.env", "git log -L :f:.env",
		"git log -L/a/,+2:.env",
		"git log -p -- .env", "git log -p -- ':(top).env'", "git log -p -- :/.env", "git log -p -- ':(icase).ENV'",
		"git log -p -- ':(top,icase)SUB/.Env'",
		"git --icase-pathspecs log -p -- .ENV", "git log -p -- ':(glob)**/.en?'", "git diff -- '.e*'",
		"git diff -- '*.env'", "git diff -- 'sub/.e??'",
		"git diff -- 'sub?.env'", "git diff -- 'su*env'", `git diff -- '\.env'`, "git diff -- '[.]env'",
		"git diff -- '[[:punct:]]env'", "git diff -- '[!a]env'",
		"git diff -- '*.pem'", "git diff -- ':(attr:x)'", "git grep -n . -- '.en?'", "git grep -e x --cached -- '*v'",
		"git grep x HEAD:.env",
		"git blame .env", "git annotate ':(top).env'", "git stash show -p 'stash@{0}:.env'", "git reflog -p -- '.en?'",
		"git range-diff a b c -- .env",
		"git diff --skip-to=.env", "git diff --rotate-to=sub/.env", "git whatchanged -p -- '.e*'",
		"git diff-tree -p HEAD -- '.e*'", "git rev-list --objects HEAD -- .env",
	} {
		if d := judge(line); d != shell.Ask {
			t.Errorf("%s: %v", line, d)
		}
	}
	for _, line := range []string{
		"git show HEAD:README.md", "git show :README.md", "git show 'HEAD@{2 days ago}'", "git diff -- ':!.env' .",
		"git diff -- ':(exclude)*.env'", "git diff -- '*.go'",
		"git diff -- '*'", "git log -p -- 'src/*' '*.json'", "git log -- '*.md' '*.yml'", `git grep '\.env'`,
		"git grep -e '.en.' -- '*.ts'", "git log -L10,20:a.go",
		"git log --format='%h: %s'", "git show ':/fix the bug'", "git diff main..dev",
		"git diff HEAD -- ':(icase)readme*'", "git log --grep=.env --oneline",
	} {
		if d := judge(line); d != shell.Auto {
			t.Errorf("%s: %v", line, d)
		}
	}
	for line, want := range map[string]shell.Decision{
		"git show": shell.Ask, "git show HEAD~2": shell.Ask, "git diff": shell.Ask, "git diff HEAD~1": shell.Ask,
		"git log -p":        shell.Ask,
		"git log -S SECRET": shell.Ask, "git stash show": shell.Ask, "git grep SECRET HEAD": shell.Ask,
		"git grep -n . --cached":  shell.Ask,
		"git cat-file -p 0123abc": shell.Ask, "git range-diff a b c": shell.Ask, "git diff --stat -p": shell.Ask,
		"git log --cc": shell.Ask,
		"git status":   shell.Auto, "git log --oneline -5": shell.Auto, "git diff --stat": shell.Auto,
		"git show --name-only":    shell.Auto,
		"git show HEAD:README.md": shell.Auto, "git blame README.md": shell.Auto, "git ls-files": shell.Auto,
		"git cat-file -p HEAD": shell.Auto,
	} {
		if d := judge(line, ".env"); d != want {
			t.Errorf("%s: %v with .env hidden", line, d)
		}
	}
	for _, line := range []string{"git show HEAD:config/prod.yaml", "git diff -- 'config/pr*'",
		"git log -L1,2:config/prod.yaml"} {
		if d := judge(line, "config/prod.yaml"); d != shell.Ask {
			t.Errorf("%s: %v with that hidden", line, d)
		}
	}
}

// R-SH-06: patterns of names that credentials match ask where contents are read by them, as pathspecs do.
func TestPatternsOfSecrets(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".env", "a.go", "b.ts"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tool := newTool(t, shell.Config{})
	for line, want := range map[string]shell.Decision{
		"grep -rh '' . --include=.env": shell.Ask, "grep -rh '' --include '.e*' .": shell.Ask,
		"grep -r --include='*.pem' KEY .": shell.Ask, "egrep -r x . --include=.en?": shell.Ask,
		"rg -uu . -g .env": shell.Ask, "rg -uu . --glob='.e*'": shell.Ask, "rg x --iglob '.ENV'": shell.Ask,
		"rg x -g '*.{ts,pem}'": shell.Ask, "rg x -g '{a,.env}{,x}'": shell.Ask,
		"git ls-files | grep -x .env | xargs cat": shell.Ask, "ls -A | grep '^.env$' | xargs head": shell.Ask,
		`ls -A | grep '^\.env$' | xargs cat`: shell.Ask, "ls -A | grep -e a -e .env | xargs cat": shell.Ask,
		`ls -A | grep 'a.go\|.env' | xargs cat`: shell.Ask, "find . | grep -E '\\.e.*' | xargs cat": shell.Ask,
		"find . -maxdepth 1 -name '.e*' -exec cat {} +": shell.Ask, "find . -iname '.EN?' | xargs cat": shell.Ask,
		"for f in $(find . -name '.[e]nv'); do cat $f; done": shell.Ask,
		"grep -rn foo --include='*.go' .":                    shell.Auto, "grep -rn foo --include='*' .": shell.Auto,
		"git ls-files | grep -v .env | xargs cat": shell.Auto, "git ls-files | grep '\\.go$' | xargs cat": shell.Auto,
		"git ls-files | grep test | xargs grep foo": shell.Auto, "find . -name '*.go' -exec cat {} +": shell.Auto,
		"find . -not -name '.*' -type f -exec cat {} +":               shell.Auto,
		"find . -name '.*' -prune -o -type f -print | xargs grep foo": shell.Auto,
		"find . -type f -name '*test*' | xargs grep foo":              shell.Auto,
		"ls -A | grep '.*' | xargs cat":                               shell.Auto,
	} {
		v, _ := facts.Judge(context.Background(), tool,
			shell.Command{Line: line, Cwd: dir, Project: dir, Home: "/nosuch"}, facts.Options{})
		if v.Decision != want {
			t.Errorf("%s: %s, want %s: %s", line, v.Decision, want, v.Why)
		}
	}
	for line, want := range map[string]bool{"rg x -g '*.{ts,tsx}'": false, "rg x -g '!.env'": false,
		"rg x -g '{src,test}/**/*.{ts,tsx}'": false, "rg x -g '.env'": true} {
		v := judgePlain(tool, shell.Command{Line: line, Cwd: dir, Project: dir})
		if v.Hidden != want {
			t.Errorf("%s: names secrets: %t, want %t", line, v.Hidden, want)
		}
	}
}
