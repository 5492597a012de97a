package layer

import "testing"

// TestRefreshedIndex kills landings of a commit at each system call, or some of them. The index that landed knows the
// files as they landed, also in a landing after an undo, and an undo is exact. Rule 12; R-LY-02, R-LY-04.
func TestRefreshedIndex(t *testing.T) {
	b := gitBench(t, "touch -d 2020-01-01 file; echo 3 > other; touch -d 2020-01-02 other; git add -A; git commit -qm two")
	m := mortal{bench: b}
	before, landings := b.snapshot(), 0
	for at := 1; ; at += max(6000/cases(t), 1) {
		seen := die(t, m.task("land"), at)
		m.reopen()
		if err := m.Recover(b.root); err != nil {
			t.Fatalf("killed at %d: %v", at, err)
		}
		if m.Status() == Landed {
			landings++
			// It lists files of another identity, whatever their content.
			if got := b.git("diff-files"); got != "" {
				t.Fatalf("killed at %d: git would read again %s", at, got)
			}
			b.git("fsck", "--no-progress")
			if err := m.Undo(b.root); err != nil {
				t.Fatalf("killed at %d: undo: %v", at, err)
			}
		}
		if d := differences(b.snapshot(), before); d != "" {
			t.Fatalf("killed at %d, undone, yet different:\n%s", at, d)
		}
		if seen < at {
			break
		}
	}
	if landings < 2 {
		t.Errorf("%d landings", landings)
	}
}

// TestRefreshedIndexes has a run make a clone, a linked work tree and a submodule, and another run change a file in
// each: git reads none of their files again once they landed. Rule 12; R-LY-02, R-LY-04.
func TestRefreshedIndexes(t *testing.T) {
	trees := []string{".", "clone", "linked", "sub"}
	b := gitBench(t, `git clone -q --no-hardlinks . clone; git worktree add -q -b linked linked
		sed -i s,/run-merged/,/root/, .git/worktrees/linked/gitdir linked/.git
		git -c protocol.file.allow=always submodule --quiet add "file://$PWD/clone" sub`)
	lands := func() {
		t.Helper()
		before := b.snapshot()
		for round := range 3 {
			if err := b.Land(b.root, yes); err != nil {
				t.Fatal(err)
			}
			for _, tree := range trees {
				got := b.git("--no-optional-locks", "-C", tree, "diff-files", "--ignore-submodules")
				if got != "" {
					t.Errorf("round %d: in %s git would read again %s", round, tree, got)
				}
			}
			if round == 2 {
				return
			}
			if err := b.Undo(b.root); err != nil {
				t.Fatal(err)
			}
			if d := differences(b.snapshot(), before); d != "" {
				t.Fatalf("undone, yet different:\n%s", d)
			}
		}
	}
	lands()
	b.git("worktree", "repair")
	b.layer("later", step{Do: "sh", Data: `for d in clone linked sub; do
		at=$(git -C $d rev-parse --absolute-git-dir | sed s,/root/,/later-merged/,)
		echo $d > $d/file; git --git-dir=$at --work-tree=$d add -A; done`})
	b.take()
	lands()
}
