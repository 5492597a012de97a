package acceptance

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// nativeBackend starts the daemon with the native back end; layers are off.
func (a *actor) nativeBackend(args ...string) {
	a.t.Helper()
	file := filepath.Join(a.dir, "native.toml")
	a.sh("umask 077; printf '[sandbox]\\nbackend = \"" + overlays + "\"\\nlayers = \"off\"\\n' > " + file)
	a.start(append(args, "--config", file)...)
}

// hold runs a line whose change set is held, and returns its id.
func (a *actor) hold(line string) (id string, out ran) {
	a.t.Helper()
	r := a.sbx("run", "--hold", "--json", "-c", line)
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		a.t.Fatalf("%s: %v in %s%s", line, err, r.out, r.err)
	}
	out.result = r
	return out.Changes.HeldID, out
}

// R-LY-05: what a run with --hold writes stays out of the project, with layers = "off", too; it is listed, shown with
// its differences, landed whole or by path, undone, and dropped.
func TestLayersHeldByChoice(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.nativeBackend("--mode", "approve-all")
		a.repository()
		before := a.everything()
		id, r := a.hold("sed -i s/one/uno/ src/one.txt; rm src/new.txt; mkdir -p new/er; echo fresh > new/er/file; " +
			"printf 'a\\0b' > binary; exit 3")
		c := r.Changes
		if r.code != 3 || c.Kind != "layered" || id == "" || c.Digest == "" ||
			c.Created != 4 || c.Modified != 1 || c.Deleted != 1 {
			t.Fatalf("%d %+v %s", r.code, c, r.err)
		}
		if now := a.everything(); now != before {
			t.Fatalf("the project is\n%s\n--- instead of\n%s", now, before)
		}
		var list ipc.HeldChanges
		var one ipc.HeldChange
		for args, into := range map[string]any{"changes --json": &list, "changes show --json " + id: &one} {
			if r := a.sbx(strings.Fields(args)...); r.code != 0 || json.Unmarshal([]byte(r.out), into) != nil {
				t.Fatalf("%s: %d %s%s", args, r.code, r.out, r.err)
			}
		}
		if len(list.Changes) != 1 || list.Changes[0].ID != id || list.Changes[0].Count != 6 {
			t.Errorf("the list has %+v", list)
		}
		if one.Digest != c.Digest || !slices.Contains(one.Deleted, filepath.Join(a.project, "src/new.txt")) ||
			!strings.Contains(one.Command, "sed -i") {
			t.Errorf("%+v", one)
		}
		shown := a.sbx("changes", "show", id)
		for _, want := range []string{
			"-one", "+uno", "fresh", "untracked", "4 created, 1 modified, 1 deleted", "binary data",
		} {
			if !strings.Contains(shown.out, want) {
				t.Errorf("%q is not in %s%s", want, shown.out, shown.err)
			}
		}
		if r := a.sbx("changes", "land", id, "src/one.txt"); r.code != 0 {
			t.Errorf("a part: %d %s%s", r.code, r.out, r.err)
		}
		got := a.sh("head -n1 src/one.txt; ls -d new binary src/new.txt 2>/dev/null || true")
		if got != "uno\nsrc/new.txt\n" {
			t.Errorf("after a part landed the project has %q", got)
		}
		if r := a.sbx("changes", "show", id); strings.Contains(r.out, "+uno") || !strings.Contains(r.out, "fresh") {
			t.Errorf("the rest is %s%s", r.out, r.err)
		}
		if r := a.sbx("changes", "land", id); r.code != 0 {
			t.Errorf("the rest: %d %s%s", r.code, r.out, r.err)
		}
		if got := a.sh("cat new/er/file; ls src/new.txt 2>&1 | grep -c 'No such'"); got != "fresh\n1\n" {
			t.Errorf("after the rest landed the project has %q", got)
		}
		for range 2 {
			if r := a.sbx("undo", "--last"); r.code != 0 {
				t.Errorf("undo: %d %s%s", r.code, r.out, r.err)
			}
		}
		if now := a.everything(); now != before {
			t.Errorf("after undo the project is\n%s\n--- instead of\n%s", now, before)
		}
		if id, r = a.hold("echo x > y"); r.code != 0 || a.sbx("changes", "drop", id).code != 0 {
			t.Errorf("drop: %d %s", r.code, r.err)
		}
		if r := a.sbx("changes", "land", id); r.code != 1 || !strings.Contains(r.err, "no held change set") {
			t.Errorf("what was dropped lands: %d %s%s", r.code, r.out, r.err)
		}
		if r := a.run("echo x > y"); r.Changes.Kind != "direct" {
			t.Errorf("without --hold: %+v", r.Changes)
		}
		a.noLayers()
	})
}

// R-LY-05: a held change set is dropped by file, too: what was dropped never lands, and is deleted; the rest lands.
func TestLayersHeldDroppedInPart(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.nativeBackend("--mode", "approve-all")
		a.repository()
		tree := func() string { return a.sh("find . -path ./.git -prune -o -printf '%p %m %s\\n' | sort") }
		before := tree()
		id, _ := a.hold("sed -i s/one/uno/ src/one.txt; mkdir dist; echo built > dist/out; echo first > a; echo second > b")
		count := func() int {
			var list ipc.HeldChanges
			if err := json.Unmarshal([]byte(a.sbx("changes", "--json").out), &list); err != nil {
				t.Fatal(err)
			}
			if len(list.Changes) == 0 {
				return 0
			}
			return list.Changes[0].Count
		}
		copies := func(content string) string {
			return a.sh("grep -rlx " + content + " " + filepath.Join(a.dir, "st") + " 2>/dev/null || true")
		}
		if n := count(); n != 5 || copies("built") == "" {
			t.Fatalf("%d paths are held, and dist/out in %q", n, copies("built"))
		}
		for _, bad := range []string{"no/such", "../outside"} {
			if r := a.sbx("changes", "drop", id, bad); r.code == 0 || !strings.Contains(r.err, "no change there") {
				t.Errorf("drop of %s: %v", bad, r)
			}
		}
		if r := a.sbx("changes", "drop", id, "dist"); r.code != 0 || count() != 3 || copies("built") != "" {
			t.Errorf("drop of dist: %v; %d paths are held, and dist/out in %q", r, count(), copies("built"))
		}
		if r := a.sbx("changes", "drop", id, "dist"); r.code == 0 || !strings.Contains(r.err, "no change there") {
			t.Errorf("drop of dist once more: %v", r)
		}
		if r := a.sbx("changes", "land", id, "dist/out"); r.code == 0 || !strings.Contains(r.err, "no change there") {
			t.Errorf("what was dropped lands: %v", r)
		}
		if now := tree(); now != before {
			t.Errorf("a drop changed the project:\n%s", diff(before, now))
		}
		a.daemon.Process.Kill()
		a.daemon.Wait()
		a.daemon = nil
		a.nativeBackend("--mode", "approve-all")
		if r := a.sbx("changes", "land", id, "a"); r.code != 0 || count() != 2 {
			t.Errorf("land of a: %v; %d paths are held", r, count())
		}
		if r := a.sbx("changes", "land", id); r.code != 0 || count() != 0 {
			t.Errorf("land of the rest: %v; %d paths are held", r, count())
		}
		if got := a.sh("cat a b; head -n1 src/one.txt; ls -d dist 2>/dev/null || true"); got != "first\nsecond\nuno\n" {
			t.Errorf("the project has %q", got)
		}
		for range 2 {
			if r := a.sbx("undo", "--last"); r.code != 0 {
				t.Error(r)
			}
		}
		if now := tree(); now != before {
			t.Errorf("after the undo:\n%s", diff(before, now))
		}
		// The last path that is left ends it, whether it lands or is dropped.
		for _, last := range []string{"land", "drop"} {
			id, _ = a.hold("echo x > x; echo y > y")
			for _, r := range []result{a.sbx("changes", "land", id, "x"), a.sbx("changes", last, id, "y")} {
				if r.code != 0 {
					t.Errorf("%s last: %v", last, r)
				}
			}
			if r := a.sbx("changes"); !strings.Contains(r.out+r.err, "nothing is held") {
				t.Errorf("%s last: %v", last, r)
			}
			a.sbx("undo", "--last")

		}
		a.noLayers()
	})
}

// R-LY-05: where what a command writes can't be held, it does not run, and the answer says why and what to do.
func TestLayersThatCannotHold(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		file := filepath.Join(a.dir, "bwrap.toml")
		a.sh("umask 077; printf '[sandbox]\\nbackend = \"bwrap\"\\n' > " + file)
		a.start("--mode", "approve-all", "--config", file)
		refused := func(reason string, args ...string) {
			t.Helper()
			r := a.sbx(append([]string{"run", "--hold"}, args...)...)
			if r.code != 125 || !strings.Contains(r.err, reason) || !strings.Contains(r.err, "without --hold") {
				t.Errorf("%q: %d %s%s", args, r.code, r.out, r.err)
			}
		}
		if strings.Contains(a.sh(`printf '%s\n' 'bubblewrap 0.11' "$(bwrap --version)" | sort -VC || echo older`), "older") {
			refused(`backend = "native"`, "-c", "echo x > made")
		}
		a.nativeBackend("--mode", "approve-all")
		a.repository()
		refused("renames a directory", "-c", "git mv src lib; echo x > made")
		refused("an agent or a server inside", "--agent", "--", "sh", "-c", "echo x > made")
		if a.there("made") || !a.there("src/one.txt") {
			t.Error("the command ran")
		}
	})
}

// R-LY-05, R-LY-06: a protected name in a held change set lands with a person's own yes only; the rest lands without
// it.
func TestLayersHeldProtectedNames(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.nativeBackend("--mode", "approve-all")
		id, _ := a.hold("echo 'use nix' > .envrc; echo more > plain")
		if r := a.sbx("changes", "land", id); r.code != 126 || a.there(".envrc") || a.there("plain") {
			t.Errorf("without a person: %d %s%s", r.code, r.out, r.err)
		}
		if r := a.sbx("changes", "land", id, "plain"); r.code != 0 || a.there(".envrc") || !a.there("plain") {
			t.Errorf("the rest: %d %s%s", r.code, r.out, r.err)
		}
		a.nativeBackend()
		for _, yes := range []bool{false, true} {
			wait := a.begin("changes", "land", id)
			q := a.pending(1)[0]
			if !strings.Contains(a.sbx("pending", q.ID).out, "use nix") {
				t.Errorf("the question does not show the content: %+v", q)
			}
			if yes {
				a.sbx("approve", q.ID, "--allow")
				a.sbx("approve", q.ID, "--allow", "--confirm")
			} else {
				a.sbx("approve", q.ID, "--deny")
			}
			if r := wait(); (r.code == 0) != yes || a.there(".envrc") != yes {
				t.Errorf("answer %t: %d %s%s", yes, r.code, r.out, r.err)
			}
		}
		if got := a.sh("cat .envrc"); got != "use nix\n" {
			t.Errorf(".envrc has %q", got)
		}
		a.noLayers()
	})
}

// R-LY-02, R-LY-05: a daemon that is killed while a held change set lands leaves it whole in the project with its undo,
// or held whole: the next daemon takes back what landed, and an earlier part stays.
func TestLayersHeldCutOff(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.nativeBackend("--mode", "approve-all")
		a.repository()
		cut := false
		for range 8 {
			id, r := a.hold("seq 400 | split -l 1 - f; echo first > src/one.txt")
			if r.code != 0 || id == "" || a.sbx("changes", "land", id, "src").code != 0 {
				t.Fatalf("%d %s%s", r.code, r.out, r.err)
			}
			before := a.everything()
			wait := a.begin("changes", "land", id)
			eventually(t, "the landing has begun", func() bool {
				found, _ := filepath.Glob(filepath.Join(a.project, "f[a-z]*"))
				return len(found) > 0
			})
			a.die()
			wait()
			a.nativeBackend("--mode", "approve-all")
			eventually(t, "the landing is settled", func() bool {
				return strings.Contains(a.sbx("changes").out, id) == (a.everything() == before)
			})
			if a.everything() == before {
				cut = true
				if r := a.sbx("changes", "land", id); r.code != 0 {
					t.Fatalf("it lands again: %d %s%s", r.code, r.out, r.err)
				}
			}
			if got := a.sh("ls f* | wc -l"); got != "400\n" {
				t.Fatalf("%q files landed", got)
			}
			if r := a.sbx("undo", "--last"); r.code != 0 || a.everything() != before {
				t.Fatalf("undo: %d %s%s", r.code, r.out, r.err)
			}
			a.noLayers()
			if r := a.sbx("undo", "--last"); r.code != 0 || a.sh("head -n1 src/one.txt") != "one\n" {
				t.Fatalf("undo of the earlier part: %d %s%s", r.code, r.out, r.err)
			}
			if cut {
				return
			}
		}
		t.Error("no landing was cut off")
	})
}

// R-LY-05: held change sets are not evicted: where they have more than the undo store keeps, the next writer is refused
// with the remedy, and readers are not.
func TestLayersHeldBudget(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.configured("[files.undo]\nkeep_bytes = 200000\n", "--mode", "approve-all")
		id, r := a.hold("head -c 300000 /dev/urandom > large")
		if id == "" {
			t.Fatal(r)
		}
		if r := a.sbx("run", "-c", "echo x > f"); r.code == 0 || !strings.Contains(r.err, "sbx changes") || a.there("f") {
			t.Errorf("a writer: got %v, want a refusal with the remedy", r)
		}
		if r := a.sbx("run", "-c", "cat README"); r.code != 0 {
			t.Errorf("a reader: %v", r)
		}
		if r := a.sbx("changes", "drop", id); r.code != 0 {
			t.Fatal(r)
		}
		if r := a.sbx("run", "-c", "echo x > f"); r.code != 0 || !a.there("f") {
			t.Errorf("after the drop: %v", r)
		}
	})
}

// R-LY-05: of two who land and drop one change set at once, one does it whole, and the other finds nothing.
func TestLayersHeldSettledOnce(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.nativeBackend("--mode", "approve-all")
		a.repository()
		before := a.everything()
		for range 2 {
			id, _ := a.hold("seq 100 | split -l 1 - f; rm -r src")
			land, drop := a.begin("changes", "land", id), a.begin("changes", "drop", id)
			landed, dropped := land().code == 0, drop().code == 0
			if landed == dropped {
				t.Fatalf("landed: %t, dropped: %t", landed, dropped)
			}
			if got := a.sh("ls | grep -c '^f' || true"); got != map[bool]string{true: "100\n", false: "0\n"}[landed] {
				t.Fatalf("landed: %t, and the project has %s", landed, got)
			}
			if landed && a.sbx("undo", "--last").code != 0 || a.everything() != before {
				t.Fatalf("landed: %t, the project is\n%s\n--- instead of\n%s", landed, a.everything(), before)
			}
			a.noLayers()
		}
	})
}

// R-LY-05, R-IP-01: the process whose command wrote a change set can have it landed through the approver's socket, and
// can't answer the question; another terminal can.
func TestLayersHeldAreNotAnsweredByTheirWriter(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.nativeBackend("--mode", "approve-all")
		wait := make(chan result, 1)
		go func() {
			wait <- a.do(nil, "/bin/bash", "-c", "sbx="+filepath.Join(bin, "sbx")+`
id=$($sbx run --hold --json -c "echo use nix > .envrc" | jq -r .changes.held_id)
touch .held; until [ -e .restarted ]; do sleep 0.1; done
curl -sS --unix-socket "$SBX_SOCKET_DIR/approver.sock" -H 'Content-Type: application/json' -d '{}' \
  "http://sandboxd/v1/changes/$id" &
until q=$($sbx pending --json | jq -er '.approvals[0].id'); do sleep 0.1; done
$sbx approve "$q" --allow >&2; echo "status $?" >&2
touch .tried; wait`)
		}()
		eventually(t, "it is held", func() bool { return a.there(".held") })
		a.nativeBackend()
		a.sh("touch .restarted")
		eventually(t, "the writer has tried", func() bool { return a.there(".tried") })
		q := a.pending(1)[0]
		if a.there(".envrc") || !strings.Contains(string(q.Input), `"land"`) {
			t.Errorf("%+v", q)
		}
		a.sbx("approve", q.ID, "--allow")
		a.sbx("approve", q.ID, "--allow", "--confirm")
		r := <-wait
		if !strings.Contains(r.err, "can't answer") || !strings.Contains(r.out, `"undo_id"`) || !a.there(".envrc") {
			t.Errorf("%d %s%s", r.code, r.out, r.err)
		}
		a.noLayers()
	})
}

// R-LY-04, R-IP-01: nor can it answer the question of an undoing that it has asked at the approver's socket, where no
// other operation on files is offered. The question stays the same while other files appear in the folder.
func TestRunsUndoIsNotAnsweredByItsWriter(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.nativeBackend("--mode", "approve-all")
		wait := make(chan result, 1)
		go func() {
			wait <- a.do(nil, "/bin/bash", "-c", "sbx="+filepath.Join(bin, "sbx")+`
id=$($sbx run --json -c "echo one > new" | jq -r .changes.undo)
touch .made; until [ -e .restarted ]; do sleep 0.1; done
api() {
	curl -sS --unix-socket "$SBX_SOCKET_DIR/approver.sock" -H 'Content-Type: application/json' -d "$2" \
		"http://sandboxd/v1/files/$1"
}
api write '{"path":"'"$PWD"'/planted","content":"x"}' >&2
api undo "{\"undo_id\":\"$id\",\"session\":\"s-1\"}" >&2
api undo "{\"undo_id\":\"$id\"}" &
for _ in $(seq 100); do q=$($sbx pending --json | jq -er '.approvals[0].id') && break; sleep 0.1; done
$sbx approve "$q" --allow >&2; echo "status $?" >&2
touch .tried; wait`)
		}()
		eventually(t, "the run has ended", func() bool { return a.there(".made") })
		a.nativeBackend()
		a.sh("touch .restarted")
		eventually(t, "the writer has tried", func() bool { return a.there(".tried") })
		q := a.pending(1)[0]
		if !a.there("new") || a.there("planted") || !strings.Contains(string(q.Input), `"undo"`) {
			t.Errorf("%+v", q)
		}
		a.sbx("approve", q.ID, "--allow")
		a.sbx("approve", q.ID, "--allow", "--confirm")
		r := <-wait
		if !strings.Contains(r.err, "can't answer") || !strings.Contains(r.out, `"undo_id"`) || a.there("new") ||
			!strings.Contains(r.err, "no_route") || !strings.Contains(r.err, "without a session") {
			t.Errorf("%d %s%s", r.code, r.out, r.err)
		}
	})
}

// R-LY-04, R-IP-01: the process whose command was cut off by the daemon's death can't answer the question of its
// undoing, and the approver who has it undone can.
func TestCutOffRunsUndoIsNotAnsweredByItsWriter(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.nativeBackend("--mode", "approve-all")
		writer, undoer := make(chan result, 1), make(chan result, 1)
		const begin = `sbx=%s
question() { for _ in $(seq 200); do q=$($sbx pending --json | jq -er '.approvals[0].id') && break; sleep 0.1; done; }
await() { for _ in $(seq 300); do [ -e $1 ] && break; sleep 0.1; done; }
`
		script := func(to chan result, text string) {
			go func() {
				to <- a.do(nil, "/bin/bash", "-c", fmt.Sprintf(begin, filepath.Join(bin, "sbx"))+text)
			}()
		}
		script(writer, `$sbx run -c "echo one > new; sleep 98763" & echo $! > ../run.pid; wait; await .asked; question
$sbx approve "$q" --allow >&2; touch .tried`)
		eventually(t, "the command has written", func() bool { return a.there("new") })
		a.sh("kill -STOP $(cat ../run.pid)") // it would start another daemon
		a.die()
		a.sh("kill -KILL $(cat ../run.pid)")
		eventually(t, "the command has ended", func() bool { return count("sleep 98763") == 0 })
		a.nativeBackend()
		script(undoer, `for _ in $(seq 100); do id=$($sbx undo --list --json | jq -er '.[0].id') && break; sleep 0.1; done
curl -m 60 -sS --unix-socket "$SBX_SOCKET_DIR/approver.sock" -H 'Content-Type: application/json' \
  -d "{\"undo_id\":\"$id\"}" http://sandboxd/v1/files/undo &
question; touch .asked; await .tried
$sbx approve "$q" --allow --confirm >&2; wait`)
		r, by := <-undoer, <-writer
		if !strings.Contains(by.err, "can't answer") || strings.Contains(r.err, "can't answer") || a.there("new") {
			t.Errorf("writer: %d %s%s\nundoing: %d %s%s", by.code, by.out, by.err, r.code, r.out, r.err)
		}
	})
}
