package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// R-LY-11, R-FS-08: an undo that the death of its worker or of the daemon cuts off is finished by another worker, or by
// the next daemon. Where somebody changed a file meanwhile, it stays as it is, and the status says so until it is
// undone.
func TestUndoThatWasCutOff(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("mkdir big; for i in $(seq 1001 2500); do echo $i > big/$i; done")
		before := a.everything()
		for _, victim := range []string{"worker", "daemon", "daemon, and a file"} {
			undo := a.changesOf("for f in big/*; do echo new > $f; done").Undo
			wait := a.begin("undo", undo)
			eventually(t, "the first file is back", func() bool { // the last step comes first
				got, err := os.ReadFile(filepath.Join(a.project, "big/2500"))
				return err == nil && string(got) == "2500\n"
			})
			if victim == "worker" {
				hit := syscall.Kill(a.worker(), syscall.SIGKILL)
				if r := wait(); r.code != 0 || a.everything() != before {
					t.Fatalf("%s (%v): %s: %s", victim, hit, r, lineDifferences(a.everything(), before))
				}
				continue
			}
			a.die()
			wait()
			half := a.everything() != before
			if victim != "daemon" && half {
				a.sh("echo mine > big/1001")
			}
			a.layered()
			if victim == "daemon" {
				eventually(t, "the undo is finished", func() bool { return a.everything() == before })
			} else if half {
				eventually(t, "the status has the half", func() bool {
					return strings.Contains(a.sbx("status").err, "sbx undo "+undo+" finishes it")
				})
				if r := a.sbx("undo", undo); r.code == 0 || !strings.Contains(r.err, "1001") {
					t.Errorf("undone over a later change: %s", r)
				}
				if r := a.sbx("undo", "--force", undo); r.code != 0 || a.everything() != before {
					t.Errorf("by force: %s: %s", r, lineDifferences(a.everything(), before))
				}
			}
			if r := a.sbx("status"); strings.Contains(r.err, "was cut off") {
				t.Errorf("%s: the status still says %s", victim, r.err)
			}
		}
	})
}

// R-LY-11: a run that changes and one that deletes 5,000 files are undone whole, by the limits of a default
// configuration. $ACCEPTANCE_UNDO_FILES is another number.
func TestUndoOfManyFiles(t *testing.T) {
	t.Parallel()
	n := atLeastOne(t, "ACCEPTANCE_UNDO_FILES", 5000)
	a := ordinaryActor(t)
	a.layered()
	a.sh(fmt.Sprintf("mkdir big; cd big; seq %d | split -l 1 -a 5 -", n))
	before := a.everything()
	for _, args := range [][]string{
		{"run", "--json", "--direct", "-c", "rm -rf big"},
		{"run", "--json", "-c", `python3 -c "import os; [open('big/' + n, 'w').close() for n in os.listdir('big')]"`},
	} {
		var out ran
		r := a.sbx(args...)
		if err := json.Unmarshal([]byte(r.out), &out); err != nil || r.code != 0 || !out.Changes.Covered {
			t.Fatalf("%s: %v %s", args, err, r)
		}
		if r := a.sbx("undo", out.Changes.Undo); r.code != 0 || a.everything() != before {
			t.Fatalf("undo of %s: %d %s\n%.2000s", args, r.code, r.err, lineDifferences(a.everything(), before))
		}
	}
}
