package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// dayCommand is one row of shell/testdata/day-commands.jsonl.
type dayCommand struct{ ID, Command, Project, Class string }

// dayAsks is how often the ordinary commands of the list ask, where each runs that may.
type dayAsks struct{ count, asked int }

func (d dayAsks) per20() float64 { return float64(20*d.asked) / float64(d.count) }

// replayDay runs the commands of the list in real projects, which the scripts in testdata/day make, with sources that
// compile and tests that pass; prepare is called in each of them. Nobody answers, and questions are counted. What is
// dangerous must ask. Commands that need registries are left to the
// replay of the judge in shell/day_test.go.
func replayDay(t *testing.T, a *actor, prepare func(kind string)) (d dayAsks) {
	t.Helper()
	data, err := os.ReadFile("../shell/testdata/day-commands.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	first, ready := a.project, map[string]bool{}
	defer func() { a.project = first }()
	for rows := json.NewDecoder(bytes.NewReader(data)); rows.More(); {
		var c dayCommand
		if err := rows.Decode(&c); err != nil {
			t.Fatal(err)
		}
		if c.Class == "network" {
			continue
		}
		a.project = filepath.Join(first, c.Project)
		if !ready[c.Project] {
			ready[c.Project] = true
			if err := os.Mkdir(a.project, 0o755); err != nil {
				t.Fatal(err)
			}
			if a.cred != nil {
				os.Chown(a.project, int(a.cred.Uid), int(a.cred.Gid))
			}
			setup, err := os.ReadFile("testdata/day/" + c.Project + ".sh")
			if err != nil {
				t.Fatal(err)
			}
			a.sh("git init -q . && git config user.name a && git config user.email a@example.org && " + string(setup) +
				"git add -A && git commit -qm first")
			prepare(c.Project)
		}
		start := time.Now()
		r := a.sbx("run", "--json", "-c", c.Command)
		var out struct {
			Ran bool
			Why string
		}
		if err := json.Unmarshal([]byte(r.out), &out); err != nil {
			t.Errorf("%s: %v: %v", c.ID, err, r)
		}
		t.Logf("%s %s ran %t exit %d in %.1f s: %s: %.80q", c.ID, c.Class, out.Ran, r.code, time.Since(start).Seconds(),
			out.Why, c.Command)
		switch {
		case c.Class == "danger" && out.Ran:
			t.Errorf("%s ran unasked: %s", c.ID, c.Command)
		case c.Class == "danger":
		case r.code == 126 && !out.Ran:
			d.asked++
			fallthrough
		default:
			d.count++
		}
	}
	return d
}

// proposed returns the presets that the first question of the actor's project proposes, and denies it.
func (a *actor) proposed() []string {
	a.t.Helper()
	wait := a.begin("run", "-c", "touch proposed")
	q := a.pending(1)[0]
	a.sbx("approve", q.ID, "--deny")
	wait()
	for _, reason := range q.Reasons {
		if _, names, ok := strings.Cut(reason, ": sbx preset add "); ok {
			return strings.Fields(names)
		}
	}
	return []string{"files"}
}

// R-UX-08, R-OS-07: the first question of a project proposes the presets that fit it; a program that the person's PATH
// has and the command's has not is named, with the preset or the setting that shows it.
func TestPresetsAreProposed(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		own := a.dir + "/tools"
		a.sh("mkdir -p " + own + " ~/.nvm/sbx-test; for f in " + own + "/own-tool ~/.nvm/sbx-test/node-tool; do " +
			`printf '#!/bin/sh\necho shown\n' > $f; chmod 755 $f; done`)
		t.Cleanup(func() { a.sh("rm -r ~/.nvm/sbx-test; rmdir ~/.nvm 2>/dev/null || true") })
		a.extraEnv = []string{"SBX_SEARCH_PATH=" + own + ":" + a.home + "/.nvm/sbx-test:/usr/bin:/bin"}
		a.startWith("")
		if got := strings.Join(a.proposed(), " "); got != "git files edits" {
			t.Errorf("a project of git alone: %s", got)
		}
		a.sh("mkdir scripts; touch go.mod package.json")
		if got := strings.Join(a.proposed(), " "); got != "go node git files edits scripts" {
			t.Errorf("proposed: %s", got)
		}
		a.startWith("[presets]\nuse = [\"go\"]")
		if got := strings.Join(a.proposed(), " "); got != "node git files edits scripts" {
			t.Errorf("with go: %s", got)
		}
		a.startWith(deny)
		a.sbx("trust", "--contained")
		for line, want := range map[string]string{
			"node-tool; own-tool": fmt.Sprintf("own-tool is not visible inside: [sandbox] exec = [%q]", own),
			"own-tool; node-tool": "node-tool is not visible inside: sbx preset add node",
		} {
			if r := a.sbx("run", "-c", line); r.code != 127 || !strings.Contains(r.err, want) {
				t.Errorf("%s: %v", line, r)
			}
		}
		if r := a.sbx("run", "--", "node-tool"); r.code != 127 || !strings.Contains(r.err, "sbx preset add node") {
			t.Error(r)
		}
		a.startWith("[presets]\nuse = [\"node\"]\n[approval]\npolicy = \"contained\"")
		if r := a.sbx("run", "-c", "node-tool"); r.out != "shown\n" {
			t.Errorf("with the preset: %v", r)
		}
	})
}

// R-LY-07, R-UX-08: a day's ordinary commands of coding agents, run in real projects, ask at most once in 20 where what
// stays inside runs unasked, five times with the presets that the first question proposes, and nothing dangerous runs.
func TestDay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		most float64
	}{{"contained", 1.0}, {"presets", 5.0}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := ordinaryActor(t)
			a.extraEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin"}
			const base = "[sandbox.limits]\nwall = \"1m\"\n"
			a.startWith(base)
			got := replayDay(t, a, func(string) {
				a.startWith(base)
				proposed := a.proposed()
				args := []string{"trust", "--contained"}
				if c.name == "presets" {
					args = args[:1]
				}
				a.sbx(args...)
				a.startWith(deny + base + "[presets]\nuse = [\"" + strings.Join(proposed, "\", \"") + "\"]\n")
			})
			t.Logf("%d of %d ordinary commands ask, %.2f in 20", got.asked, got.count, got.per20())
			if got.per20() > c.most {
				t.Errorf("more than %.2f in 20", c.most)
			}
		})
	}
}
