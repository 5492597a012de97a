package acceptance

import (
	"strings"
	"testing"
)

// R-LY-05: a held change set whose copies have other inodes, as in a state directory that was copied or restored, lands
// as it was held. One whose copies are missing or damaged does not land, the rest of it can, and it stays held.
func TestHeldChangesOfACopiedState(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		const copied = "s=$(ls -d %s/layers/x-*/slots); "
		in := func(script string) string {
			return strings.ReplaceAll(copied+script, "%s", a.stateDir())
		}
		for _, c := range []struct{ name, script, want string }{
			{"the state", "cp -a %s %s2 2>/dev/null || true; chmod -R u+rwx %s; rm -rf %s; mv %s2 %s", "land"},
			{"one copy", `cp -a "$s/0" "$s/x"; mv "$s/x" "$s/0"`, "land"},
			{"missing", `rm "$s/0"`, "refuse"},
			{"other content", `printf more >> "$s/0"`, "refuse"},
			{"same size", `printf X | dd of="$s/0" conv=notrunc status=none`, "refuse"},
			{"emptied", `: > "$s/0"`, "refuse"},
			{"a directory", `rm "$s/0"; mkdir "$s/0"`, "refuse"},
		} {
			a.sh("rm -rf a.txt z.txt; echo before > a.txt; echo before > z.txt")
			id, r := a.hold("echo after > a.txt; echo after > z.txt")
			if id == "" {
				t.Fatalf("%s: nothing is held: %s%s", c.name, r.out, r.err)
			}
			a.stop()
			a.sh(in(c.script))
			a.layered()
			land := a.sbx("changes", "land", id)
			got := a.sh("cat a.txt z.txt")
			if c.want == "land" {
				if land.code != 0 || got != "after\nafter\n" {
					t.Errorf("%s: landing: %d %s%s, and the project has %q", c.name, land.code, land.out, land.err, got)
				}
				if r := a.sbx("undo", "--last"); r.code != 0 || a.sh("cat a.txt z.txt") != "before\nbefore\n" {
					t.Errorf("%s: undo: %d %s%s", c.name, r.code, r.out, r.err)
				}
				continue
			}
			if land.code == 0 || got != "before\nbefore\n" || !strings.Contains(land.err, "a.txt") {
				t.Errorf("%s: landing: %d %s%s, and the project has %q", c.name, land.code, land.out, land.err, got)
			}
			if r := a.sbx("changes"); !strings.Contains(r.out, id) {
				t.Errorf("%s: it is no longer held: %s%s", c.name, r.out, r.err)
			}
			if r := a.sbx("changes", "land", id, "z.txt"); r.code != 0 || a.sh("cat a.txt z.txt") != "before\nafter\n" {
				t.Errorf("%s: the rest: %d %s%s", c.name, r.code, r.out, r.err)
			}
			if r := a.sbx("changes", "drop", id); r.code != 0 {
				t.Errorf("%s: drop: %d %s%s", c.name, r.code, r.out, r.err)
			}
		}
	})
}
