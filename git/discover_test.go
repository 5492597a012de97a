package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// used asks git which directory it uses in dir, as a user without privileges would see it; "" is none.
func used(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("git", "-C", dir, "rev-parse", "--absolute-git-dir")
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nosuch", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_DISCOVERY_ACROSS_FILESYSTEM=1"}
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// states are things that may be done to sub/.git of a repository in a repository.
var states = []string{
	"true", "echo garbage > .git/HEAD", ": > .git/HEAD", "rm .git/HEAD", "echo 'ref: refs/heads/nosuch' > .git/HEAD",
	"echo 'ref: nosuch' > .git/HEAD",
	"printf 'ref:refs/heads/x' > .git/HEAD", "printf 'ref:\\t refs/' > .git/HEAD", "echo deadbeef > .git/HEAD",
	"echo 0123456789012345678901234567890123456789 > .git/HEAD",
	"printf 012345678901234567890123456789012345678Z > .git/HEAD",
	"printf '\\n0123456789012345678901234567890123456789' > .git/HEAD",
	"ln -sf refs/heads/main .git/HEAD", "ln -sf refs/heads/nosuch .git/HEAD", "ln -sf nosuch .git/HEAD",
	"rm .git/HEAD; mkdir .git/HEAD",
	"mv .git/HEAD .git/x; ln -s x .git/HEAD", "chmod 0 .git/HEAD", "chmod 600 .git/HEAD", "chmod 0 .git/objects",
	"chmod 0 .git/refs", "chmod 0 .git", "chmod 700 .git",
	"rm -r .git/objects; : > .git/objects", "rm -r .git/objects; : > .git/objects; chmod 755 .git/objects",
	"rm -r .git/objects", "rm -r .git/refs", "rm -r .git/refs; ln -s nosuch .git/refs",
	"rm -r .git/refs; ln -s objects .git/refs", "rm -r .git; mkdir -p .git/objects .git/refs; echo garbage > .git/HEAD",
	"rm -r .git; mkdir .git", "rm -r .git; : > .git",
	"mv .git real; echo 'gitdir: real' > .git", "mv .git real; echo 'gitdir: ./real/' > .git",
	"mv .git real; printf 'gitdir: real\\r\\n\\n' > .git", "mv .git real; echo 'gitdir:real' > .git",
	"mv .git real; echo 'gitdir: nosuch' > .git", "mv .git real; echo 'gitdir: real' > .git; echo garbage > real/HEAD",
	"mv .git real; ln -s real .git", "mv .git real; ln -s nosuch .git",
	"rm -r .git; mkfifo .git", "mv .git/* .; rm -r .git", "mv .git/* .; rm -r .git; echo garbage > HEAD",
	"rm HEAD; mv .git/* .; echo x > .git/HEAD", "echo ../../.git > .git/commondir",
	"rm -r .git/objects .git/refs; echo ../../.git > .git/commondir", "echo nosuch > .git/commondir",
	": > .git/commondir", "mkdir .git/commondir", "rm -r .git/objects; echo ../other > .git/commondir",
	"mkdir deep; mv .git/* deep; rm -r .git; ln -s deep .git", "rm -r .git; git worktree add -q .git 2>&1; true",
	"printf 'ref: refs/heads/a\\0b' > .git/HEAD",
}

// R-SH-03: the repositories that git could use hold the one that git uses, whatever was done to the nearer one; and
// one that is not in doubt is used.
func TestFindHoldsWhatGitUses(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	doubts, failed := 0, 0
	for i, state := range states {
		top := filepath.Join(base, fmt.Sprint(i))
		sub := filepath.Join(top, "sub")
		must(t, os.MkdirAll(sub, 0o755))
		run(t, top, "init", "-q", "-b", "main")
		run(t, top, "commit", "-q", "--allow-empty", "-m", "x")
		run(t, sub, "init", "-q", "-b", "main")
		cmd := exec.Command("bash", "-c", state)
		cmd.Dir, cmd.Stderr = sub, os.Stderr
		_ = cmd.Run()
		got := used(t, sub)
		if got != "" {
			got, err = filepath.EvalSymlinks(got)
			must(t, err)
		}
		repos, err := Find(Disk, sub)
		var dirs []string
		for _, r := range repos {
			dirs = append(dirs, r.Dir)
			if r.Doubt {
				doubts++
			}
		}
		switch {
		case err == nil && got != "" && !slices.Contains(dirs, got):
			t.Errorf("%q: git uses %s, not one of %v", state, got, dirs)
		case err == nil && got != "" && !repos[0].Doubt && dirs[0] != got:
			t.Errorf("%q: git uses %s, and %s is in no doubt", state, got, dirs[0])
		case err == nil && got == "" && len(dirs) > 0 && !repos[0].Doubt:
			t.Errorf("%q: git uses none, and %s is in no doubt", state, dirs[0])
		}
		if err != nil {
			failed++
		}
		_ = exec.Command("chmod", "-R", "u+rwX", top).Run()
	}
	if doubts < 10 || failed > 10 {
		t.Errorf("%d repositories are in doubt, %d of %d states can't be read", doubts, failed, len(states))
	}
}

// A pipe in the place of HEAD, at which git itself waits, is an error at once.
func TestPipeAsHead(t *testing.T) {
	for _, state := range []string{
		"rm .git/HEAD; mkfifo .git/HEAD", "rm .git/HEAD; mkfifo .git/x; ln -s x .git/HEAD",
		"rm .git/HEAD; mkfifo .git/HEAD; mv .git real; echo 'gitdir: real' > .git",
		"mv .git/* .; rm -r .git; rm HEAD; mkfifo HEAD", "mkdir sub; mv .git sub; rm -r sub/.git/HEAD; mkfifo HEAD",
	} {
		dir := t.TempDir()
		run(t, dir, "init", "-q", "-b", "main")
		cmd := exec.Command("sh", "-ec", state)
		cmd.Dir = dir
		must(t, cmd.Run())
		failed := make(chan error, 1)
		go func() {
			_, err := Find(Disk, dir)
			failed <- err
		}()
		select {
		case err := <-failed:
			if err == nil {
				t.Errorf("%q: no error", state)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q: it waits", state)
		}
	}
}
