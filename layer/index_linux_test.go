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
