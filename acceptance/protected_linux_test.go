package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
	"sandboxd/profile"
)

// protectedCase is a name of the table of protected names and a path that it matches.
type protectedCase struct {
	profile.ProtectedGroup
	name, path string
	first      bool // of its row
}

func protectedCases(classes ...profile.Class) []protectedCase {
	var list []protectedCase
	for _, g := range profile.Protected() {
		if !slices.Contains(classes, g.Class) {
			continue
		}
		for i, name := range g.Names {
			path := strings.ReplaceAll(name, "*", "x")
			if name == ".git" {
				path = ".git/description"
			}
			list = append(list, protectedCase{g, name, path, i == 0})
		}
	}
	return list
}

// inFreshProject gives f an empty project below the actor's, and removes it.
func (a *actor) inFreshProject(f func()) {
	a.t.Helper()
	parent := a.project
	dir, err := os.MkdirTemp(parent, "names-")
	if err != nil {
		a.t.Fatal(err)
	}
	a.chown(dir)
	a.project = dir
	defer func() {
		a.project = parent
		os.RemoveAll(dir)
	}()
	a.sh("git init -q .")
	f()
}

// R-FS-03 R-OS-03: each name of the table in SECURITY.md, in commands: one that changes the file,
// replaces it, creates it deep in the tree, as a file and as a folder, and below dependencies.
func TestProtectedNamesInCommands(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.direct()
		const few = 12 // with the folders above them, no more than mounts can hold
		for cases := range slices.Chunk(protectedCases(profile.Executed, profile.Built, profile.Watched), few) {
			a.inFreshProject(func() { attemptNames(t, a, cases) })
		}
	})
}

func attemptNames(t *testing.T, a *actor, cases []protectedCase) {
	var setup, attempt strings.Builder
	for i, c := range cases {
		fmt.Fprintf(&setup, "i=%d; x='%s'\n", i, c.path)
		setup.WriteString(`p=old/$i/$x; mkdir -p "$(dirname "$p")" new/$i; echo mine > "$p"` + "\n")
		fmt.Fprintf(&attempt, "i=%d; x='%s'\n", i, c.path)
		attempt.WriteString(`p=old/$i/$x; n=new/$i/deep/$x; d=new/$i/folder/$x; m=node_modules/$i/$x
			(echo evil >> "$p"; mv "$p" "$p.away" && echo evil > "$p"; rm "$p.away") 2> /dev/null
			grep -qs evil "$p" && echo "wrote $p"
			mkdir -p "$(dirname "$n")" "$d" "$(dirname "$m")"; echo evil > "$n"; echo evil > "$d/x"; echo evil > "$m"
		`)
	}
	a.sh(setup.String())
	r := a.sbx("run", "-n", "-c", attempt.String())
	if r.code != 0 {
		t.Fatal(r)
	}
	text := func(path string) string {
		b, _ := os.ReadFile(filepath.Join(a.project, path))
		return strings.TrimSpace(string(b))
	}
	for i, c := range cases {
		at := func(dir, below string) string { return fmt.Sprintf("%s/%d/%s%s", dir, i, below, c.path) }
		held := c.Class == profile.Executed
		wrote := strings.Contains(r.out, "wrote "+at("old", "")+"\n")
		if changed := text(at("old", "")) != "mine"; changed == held || wrote == held {
			t.Errorf("%s: a command wrote it: %v, and it is changed: %v", c.name, wrote, changed)
		}
		if there := text(at("new", "deep/")) == "evil"; there == held {
			t.Errorf("%s: a file deep in the tree is left: %v", c.name, there)
		}
		if there := text(at("new", "folder/")+"/x") == "evil"; there == held {
			t.Errorf("%s: a folder deep in the tree is left: %v", c.name, there)
		}
		if there := text(at("node_modules", "")) == "evil"; there == (held && profile.HeldInDependencies(c.name)) {
			t.Errorf("%s: a file below dependencies is left: %v", c.name, there)
		}
	}
}

// R-SH-04 R-FS-03: a command line that names a file of the table asks, and asks twice for what other
// programs execute or trust, at once or in a build.
func TestProtectedNamesInQuestions(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.start()
		cases := protectedCases(profile.Executed, profile.Built, profile.Watched)
		var lines []checkLine
		for _, c := range cases {
			lines = append(lines, checkLine{ID: c.name, Command: "echo x > 'sub/" + c.path + "'", Cwd: a.project})
		}
		for i, v := range a.checks(lines) {
			c := cases[i]
			if twice := v.Rule == "protected path"; v.Decision != "ask" || twice == (c.Class == profile.Watched) {
				t.Errorf("%s: %s by %q", c.name, v.Decision, v.Rule)
			}
		}
	})
}

// R-FS-03: the file tool asks before it creates a file of the table, twice for the first two classes,
// and one yes too few changes nothing. The first name of each row is approved, and written.
func TestProtectedNamesInTheFileTool(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh("mkdir docs")
		a.start()
		person := a.personPeer("ann", true)
		ctx, cancel := context.WithTimeout(t.Context(), slow*5*time.Minute)
		defer cancel()
		a.trust(ctx, person)
		agent := a.fileAgent(a.agentPeer("editor"), ipc.KindAPI)
		for i, c := range protectedCases(profile.Executed, profile.Built, profile.Watched) {
			// docs/** is safe: what is in the table is not.
			path := fmt.Sprintf("docs/%d/%s", i, c.path)
			req := ipc.FileRequest{Op: "create", Path: path, Content: "x", Parents: true, CallID: c.name}
			got := make(chan error, 1)
			go func() {
				_, err := agent.do(ctx, req)
				got <- err
			}()
			q := question(ctx, t, &person.approver, req.CallID)
			if twice := c.Class != profile.Watched; q.Confirm != twice {
				t.Errorf("%s asks twice: %v", c.name, q.Confirm)
			}
			answer := ipc.Answer{Mode: "soft"}
			if c.first {
				answer = ipc.Answer{Allow: true, Scope: "once"}
			}
			decide(ctx, t, &person.approver, q, answer)
			err := <-got
			_, missing := os.Stat(filepath.Join(a.project, req.Path))
			right := err == nil && missing == nil
			if !c.first {
				right = ipc.CodeOf(err) == ipc.CodeDenied && missing != nil
			}
			if !right {
				t.Errorf("%s: approved: %v: %v, %v", c.name, c.first, err, missing)
			}
		}
	})
}

// R-OS-02, R-OS-03: hundreds of protected names take no room from those that are hidden, whichever tree these are in,
// and keep no command from running, by either back end.
func TestManyNames(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh("for i in $(seq 150); do mkdir -p r$i/.git/hooks p$i; touch p$i/CLAUDE.md\n" +
			"echo CANARY > p$i/x.secret; done; mkdir -p r1/deep/er; echo CANARY > r1/deep/er/y.secret")
		for _, backend := range []string{"native", "bwrap"} {
			a.configured("[sandbox]\nbackend = \""+backend+"\"\nlayers = \"off\"\nhidden = [\"**/*.secret\"]\n",
				"--mode", "approve-all")
			a.sbx("trust")
			r := a.sbx("run", "-c", "cat p*/x.secret r1/deep/er/y.secret; echo ran > out")
			if r.code != 0 || strings.Contains(r.out, "CANARY") || !a.there("out") {
				t.Errorf("%s: %v", backend, r)
			}
			a.sh("rm out")
			a.stop()
		}
	})
}
