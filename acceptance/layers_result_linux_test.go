package acceptance

import (
	"encoding/json"
	"strings"
	"testing"

	"sandboxd/audit"
)

// landings returns the records of ends with an exec id and a change set, the newest first.
func (a *actor) landings() (list []audit.Record) {
	a.t.Helper()
	for line := range strings.Lines(a.sbx("log", "--json", "-n", "1000").out) {
		var r audit.Record
		if json.Unmarshal([]byte(line), &r) == nil && r.Operation == "end" && r.Changes != nil {
			list = append([]audit.Record{r}, list...)
		}
	}
	return list
}

// R-LY-02, R-LY-05: the result of a layered run says whether it landed, and where it did not though it should the exit
// status is 126 beside the command's own; the record of each landing has the digest and the counts of its change set.
func TestLayersResult(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("no_approver = \"deny\"\n")
		a.repository()
		type end struct {
			ExitCode *int `json:"exit_code"`
			Status   int
		}
		result := func(r ran) (e end) {
			t.Helper()
			if err := json.Unmarshal([]byte(r.out), &e); err != nil || e.ExitCode == nil {
				t.Fatalf("%v in %s%s", err, r.out, r.err)
			}
			return e
		}
		for _, c := range []struct {
			what         string
			line         string
			landed       bool
			status, exit int
			own          bool // changes.exit is there
		}{
			{"landed", "echo x > new.md; exit 3", true, 3, 3, false},
			{"nothing to land", "touch src; true", true, 0, 0, false},
			{"unanswered", plant("more/.envrc", "x") + "; exit 4", false, 126, 4, true},
		} {
			r := a.run(c.line)
			e, changes := result(r), r.Changes
			if changes.Kind != "layered" || changes.Landed == nil || *changes.Landed != c.landed ||
				(changes.Exit != nil) != c.own || c.own && *changes.Exit != c.exit {
				t.Errorf("%s: the changes are %+v", c.what, changes)
			}
			if r.code != c.status || e.Status != c.status || *e.ExitCode != c.exit {
				t.Errorf("%s: status %d, exit %d: %s", c.what, r.code, *e.ExitCode, r.out)
			}
			if got := a.landings()[0].Changes; got.Digest != changes.Digest || got.Created != changes.Created {
				t.Errorf("%s: the record has %+v, the result %+v", c.what, got, changes)
			}
		}
		a.containedLayers("")
		id, r := a.hold("echo 1 > 1; echo 2 > 2; rm src/new.txt; exit 5")
		if e := result(r); r.code != 5 || *e.ExitCode != 5 || *r.Changes.Landed || r.Changes.Exit != nil {
			t.Errorf("--hold: %d %+v", r.code, r.Changes)
		}
		for _, args := range [][]string{{"1"}, nil} {
			if r := a.landing(always, append([]string{"changes", "land", id}, args...)...); r.code != 0 {
				t.Fatal(r.out, r.err)
			}
			got := a.landings()[0]
			want := audit.Changes{Kind: "layered", Digest: r.Changes.Digest, Covered: true, Created: 1, Deleted: 1 - len(args)}
			if *got.Changes != want || got.Tool == "bash" || got.Undo == "" {
				t.Errorf("the record of the landing is %+v, want %+v", *got.Changes, want)
			}
		}
		if r := a.run("cat src/one.txt"); r.Changes.Landed != nil {
			t.Errorf("a reader: %+v", r.Changes)
		}
	})
}
