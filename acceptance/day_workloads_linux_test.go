package acceptance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// small are the workloads that every run of the tests tries; make workloads runs all of them.
var small = []string{"git-trees", "make", "perl-prove", "venv"}

// mostQuestions is how many questions all workloads may ask together.
const mostQuestions = 3

// R-LY-07, R-LY-11: real work has the same result inside as outside, unasked under the policy
// contained, and undo gives the project as it was. Each script in testdata/workloads makes a project; the lines after
// #run are its commands, which docs/workloads.md describes. Of the lines before, "#config LINE" configures the daemon,
// "#debian PACKAGE" unpacks a source package, "#session" has the commands share one session, and a command after "#ask"
// may ask.
func TestDayWorkloads(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/workloads/*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no workloads: %v", err)
	}
	document, err := os.ReadFile("../docs/workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	names := func(script string) string { return strings.TrimSuffix(filepath.Base(script), ".sh") }
	if listed := strings.Count(string(document), "\n| `"); listed != len(scripts) {
		t.Errorf("docs/workloads.md has %d rows for %d workloads", listed, len(scripts))
	}
	for _, script := range scripts {
		if !strings.Contains(string(document), "\n| `"+names(script)+"` |") {
			t.Errorf("docs/workloads.md lacks %s", names(script))
		}
	}
	if os.Getenv("SBX_WORKLOADS") == "" {
		scripts = slices.DeleteFunc(scripts, func(s string) bool { return !slices.Contains(small, names(s)) })
	}
	a := ordinaryActor(t)
	first, questions := a.project, 0
	defer func() { a.project = first }()
	for _, script := range scripts {
		t.Run(names(script), func(t *testing.T) {
			outer := a.t
			a.t = t
			defer func() { a.t = outer }()
			questions += workload(t, a, first, script)
		})
	}
	if questions > mostQuestions {
		t.Errorf("%d questions, at most %d for all workloads", questions, mostQuestions)
	}
}

// kept describes the files of a project but for git's own and for the trees that snapshots skip, and git's state.
func (a *actor) kept() string {
	return a.sh(`git status --porcelain; git fsck --no-dangling 2>&1; git for-each-ref; git config --list --local
find . \( -name .git -o -name node_modules -o -name .venv -o -name target -o -name __pycache__ \
	-o -name .pytest_cache \) -prune -o -type f -print0 | sort -z | xargs -0 sha256sum`)
}

// workload runs a script's commands inside and outside, takes them back, and returns how many questions they asked.
func workload(t *testing.T, a *actor, parent, script string) (questions int) {
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	setup, lines, ok := strings.Cut(string(text), "#run\n")
	if !ok {
		t.Fatalf("%s has no #run", script)
	}
	config := "[presets]\nuse = [\"go\", \"node\", \"python\", \"rust\", \"c\"]\n[sandbox.limits]\nwall = \"9m\"\n" +
		"[approval]\ntimeout = \"15s\"\ntimeout_remote = \"15s\"\n"
	for line := range strings.Lines(setup) {
		if more, ok := strings.CutPrefix(line, "#config "); ok {
			config += more
		}
		if pkg, ok := strings.CutPrefix(line, "#debian "); ok {
			unpack, err := os.ReadFile("../packaging/debian-source.sh")
			if err != nil {
				t.Fatal(err)
			}
			setup = "(set -- " + strings.TrimSpace(pkg) + " .\n" + string(unpack) + ")\n" + setup
		}
	}
	a.extraEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin"}
	name := strings.TrimSuffix(filepath.Base(script), ".sh")
	a.project = parent
	a.sh("mkdir -p outside " + name)
	a.project = filepath.Join(parent, name)
	a.sh("git init -q -b main . && git config user.name a && git config user.email a@example.org\n" + setup +
		"\ngit add -A && git commit -qm first && cp -a . ../outside/" + name)
	a.startWith(config)
	if r := a.sbx("trust", "--contained"); r.code != 0 {
		t.Fatal(r)
	}
	t.Cleanup(func() { a.removeCaches(name) })
	before, begin := a.kept(), time.Now()
	run := []string{"run", "-c"}
	if strings.Contains(setup, "#session\n") {
		run = []string{"run", "--session", a.joined(), "-c"}
	}
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		start := time.Now()
		line, asks := strings.CutPrefix(strings.TrimSpace(line), "#ask ")
		var got result
		if asks {
			counted := func(ipc.Approval) bool { questions++; return true }
			got = a.landing(counted, append(run, line)...).result
		} else {
			got = a.sbx(append(run, line)...)
		}
		inside := time.Since(start)
		a.project = filepath.Join(parent, "outside", name)
		want := a.do(nil, "/bin/bash", "--noprofile", "--norc", "-c", line)
		a.project = filepath.Join(parent, name)
		if got.out != want.out || got.code != want.code || strings.TrimSpace(want.out) == "" {
			t.Errorf("%s: inside %v\noutside %v", line, got, want)
		}
		t.Logf("%.1f s, outside %.1f s: %.300q", inside.Seconds(), (time.Since(start) - inside).Seconds(), got.out)
	}
	a.extraEnv = a.extraEnv[:1]
	r := a.undone("--since", (time.Since(begin).Round(time.Second) + time.Second).String())
	if r.code != 0 && !strings.Contains(r.err, "nothing in this project that could be undone") {
		t.Errorf("undo: %v", r)
	}
	if after := a.kept(); after != before {
		t.Errorf("after the undo:\n%s%v", diff(before, after), r)
	}
	return questions
}
