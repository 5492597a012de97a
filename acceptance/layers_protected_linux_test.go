package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// unchanged reads files of the project again and again until the returned function is called, which returns the first
// state that was not as before, or "".
func (a *actor) unchanged(names ...string) (end func() string) {
	state := func() (all string) {
		for _, name := range names {
			at := filepath.Join(a.project, name)
			text, _ := os.ReadFile(at)
			list, _ := os.ReadDir(at)
			info, err := os.Lstat(at)
			all += fmt.Sprintf("%s %s %v", name, text, list)
			if err == nil {
				all += info.Mode().String()
			}
		}
		return all
	}
	before, stop, seen := state(), make(chan bool), make(chan string, 1)
	go func() {
		for {
			if now := state(); now != before {
				seen <- now
				return
			}
			select {
			case <-stop:
				seen <- ""
				return
			case <-time.After(100 * time.Microsecond):
			}
		}
	}()
	return func() string { close(stop); return <-seen }
}

// R-LY-02, R-LY-06: no mount holds a protected name from a layered run. Before any of it is in the project a person is
// asked about each that existed: changed, removed or renamed, with an entry below, or git's naming a program.
func TestLayersJudgeProtectedNames(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		a.sh("echo 'use nix' > .envrc; mkdir .vscode; echo '{}' > .vscode/settings.json")
		all := func(ipc.Approval) bool { return true }
		mounts := "grep -c ' '$PWD /proc/self/mountinfo > mounts; cat mounts; rm mounts"
		if r := a.landing(all, "run", "--json", "-c", mounts); r.Stdout != "1\n" || r.Changes.Kind != "layered" {
			t.Errorf("mounts at or below the project: %q, %d %s", r.Stdout, r.code, r.err)
		}
		py := func(text string) string { return `python3 -c "import os; ` + text + `"` }
		for _, c := range []struct{ line, reason string }{
			{plant(".envrc", "evil"), ".envrc"},
			{py("os.remove('.en' 'vrc')"), ".envrc"},
			{py("os.rename('.en' 'vrc', 'plain')"), ".envrc"},
			{py("os.chmod('.en' 'vrc', 0o777)"), ".envrc"},
			{py("os.remove('.en' 'vrc'); os.symlink('/etc/hostname', '.en' 'vrc')"), ".envrc"},
			{py("import shutil; shutil.move('.vscode', 'vscode')"), ".vscode"},
			{plant(".vscode/tasks.json", "{}"), ".vscode/tasks.json"},
			{plant(".git/hooks/pre-commit", "#!/bin/sh"), ".git/hooks/pre-commit"},
			{plant(".git/config", "[core]\\n\\tfsmonitor = ./x\\n"), "core.fsmonitor"},
			{plant(".git/config", "[include]\\n\\tpath = ../x\\n"), "include.path"},
		} {
			a.judgedBefore(c.line, c.reason, ".envrc", ".vscode", ".git/config", ".git/hooks")
		}
		a.noLayers()
	})
}

// R-LY-02: git's harmless configuration, several commands of a line, and renamed folders work in a layer as outside it.
func TestLayersChangeGitConfiguration(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		a.sh("mkdir pkg && echo read > pkg/AGENTS.md && echo x > pkg/x && git add -A && git commit -qm pkg")
		for _, c := range []struct{ line, after, want string }{
			{"git config user.email a@example.org; git remote add up https://example.org/x.git; " +
				"git config branch.main.remote up",
				"git config user.email; git remote; git config branch.main.remote", "a@example.org\nup\nup\n"},
			{"git branch other && git branch -m other third && git config --unset branch.main.remote; " +
				"git remote rename up origin",
				"git remote; git branch --list third", "origin\n  third\n"},
			{"mv pkg packages", "cat packages/AGENTS.md; ls pkg 2>&1 | grep -c 'No such'", "read\n1\n"},
			{"git mv src lib", "ls -d lib; ls src 2>&1 | grep -c 'No such'", "lib\n1\n"},
			{"git clone -q . copy", "git -C copy log --format=%s -1; rm -rf copy", "pkg\n"},
			{"git worktree add -q wt && git worktree move wt tw", "git -C tw status --short; ls -d tw", "tw\n"},
		} {
			run := func() ran { return a.run(c.line) }
			if strings.HasPrefix(c.line, "mv") || strings.Contains(c.line, "clone") { // these ask before they run
				run = func() ran {
					return a.landing(func(ipc.Approval) bool { return true }, "run", "--json", "-c", c.line)
				}
			}
			if r := run(); r.code != 0 || r.Changes.Held != "" || len(r.Quarantined) > 0 {
				t.Errorf("%s: %d %s%s", c.line, r.code, r.out, r.err)
			}
			if got := a.sh(c.after); got != c.want {
				t.Errorf("%s: got %q, want %q", c.line, got, c.want)
			}
		}
		a.sh("git fsck --no-dangling --no-progress >&2")
	})
}
