package git

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// R-UX-07: the directory that git needs in a linked worktree and in a submodule is found, and not one that only a
// file of the project's names.
func TestOutside(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	setup := exec.Command("bash", "-euc", `
		export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
		git init -q main; git -C main commit -q --allow-empty -m x
		git -C main worktree add -q "$PWD/beside"
		git -C main worktree add -q inside
		git init -q around; git -C around -c protocol.file.allow=always submodule --quiet add "$PWD/main" sub
		mkdir -p claims victim/.git/modules/claims plain gone fifo
		touch victim/.git/modules/claims/HEAD
		echo "gitdir: $PWD/victim/.git/modules/claims" > claims/.git
		cp beside/.git plain/.git
		echo "gitdir: $PWD/nowhere" > gone/.git
		mkfifo fifo/.git`)
	setup.Dir = dir
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for root, want := range map[string]string{
		"main": "", "beside": "main/.git", "main/inside": "main/.git", "around": "", "around/sub": "around/.git",
		"claims": "", "plain": "", "gone": "", "fifo": "", "victim": "", "none": "",
	} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got := Outside(Disk, filepath.Join(dir, root)); got != want {
			t.Errorf("%s: %q, want %q", root, got, want)
		}
	}
}
