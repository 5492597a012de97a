package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Issue "A working day", R-LY-07, R-LY-11: real work has the same result inside as outside, unasked under the policy
// contained, and undo gives the project as it was. Each script in testdata/workloads makes a project; the lines after
// #run are its commands. `make workloads` runs all of them, which needs the tools in docs/workloads.md.
func TestDayWorkloads(t *testing.T) {
	scripts, err := filepath.Glob("testdata/workloads/*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no workloads: %v", err)
	}
	if os.Getenv("ACCEPTANCE_WORKLOADS") == "" {
		scripts = []string{"testdata/workloads/git-trees.sh", "testdata/workloads/venv.sh"} // the rest: make workloads
	}
	a := ordinaryActor(t)
	a.extraEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin"}
	first := a.project
	defer func() { a.project = first }()
	for _, script := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".sh"), func(t *testing.T) { workload(t, a, first, script) })
	}
}

// kept describes the files of a project but for git's own and dependencies' and build trees, and git's state.
func (a *actor) kept() string {
	return a.sh(`git status --porcelain; git fsck --no-dangling 2>&1; git for-each-ref; git config --list --local
find . \( -name .git -o -name node_modules -o -name .venv -o -name target -o -name build -o -name __pycache__ \
	-o -name .pytest_cache -o -name '*.log' \) -prune -o -type f -print0 | sort -z | xargs -0 sha256sum`)
}

func workload(t *testing.T, a *actor, parent, script string) {
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	setup, lines, ok := strings.Cut(string(text), "#run\n")
	if !ok {
		t.Fatalf("%s has no #run", script)
	}
	name := strings.TrimSuffix(filepath.Base(script), ".sh")
	a.project = parent
	a.sh("mkdir -p " + name)
	a.project = filepath.Join(parent, name)
	a.sh("git init -q -b main . && git config user.name a && git config user.email a@example.org\n" + setup +
		"\ngit add -A && git commit -qm first")
	a.project = parent
	a.sh("mkdir -p outside && cp -a " + name + " outside/")
	a.project = filepath.Join(parent, name)
	a.startWith(deny + "[presets]\nuse = [\"go\", \"node\", \"python\", \"rust\", \"c\"]\n[sandbox.limits]\nwall = \"5m\"")
	if r := a.sbx("trust", "--contained"); r.code != 0 {
		t.Fatal(r)
	}
	before, begin := a.kept(), time.Now()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		start := time.Now()
		got := a.sbx("run", "-c", line)
		inside := time.Since(start)
		a.project = filepath.Join(parent, "outside", name)
		want := a.do(nil, "/bin/bash", "--noprofile", "--norc", "-c", line)
		a.project = filepath.Join(parent, name)
		if got.out != want.out || got.code != want.code || strings.TrimSpace(want.out+want.err) == "" && want.code != 0 {
			t.Errorf("%s: inside %v\noutside %v", line, got, want)
		}
		t.Logf("%.1f s inside: %.60q", inside.Seconds(), got.out)
	}
	a.start("--mode", "approve-all")
	if r := a.sbx("undo", "--since", time.Since(begin).Round(time.Second).String()); r.code != 0 {
		t.Errorf("undo: %v", r)
	}
	if after := a.kept(); after != before {
		t.Errorf("after the undo:\n%s--- want\n%s", after, before)
	}
}
