package acceptance

import (
	"path/filepath"
	"strings"
	"testing"
)

// ofOneTerminal runs a script of several commands in the session of one terminal. hold runs a line whose change set is
// held, and prints its id; the output of the line goes to standard error.
func (a *actor) ofOneTerminal(script string) result {
	a.t.Helper()
	return a.do(nil, "/bin/bash", "-c", "sbx="+filepath.Join(bin, "sbx")+"\nnotes="+a.dir+`
hold() {
	$sbx run --hold --json -c "$1" > "$notes/held.json" 2> "$notes/held.err"
	jq -r .stdout "$notes/held.json" >&2; jq -r .changes.held_id "$notes/held.json"
}
trap 'rm -f "$notes"/held.*' EXIT
`+script)
}

// R-LY-05, rule 14: the next commands of a session see what it holds by choice, readers too; another session does not.
// A change set that depends on a held one lands after it, with an undo of its own.
func TestLayersHeldAreSeen(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		before := a.everything()
		r := a.ofOneTerminal(`
one=$(hold 'echo a > x; mkdir new; echo n > new/n; rm src/new.txt')
two=$(hold 'cat x; echo b >> x; echo m > new/m; ls src/new.txt')
$sbx run -c 'cat x new/n new/m'
$sbx run --json -c 'cat x' | jq -r .changes.kind
setsid -w $sbx run -c 'cat x' || echo "not seen by another session"
$sbx run -c 'cat x > y'; echo "on top: $?"
$sbx run --json -c 'cat x & wait' | jq -r '.changes.kind, .warnings[].message' >&2
three=h-$($sbx changes --json | jq -r '.changes[0].id' | cut -c3-)
$sbx changes land $three; echo "the third first: $?"
$sbx changes land $two; echo "the second first: $?"
for id in $one $two $three; do $sbx changes land $id > /dev/null; echo "in turn: $?"; done`)
		const want = "a\nb\nn\nm\nnone\nnot seen by another session\non top: 126\nthe third first: 1\nthe second first: 1\n" +
			"in turn: 0\nin turn: 0\nin turn: 0\n"
		if r.out != want {
			t.Errorf("%s", r)
		}
		for _, said := range []string{
			"a\n\n", "which has not landed: land that first", "changes land h-",
			"did not see the change sets that its session holds: a direct run",
		} {
			if !strings.Contains(r.err, said) {
				t.Errorf("%q is not said:\n%s", said, r.err)
			}
		}
		if got := a.sh("cat x new/n new/m y; ls src/new.txt 2>&1 | grep -c 'No such'"); got != "a\nb\nn\nm\na\nb\n1\n" {
			t.Errorf("the project has %q", got)
		}
		a.noLayers()
		for range 3 {
			if r := a.sbx("undo", "--last"); r.code != 0 {
				t.Errorf("undo: %s", r)
			}
		}
		if now := a.everything(); now != before {
			t.Errorf("after undo the project is\n%s\n--- instead of\n%s", now, before)
		}
	})
}

// R-LY-05, rule 14: a change set whose command saw one that was dropped is stale: it says so, does not land, whole or
// in part, and is not seen any longer. None that a running command sees can be landed or dropped.
func TestLayersHeldGoStale(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		before := a.everything()
		r := a.ofOneTerminal(`
one=$(hold 'echo a > x')
two=$(hold 'cat x > y; echo free > z')
$sbx run -c 'sh -c "cat y; sleep 3"' > "$notes/held.out" &
until [ -s "$notes/held.out" ]; do sleep 0.1; done
$sbx changes land $one; echo "seen: $?"
$sbx changes drop $one; echo "seen: $?"
wait
$sbx changes drop $one > /dev/null; echo "dropped: $?"
$sbx changes land $two; echo "stale: $?"
$sbx changes land $two z; echo "a part: $?"
$sbx changes --json | jq -r '.changes[].why' | sed "s/$one/ONE/"
$sbx run -c 'cat y' || echo "no longer seen"
$sbx changes drop $two > /dev/null; echo "dropped: $?"`)
		const want = "seen: 1\nseen: 1\ndropped: 0\nstale: 1\na part: 1\nstale: its command saw ONE, which was dropped\n" +
			"no longer seen\ndropped: 0\n"
		if r.out != want || !strings.Contains(r.err, "commands that run and see it: 1") {
			t.Errorf("%s", r)
		}
		if now := a.everything(); now != before {
			t.Errorf("the project is\n%s\n--- instead of\n%s", now, before)
		}
		a.noLayers()
	})
}

// R-LY-05: as many change sets can lie above each other as the kernel's mount takes; then a command that would make
// another is refused and says what to do, and readers see them all.
func TestLayersStackIsBounded(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		r := a.ofOneTerminal(`
for i in $(seq 32); do hold "echo $i >> x" > /dev/null 2>&1; done
$sbx run -c 'wc -l x'
$sbx run -c 'echo more >> x'; echo "one more: $?"
for id in $($sbx changes --json | jq -r '.changes[].id' | tac); do
	$sbx changes land $id > /dev/null 2>&1 || echo "$id: $?"
done
wc -l x`)
		if r.out != "32 x\none more: 125\n32 x\n" || !strings.Contains(r.err, "32 change sets") {
			t.Errorf("%s", r)
		}
		a.noLayers()
	})
}
