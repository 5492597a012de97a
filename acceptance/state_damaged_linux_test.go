package acceptance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// damages are the ways in which the test damages a file of the state directory, as shell functions of its name.
var damages = []string{
	`truncate -s -1 "$1"`, `printf '\377' | dd of="$1" conv=notrunc status=none`, `: > "$1"`, `rm "$1"`,
}

// R-LY-11, R-FS-08: an undo whose kept content is damaged changes nothing and names the path, whatever kept it; all
// else comes back by --rest.
func TestUndoOfDamagedContent(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		for _, kind := range []string{"layered", "direct", "file"} {
			for _, damage := range damages {
				a.sh("rm -rf w; mkdir w; echo first > w/a; echo second > w/b")
				run := []string{"run", "-c", "echo changed > w/a; echo changed > w/b"}
				switch kind {
				case "direct":
					run = append(run[:1:1], "--direct", run[1], run[2])
				case "file":
					run = []string{"file", "rmdir", "--recursive", "w"}
				}
				if r := a.sbx(run...); r.code != 0 {
					t.Fatalf("%s: %s", kind, r)
				}
				kept := strings.Fields(a.sh(`cd ` + a.stateDir() + `; grep -rlx first undo trash snapshots || true`))
				if len(kept) == 0 {
					t.Fatalf("%s: nothing keeps the content", kind)
				}
				for _, name := range kept {
					a.sh("f() { " + damage + "; }; f " + filepath.Join(a.stateDir(), name))
				}
				changed := a.sh("cat w/a w/b 2>&1 || true")
				if r := a.sbx("undo", "--last"); r.code == 0 || !strings.Contains(r.err, "w/a") ||
					a.sh("cat w/a w/b 2>&1 || true") != changed {
					t.Errorf("%s, %s: undo: %s", kind, damage, r)
				}
				if kind == "file" {
					continue
				}
				if r := a.sbx("undo", "--last", "--rest"); r.code != 0 || a.sh("cat w/a w/b") != "changed\nsecond\n" {
					t.Errorf("%s, %s: the rest: %s", kind, damage, r)
				}
			}
		}
	})
}

// R-LY-05: a held change set whose files in the state directory are damaged is listed with its directory, neither lands
// nor is dropped, and the next start deletes nothing of it.
func TestDamagedHeldChanges(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		for _, name := range []string{"run.json", "set.json", "state.json"} {
			id, r := a.hold("echo held > held.txt")
			if id == "" {
				t.Fatal(r)
			}
			dir := filepath.Join(a.stateDir(), "layers", "x-"+strings.TrimPrefix(id, "h-"))
			a.stop()
			a.sh(fmt.Sprintf("truncate -s -9 %s/%s", dir, name))
			a.layered()
			if r := a.sbx("changes", "--json"); !strings.Contains(r.out, dir) || !strings.Contains(r.out, id) {
				t.Errorf("%s: it is not listed: %s", name, r)
			}
			for _, verb := range []string{"land", "drop"} {
				if r := a.sbx("changes", verb, id); r.code == 0 || !strings.Contains(r.err, dir) {
					t.Errorf("%s: %s: %s", name, verb, r)
				}
			}
			if got := a.sh("cat " + dir + "/slots/0"); got != "held\n" {
				t.Errorf("%s: the copy is %q", name, got)
			}
			a.sh("chmod -R u+rwx " + dir + "; rm -rf " + dir)
		}
	})
}
