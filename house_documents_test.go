package house

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const readmeLines = 150

// A stranger reads README.md to its end; all else has a page in docs/.
func TestReadmeIsShort(t *testing.T) {
	b, err := os.ReadFile("README.md")
	if n := bytes.Count(b, []byte("\n")); err != nil || n > readmeLines {
		t.Errorf("README.md has %d lines, want at most %d (%v)", n, readmeLines, err)
	}
}

// Every page of docs/ has one line in its index.
func TestIndexOfDocuments(t *testing.T) {
	index, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		if n := bytes.Count(index, []byte("("+name+")")); name != "README.md" && n != 1 {
			t.Errorf("docs/README.md has %d links to %s, want 1", n, name)
		}
	}
}

// Every link of every document leads to a file and a heading, in the tree and in an
// installation (U23), whose documents are those of the packages and the tarballs;
// packaging/release-test.sh asks the packages themselves.
func TestLinks(t *testing.T) {
	tree, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	release := func(args ...string) ([]byte, error) {
		return exec.Command("go", append([]string{"run", "-C", "packaging/release", "."}, args...)...).CombinedOutput()
	}
	if out, err := release("links", tree); err != nil {
		t.Errorf("the tree: %v\n%s", err, out)
	}
	installed := t.TempDir()
	if out, err := release("documents", tree, installed); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := release("links", installed); err != nil {
		t.Errorf("an installation: %v\n%s", err, out)
	}
	broken := filepath.Join(t.TempDir(), "a.md")
	text := "# A b\n[x](#a-b) [y](#c) [z](../a.md) [w](b.md)\n"
	if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := release("links", filepath.Dir(broken)); err == nil || strings.Count(string(out), "link ") != 3 {
		t.Errorf("three broken links: %v\n%s", err, out)
	}
}

var (
	threatRow  = regexp.MustCompile("^\\| (T-[0-9]+) (?:\\| [^|]+ ){4}\\| `(Test[A-Za-z0-9]+)` in ([a-z/]+) \\|$")
	threatHead = "| T-"
)

// Each row of the threat model has the id of its place and names a test that exists.
func TestThreatModel(t *testing.T) {
	doc, err := os.ReadFile("docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(doc)) {
		if !strings.HasPrefix(line, threatHead) {
			continue
		}
		rows++
		row := threatRow.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil || row[1] != fmt.Sprintf("T-%02d", rows) {
			t.Errorf("row %d: %q: want its id, four cells, and a test in a room", rows, line)
			continue
		}
		if !declares(t, row[3], "func "+row[2]+"(t *testing.T)") {
			t.Errorf("%s names %s in %s, which does not exist", row[1], row[2], row[3])
		}
	}
	if rows == 0 {
		t.Error("docs/threat-model.md has no row")
	}
}

// declares reports whether a test file of the room has the text.
func declares(t *testing.T, room, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(room, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if b, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		} else if bytes.Contains(b, []byte(text)) {
			return true
		}
	}
	return false
}

// importable are the rooms that other programs may import.
var importable = []string{
	"approval", "profile", "bwrap", "landlock", "seccomp", "seatbelt", "shell", "sandbox", "supervisor", "audit", "ipc",
	"egress", "git", "layer",
}

var exampleOutput = regexp.MustCompile(`(?ms)^func Example\w*\(\) \{.*?^\t// (Unordered o|O)utput:\n\t// \S.*?^\}`)

// Each importable room has an example that runs as a test.
func TestExamples(t *testing.T) {
	for _, room := range importable {
		files, err := filepath.Glob(filepath.Join(room, "example*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || exampleOutput.Match(b)
		}
		if !found {
			t.Errorf("%s has no example with its output: write one to %s/example_test.go", room, room)
		}
	}
}

// CONTRIBUTING's three changes name files that exist, at most four each outside tests.
func TestContributedChanges(t *testing.T) {
	b, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "\n## Three changes by their steps\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	changes := strings.Split(section, "\n### ")[1:]
	if len(changes) != 3 {
		t.Errorf("CONTRIBUTING.md has %d changes, want 3", len(changes))
	}
	named := regexp.MustCompile("`([a-z]+/[a-zA-Z0-9_./-]+)`")
	for _, change := range changes {
		title, _, _ := strings.Cut(change, "\n")
		files := map[string]bool{}
		for _, m := range named.FindAllStringSubmatch(change, -1) {
			if info, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s: %v", title, err)
			} else if !info.IsDir() && !strings.HasSuffix(m[1], "_test.go") {
				files[m[1]] = true
			}
		}
		if len(files) == 0 || len(files) > 4 {
			t.Errorf("%s: got %d files outside tests, want 1 to 4: %v", title, len(files), files)
		}
	}
}

var (
	testNames  = regexp.MustCompile(`\bTest[A-Z]\w*`)
	testGroups = regexp.MustCompile(`\^Test\(([\w|]+)\)`)
	testFuncs  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// Each test that a script chooses by name exists: go test accepts a name that matches none.
func TestChosenTests(t *testing.T) {
	exists := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir // .cache has a Debian whose files come and go
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFuncs.FindAllSubmatch(text, -1) {
			exists[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("packaging/*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		names := testNames.FindAllString(string(text), -1)
		for _, m := range testGroups.FindAllStringSubmatch(string(text), -1) {
			for name := range strings.SplitSeq(m[1], "|") {
				names = append(names, "Test"+name)
			}
		}
		for _, name := range names {
			if !exists[name] {
				t.Errorf("%s: %s does not exist", script, name)
			}
		}
	}
}

// U25: make clean removes all that make writes: the programs and the packages.
func TestMakeClean(t *testing.T) {
	dir := t.TempDir()
	for _, made := range []string{"bin/sbx", "dist/sandboxd.deb"} {
		if err := os.MkdirAll(filepath.Join(dir, made), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"Makefile", "VERSION"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("make", "-C", dir, "clean").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("make clean left %v (%v)", left, err)
	}
}
