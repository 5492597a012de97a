package shell_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// dayCommand is one row of day-commands.jsonl.
type dayCommand struct{ ID, Command, Project, Class string }

// ordinary reports whether the command counts for the number of questions.
func (c dayCommand) ordinary() bool {
	return c.Class == "read" || c.Class == "build" || c.Class == "write"
}

// dayProjects has the bash that makes the project of each kind, so that the facts are real.
var dayProjects = map[string]string{
	"go": `mkdir -p internal/keys && echo 'module example.org/m' > go.mod
		touch parse.go decode.go internal/keys/a.go test.log`,
	"node": `mkdir -p src test && echo '{"name":"m","scripts":{"test":"vitest"}}' > package.json
		touch src/main.ts src/add.ts vite.config.ts package-lock.json`,
	"python": `mkdir -p app tests scripts && echo 'echo ok' > scripts/check.sh
		touch pyproject.toml requirements.txt app/core.py app/web.py tests/test_core.py manage.py reproduce.py`,
	"c":    `mkdir -p dist src && touch CMakeLists.txt Makefile configure t && chmod +x configure`,
	"rust": `mkdir -p src && touch Cargo.toml src/main.rs src/parse.rs`,
	"git":  `touch f1.txt f2.txt`,
	"misc": `mkdir -p out && touch data.csv data.json shot.png`,
}

// dayPresets has the presets that match a project of each kind.
var dayPresets = map[string][]string{
	"go": {"go"}, "node": {"node"}, "python": {"python"}, "c": {"c"}, "rust": {"rust"},
}

// asks is how often the commands of each class ask.
type asks struct {
	count, asked map[string]int
	why          map[string]int
}

// per20 is how often one of the classes asks in 20 commands.
func (a asks) per20(classes ...string) float64 {
	n, asked := 0, 0
	for _, c := range classes {
		n, asked = n+a.count[c], asked+a.asked[c]
	}
	return float64(20*asked) / float64(n)
}

func replayDay(t *testing.T, presets func(kind string) []string, asksAt func(shell.Verdict) bool) asks {
	t.Helper()
	data, err := os.ReadFile("testdata/day-commands.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for kind, setup := range dayProjects {
		dir := filepath.Join(root, kind)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		const commit = `; git init -q . && git add . && git -c user.name=a -c user.email=a@example.org commit -qm first`
		cmd := exec.Command("bash", "--noprofile", "--norc", "-ec", setup+commit)
		cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make the %s project: %v: %s", kind, err, out)
		}
	}
	a := asks{map[string]int{}, map[string]int{}, map[string]int{}}
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var c dayCommand
		if err := d.Decode(&c); err != nil {
			t.Fatal(err)
		}
		tool := newTool(t, shell.Config{Presets: presets(c.Project)})
		dir := filepath.Join(root, c.Project)
		cmd := shell.Command{Line: c.Command, Cwd: dir, Project: dir, Home: root}
		v, _ := facts.Judge(context.Background(), tool, cmd, facts.Options{})
		a.count[c.Class]++
		if !asksAt(v) {
			if c.Class == "danger" {
				t.Errorf("%s runs unasked: %s", c.ID, c.Command)
			}
			continue
		}
		a.asked[c.Class]++
		if c.ordinary() {
			a.why[v.Why]++
			t.Logf("%s %s asks: %s: %.100q", c.ID, c.Class, v.Why, c.Command)
		}
	}
	for _, why := range slices.SortedFunc(maps.Keys(a.why), func(x, y string) int { return a.why[y] - a.why[x] }) {
		t.Logf("%3d %s", a.why[why], why)
	}
	for _, class := range slices.Sorted(maps.Keys(a.count)) {
		t.Logf("%s: %d of %d ask, %.2f in 20", class, a.asked[class], a.count[class], a.per20(class))
	}
	return a
}

// R-UX-08, R-LY-07: how often a day's ordinary commands of coding agents ask, and that none of the dangerous ones
// runs unasked.
// Contained is the figure for runs that can be undone.
func TestDay(t *testing.T) {
	none := func(string) []string { return nil }
	presets := func(kind string) []string {
		return append(slices.Clone(dayPresets[kind]), "files", "git", "edits", "scripts")
	}
	normal := func(v shell.Verdict) bool { return v.Decision != shell.Auto }
	contained := func(v shell.Verdict) bool { return v.Decision != shell.Auto && !v.Contained }
	for _, c := range []struct {
		name    string
		presets func(string) []string
		asks    func(shell.Verdict) bool
		most    float64
	}{
		{"default", none, normal, 12.4}, {"presets", presets, normal, 4.2}, {"contained", none, contained, 1.0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := replayDay(t, c.presets, c.asks).per20("read", "build", "write")
			t.Logf("ordinary: %.2f in 20", got)
			if got > c.most {
				t.Errorf("%.2f of 20 ordinary commands ask, more than %.2f", got, c.most)
			}
		})
	}
}
