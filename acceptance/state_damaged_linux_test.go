package acceptance

import (
	"context"
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

// brokenState are four kinds of damage to a file of the state directory, as shell functions of its name: emptied, cut
// in half, one letter changed so that JSON stays JSON, and a directory in its place.
var brokenState = []string{
	`: > "$1"`, `truncate -s $(($(stat -c %s "$1") / 2)) "$1"`, `sed -i "0,/t/s//u/" "$1"`, `rm "$1"; mkdir "$1"`,
}

// stateProbe damages a file, and names it where the verbs are asked about what it is of.
type stateProbe struct {
	file string // a pattern below the state directory, of which the first match is meant
	args []string
	want string // in what they say, which fails; "": the file's directory
	ok   bool   // they do not fail
}

// R-LY-05, R-LY-11, R-FS-08: damage to a file of the state directory is told by the verb that needs the file, with its
// place; or the daemon does not start, with the file and the remedy. Nothing is restored, landed or permitted by it.
func TestDamagedState(t *testing.T) {
	t.Parallel()
	a := ordinaryActor(t)
	a.direct()
	a.sh("mkdir w; echo text one > w/a; echo text two > w/b")
	planted := a.run("mkdir .vscode; echo '{\"title\": 1}' > .vscode/tasks.json").Quarantined[0].Undo
	manifest := a.run("mkdir q; mkdir q/.vscode; echo '{\"title\": 1}' > q/.vscode/tasks.json").Quarantined[0].Undo
	a.layered()
	record := a.changesOf("echo changed > w/b").Undo
	content := a.changesOf("echo changed > w/a").Undo
	var probes []stateProbe
	for _, name := range []string{"run.json", "set.json", "state.json"} {
		id, _ := a.hold("echo held text > " + name)
		probes = append(probes, stateProbe{file: "layers/x-" + strings.TrimPrefix(id, "h-") + "/" + name,
			args: []string{"changes", "land", id}})
	}
	trash := func(id string) string { return "trash/" + id[:strings.LastIndex(id, "-")] }
	probes = append(probes,
		stateProbe{file: "undo/" + record + "/record.json", args: []string{"undo", record}},
		stateProbe{file: "undo/" + record + "/record.json", args: []string{"status"}, ok: true},
		stateProbe{file: "undo/" + content + "/c1", args: []string{"undo", content}, want: "w/a"},
		stateProbe{file: trash(planted) + "/001-*/tasks.json", args: []string{"undo", planted}, want: trash(planted)},
		stateProbe{file: trash(manifest) + "/manifest.json", args: []string{"undo", manifest}},
		stateProbe{file: trash(manifest) + "/manifest.json", args: []string{"undo", "--list"},
			want: "what is kept of it is damaged", ok: true},
		stateProbe{file: "grants.json", args: []string{"status"}, want: "grants.json", ok: true})
	a.startWith("")
	for _, answer := range []string{"--deny", "--allow"} {
		q, ended := a.ask("curl http://example.invalid/" + answer)
		a.sbx("approve", q, answer, "--scope", "project")
		<-ended
	}
	if r := a.sbx("allow", "example.org:443"); r.code != 0 {
		t.Fatal(r)
	}
	a.stop()
	a.sh(`cd $SBX_STATE_DIR; chmod -R u+rwx layers/*/work; rm -rf layers/*/work/work; cp -a . ../good`)
	for _, damage := range brokenState {
		refresh := `cd $SBX_STATE_DIR/..; chmod -R u+rwx st/layers/*/work; rm -rf st; cp -a good st; cd st; f() { ` +
			damage + "; }; "
		for _, name := range []string{"trust.json", "settings.json", "digest.key"} {
			if name == "digest.key" && strings.HasPrefix(damage, "sed") {
				continue // any 32 bytes are a key
			}
			a.sh(refresh + "f " + name)
			said := a.refusesToStart(t)
			if !strings.Contains(said, filepath.Join(a.stateDir(), name)) || !strings.Contains(said, "move it away") {
				t.Errorf("%s, %s: the daemon says %s", name, damage, said)
			}
		}
		for i, p := range probes {
			if i == 0 || p.file != probes[i-1].file {
				refresh += "f " + p.file + "; "
			}
		}
		a.sh(refresh)
		before := a.everything()
		a.startWith(deny)
		for _, p := range probes {
			want := p.want
			if want == "" {
				want = filepath.Dir(p.file)
			}
			if r := a.sbx(p.args...); (r.code == 0) != p.ok || !strings.Contains(r.out+r.err, want) {
				t.Errorf("%s of %s: %v: %s", damage, p.file, p.args, r)
			}
		}
		if r := a.sbx("run", "-c", "curl http://example.invalid/--deny"); r.code != 126 {
			t.Errorf("%s: a command that was denied runs: %s", damage, r)
		}
		a.stop()
		if now := a.everything(); now != before {
			t.Errorf("%s: the project has %s", damage, lineDifferences(now, before))
		}
	}
}

// refusesToStart starts a daemon that is to end at once, and returns what it says.
func (a *actor) refusesToStart(t *testing.T) string {
	t.Helper()
	out, err := a.command(context.Background(), filepath.Join(bin, "sandboxd"), "--socket-dir", a.socketDir(),
		"--state-dir", a.stateDir()).CombinedOutput()
	if err == nil {
		t.Error("the daemon ended well")
	}
	return string(out)
}
