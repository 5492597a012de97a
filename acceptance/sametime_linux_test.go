package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files that one command plants while another begins do not count as that one's
// initial state: its end does not restore the removed files, even if they are too many
// for mounts. The daemon restores a person's files, and they stay. R-OS-03
func TestPlantsOfRunsAtTheSameTime(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh(`for i in $(seq 130); do mkdir d$i e$i; echo mine $i > e$i/.envrc; done`)
		a.direct()
		// The daemon leaves files in vendored trees alone, and their age later proves nothing.
		if r := a.sbx("run", "-n", "-c", `for i in $(seq 90); do mkdir -p node_modules/m$i; echo evil > node_modules/m$i/.envrc; done`); r.code != 0 {
			t.Fatal(r)
		}
		run := func(script string) <-chan result {
			done := make(chan result, 1)
			go func() { done <- a.sbx("run", "-n", "-c", script) }()
			return done
		}
		there := func(name string) bool {
			_, err := os.Stat(filepath.Join(a.project, name))
			return err == nil
		}
		const until = `; touch ready%; while [ ! -e stop% ]; do sleep 0.02; done`
		plants := run(`for i in $(seq 130); do echo evil > d$i/.envrc; (echo evil > e$i/.envrc) 2> /dev/null; mv e$i/.envrc e$i/away 2> /dev/null; done; mv node_modules/m* .` + strings.ReplaceAll(until, "%", "1"))
		eventually(t, "the plants", func() bool { return there("ready1") })
		if !there("d130/.envrc") {
			t.Fatal("the attempt did not come off")
		}
		other := run(`rm -rf d5; mkdir d5; mv d6 f6; mkdir d6; touch d7/.envrc 2> /dev/null` +
			strings.ReplaceAll(until, "%", "2"))
		eventually(t, "the other command", func() bool { return there("ready2") })
		a.sh("touch stop1")
		if r := <-plants; r.code != 0 {
			t.Error(r)
		}
		if left := a.sh("cat [dfm][0-9]*/.envrc 2> /dev/null | sort | uniq -c"); left != "" {
			t.Errorf("left by the first: %s", left)
		}
		a.sh("touch stop2")
		if r := <-other; r.code != 0 {
			t.Error(r)
		}
		if left := a.sh("cat [dfm][0-9]*/.envrc 2> /dev/null | sort | uniq -c"); left != "" {
			t.Errorf("brought back by the end of the second: %s", left)
		}
		if r := a.sh(`for i in $(seq 130); do [ "$(cat e$i/.envrc)" = "mine $i" ] || echo e$i; done`); r != "" {
			t.Errorf("of 130 that are the person's these are not as they were: %s", r)
		}
	})
}
