package acceptance

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// containedLayers starts the daemon with layers and the policy contained, so that the landing alone asks.
func (a *actor) containedLayers(more string) {
	a.t.Helper()
	a.startWith("[sandbox]\nbackend = \"" + overlays + "\"\nlayers = \"auto\"\n" +
		"[approval]\npolicy = \"contained\"\n" + more)
	if r := a.sbx("trust"); r.code != 0 {
		a.t.Fatal(r)
	}
}

// landing runs sbx with questions, of which seen answers each.
func (a *actor) landing(seen func(q ipc.Approval) (yes bool), args ...string) (out ran) {
	a.t.Helper()
	wait := a.begin(args...)
	done := make(chan result, 1)
	go func() { done <- wait() }()
	for answered := ""; ; {
		select {
		case out.result = <-done:
			_ = json.Unmarshal([]byte(out.result.out), &out)
			return out
		case <-time.After(50 * time.Millisecond):
		}
		var list ipc.ApprovalList
		_ = json.Unmarshal([]byte(a.sbx("pending", "--json").out), &list)
		for _, q := range list.Approvals {
			switch {
			case q.ID == answered:
			case seen(q):
				a.sbx("approve", q.ID, "--allow")
				a.sbx("approve", q.ID, "--allow", "--confirm")
			default:
				a.sbx("approve", q.ID, "--deny")
			}
			answered = q.ID
		}
	}
}

// plant returns a line of Python that writes a file, which its words do not show.
func plant(name, content string) string {
	at := max(len(name)-3, 0)
	name = name[:at] + "' '" + name[at:] // a name of credentials would ask before the run
	return `python3 -c "import os; n = '` + name + `'; os.makedirs(os.path.dirname(n) or '.', exist_ok=True); ` +
		`open(n, 'a').write('` + content + `')"`
}

// rmtree is a line of Python that deletes a folder.
const rmtree = `python3 -c "import shutil; shutil.rmtree('many')"`

// R-LY-02, R-LY-06, R-LY-07: what the words of a command do not show asks at the landing: protected names, what git
// would run, many deletions. While the question is open, and after a no, the project is as before; after a yes it is as
// the command left it, and undo takes it back.
func TestLayersAskAtLanding(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		a.sh("mkdir many && cd many && for i in $(seq 60); do echo $i > $i; done")
		before := a.everything()
		for _, c := range []struct{ line, reason, after, want string }{
			{plant(".envrc", "use nix") + "; echo y > plain", ".envrc", "cat .envrc plain", "use nixy\n"},
			{"git init -q sub; " + plant("sub/.git/config", "[core]\\n\\tfsmonitor = ./x\\n"), "core.fsmonitor",
				"git -C sub config core.fsmonitor", "./x\n"},
			{plant("sub/.vscode/tasks.json", "{}"), "sub/.vscode", "cat sub/.vscode/tasks.json", "{}"},
			{rmtree, "it deletes 60 files", "ls many 2>&1 | grep -c 'No such'", "1\n"},
		} {
			for _, yes := range []bool{false, true} {
				asked := false
				r := a.landing(func(q ipc.Approval) bool {
					if !strings.Contains(strings.Join(q.Reasons, "\n"), c.reason) {
						return true // it is about the command
					}
					asked = true
					if now := a.everything(); now != before {
						t.Errorf("%s: while the question is open the project is\n%s\n--- instead of\n%s", c.line, now, before)
					}
					return yes
				}, "run", "--json", "-c", c.line)
				if !asked {
					t.Fatalf("%s: the landing does not ask: %d %s%s", c.line, r.code, r.out, r.err)
				}
				if !yes {
					if now := a.everything(); r.code != 126 || r.Changes.HeldID == "" || now != before {
						t.Errorf("%s: after a no: %d %s%s %s", c.line, r.code, r.out, r.err, now)
					}
					a.landing(func(ipc.Approval) bool { return true }, "changes", "drop", r.Changes.HeldID)
					continue
				}
				if got := a.sh(c.after); got != c.want || r.code != 0 || r.Changes.Held != "" || r.Changes.Undo == "" {
					t.Errorf("%s: after a yes: %q, %d %s%s", c.line, got, r.code, r.out, r.err)
				}
				if a.there("sub/.git") { // undo refuses the objects of a new repository
					a.sh("rm -rf sub")
					before = a.everything()
					continue
				}
				a.landsBack(before)
			}
		}
		if r := a.run("mv many moved && rm moved/1"); r.code != 0 || r.Changes.Held != "" {
			t.Errorf("a moved folder asks: %d %s%s", r.code, r.out, r.err)
		}
		a.noLayers()
	})
}

// landsBack undoes the last change, which may ask, and expects the project as before.
func (a *actor) landsBack(before string) {
	a.t.Helper()
	r := a.landing(func(ipc.Approval) bool { return true }, "undo", "--last")
	if now := a.everything(); r.code != 0 || now != before {
		a.t.Fatalf("undo: %d %s%s; the project is\n%s\n--- instead of\n%s", r.code, r.out, r.err, now, before)
	}
}

// R-LY-02, R-LY-05: where nobody answers at the landing, the change set is held and lands later; a held one asks about
// what git would run, too, which nobody was asked about before.
func TestLayersUnansweredAtLanding(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("no_approver = \"deny\"\n")
		a.repository()
		before := a.everything()
		line := "git init -q sub; " + plant("sub/.git/config", "[core]\\n\\tpager = ./x\\n") + "; echo y > plain.md"
		r := a.run(line)
		if now := a.everything(); r.code != 126 || r.Changes.HeldID == "" || now != before {
			t.Fatalf("%d %s%s %s", r.code, r.out, r.err, now)
		}
		if r := a.sbx("changes", "land", r.Changes.HeldID, "plain.md"); r.code != 0 || a.sh("cat plain.md") != "y\n" {
			t.Errorf("the rest: %d %s%s", r.code, r.out, r.err)
		}
		id, held := a.hold(line)
		if held.code != 0 {
			t.Fatalf("%d %s%s", held.code, held.out, held.err)
		}
		if r := a.sbx("changes", "land", id); r.code != 126 || a.there("sub") {
			t.Errorf("a held one lands unasked: %d %s%s", r.code, r.out, r.err)
		}
		if shown := a.sbx("changes", "show", id); !strings.Contains(shown.out, "pager") {
			t.Errorf("it shows %s%s", shown.out, shown.err)
		}
		for _, one := range []string{r.Changes.HeldID, id} {
			if r := a.sbx("changes", "drop", one); r.code != 126 {
				t.Errorf("dropped unasked: %d %s%s", r.code, r.out, r.err)
			}
		}
	})
}
