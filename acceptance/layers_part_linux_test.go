package acceptance

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// landedOnly runs a line whose landing asks, and lets only some of its paths land.
func (a *actor) landedOnly(line string, only ...string) (out ran) {
	a.t.Helper()
	wait := a.begin("run", "--json", "-c", line)
	id, _ := a.question()
	args := []string{"approve", id, "--allow", "--confirm"}
	for _, p := range only {
		args = append(args, "--only", p)
	}
	if r := a.sbx(args...); r.code != 0 {
		a.t.Fatalf("%q: %v", args, r)
	}
	out.result = wait()
	_ = json.Unmarshal([]byte(out.result.out), &out)
	return out
}

// R-LY-02, R-LY-05: a yes at a landing may be for some of the files: these land and can be undone, the others are held,
// and land or are dropped later. A yes for what is not in the question counts for nothing.
func TestLayersLandInPart(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		tree := func() string { // git's own files get other times and inodes by what looks at them
			return a.sh(`find . -path ./.git -prune -o -printf '%p %y %m %n %s %T@ %l\n' | sort
git ls-files -s; git log --oneline`)
		}
		before := tree()
		line := plant(".envrc", "use nix") +
			"; echo 1 >> src/one.txt; echo 2 > src/two; mkdir made; echo 3 > made/a; echo 4 > made/b; git add made"
		wait := a.begin("run", "--json", "-c", line)
		_, text := a.question()
		var asked ipc.ApprovalList
		if err := json.Unmarshal([]byte(text), &asked); err != nil {
			t.Fatal(err)
		}
		q := asked.Approvals[0]
		want := []string{".envrc", ".git", "made", "src/one.txt", "src/two"}
		if got := slices.Sorted(slices.Values(q.Paths)); !slices.Equal(got, want) {
			t.Fatalf("the question has the paths %q, want %q", got, want)
		}
		if r := a.sbx("pending", q.ID); strings.Count(r.out, "\nlands: ") != len(want) {
			t.Errorf("pending: %s", r)
		}
		for _, bad := range [][]string{
			{"--only", "none"}, {"--only", "../made"}, {"--only", ".git/config"}, {"--only", "made/a"},
			{"--only", "src/tw"}, {"--only", "src/two", "--only", "other"}, {"--only", "src/two", "--scope", "session"},
		} {
			r := a.sbx(append([]string{"approve", q.ID, "--allow", "--confirm"}, bad...)...)
			if r.code == 0 || !strings.Contains(r.err, "path") {
				t.Errorf("%q: %v", bad, r)
			}
		}
		if r := a.sbx("approve", q.ID, "--deny", "--only", "made"); r.code == 0 {
			t.Errorf("a no for some of the files: %v", r)
		}
		if now := tree(); now != before {
			t.Fatalf("what was refused changed the project:\n%s", diff(before, now))
		}
		a.sbx("approve", q.ID, "--deny")
		wait()
		id := a.held()
		a.landing(func(ipc.Approval) bool { return true }, "changes", "drop", id)

		r := a.landedOnly(line, "src", "made")
		c := r.Changes
		if r.code != 0 || c.Landed == nil || *c.Landed || c.HeldID == "" || !strings.Contains(c.Held, "a person") ||
			c.Undo == "" {
			t.Errorf("%d %s%s", r.code, r.out, r.err)
		}
		if got := a.sh("cat src/two made/a made/b; ls .envrc 2>&1 | grep -c 'No such'; git ls-files made"); got !=
			"2\n3\n4\n1\n" {
			t.Errorf("the project has %q", got)
		}
		var list ipc.HeldChanges
		if err := json.Unmarshal([]byte(a.sbx("changes", "--json").out), &list); err != nil || len(list.Changes) != 1 ||
			!strings.Contains(list.Changes[0].Why, "a person") {
			t.Errorf("held: %+v, %v", list, err)
		}
		if r := a.sbx("log", "--json"); !strings.Contains(r.out, `"only":"src\nmade"`) {
			t.Errorf("the log does not have which files: %s", r.out)
		}
		if r := a.landing(func(ipc.Approval) bool { return true }, "changes", "land", c.HeldID, ".envrc"); r.code != 0 ||
			a.sh("cat .envrc") != "use nix" {
			t.Errorf("the rest: %v", r.result)
		}
		a.landing(func(ipc.Approval) bool { return true }, "changes", "drop", c.HeldID)
		for range 2 {
			a.landing(func(ipc.Approval) bool { return true }, "undo", "--last")
		}
		if now := tree(); now != before {
			t.Errorf("after the undo:\n%s", diff(before, now))
		}
		if r := a.landedOnly(line, want...); r.code != 0 || r.Changes.Held != "" || r.Changes.HeldID != "" {
			t.Errorf("all of them, named: %d %s%s", r.code, r.out, r.err)
		}
		a.noLayers()
	})
}

// R-LY-02: a part that would do more by the time of the yes than its question said is asked about again.
func TestLayersPartAsksAgain(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		wait := a.begin("run", "--json", "-c", plant(".envrc", "x")+"; mkdir h; echo x > h/pre-commit; echo 1 > plain")
		first, _ := a.question()
		a.sh("git config core.hooksPath h")
		if r := a.sbx("approve", first, "--allow", "--confirm", "--only", "h"); r.code != 0 {
			t.Fatal(r)
		}
		var second, text string
		eventually(t, "a second question", func() bool {
			second, text = a.question()
			return second != first
		})
		if !strings.Contains(text, "h/pre-commit: ") || a.there("h") {
			t.Errorf("the second question: %s", text)
		}
		if r := a.sbx("approve", second, "--allow", "--confirm", "--only", "h"); r.code != 0 {
			t.Fatal(r)
		}
		var r ran
		out := wait()
		if err := json.Unmarshal([]byte(out.out), &r); err != nil || r.Changes.Landed == nil || *r.Changes.Landed ||
			r.Changes.HeldID == "" || a.sh("cat h/pre-commit; ls .envrc plain 2>/dev/null || true") != "x\n" {
			t.Errorf("%v %s", err, out)
		}
	})
}

// held is the id of the change set that is held.
func (a *actor) held() string {
	a.t.Helper()
	var list ipc.HeldChanges
	if err := json.Unmarshal([]byte(a.sbx("changes", "--json").out), &list); err != nil || len(list.Changes) != 1 {
		a.t.Fatalf("held: %+v, %v", list, err)
	}
	return filepath.Base(list.Changes[0].ID)
}
