package shell_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sandboxd/shell"
)

// R-UX-08: ordinary development asks at most once in 20 commands. The golden
// file lists those that ask, and why.
func TestDevelopment(t *testing.T) {
	data, err := os.ReadFile("testdata/development.txt")
	if err != nil {
		t.Fatal(err)
	}
	tool := newTool(t, shell.Config{Presets: []string{"go", "node", "python", "rust", "c", "git", "files", "scripts"}})
	total, asks := 0, 0
	var golden strings.Builder
	golden.WriteString("# The commands of development.txt that ask, and why. go test -run TestDevelopment -update\n")
	for line := range strings.Lines(string(data)) {
		why, text, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		if !ok {
			continue
		}
		if why == "" {
			t.Errorf("no word on why: %q", text)
		}
		total++
		v := judgePlain(tool, shell.Command{Line: strings.ReplaceAll(text, "⏎", "\n"), Cwd: "/src/app", Project: "/src/app", Home: "/home/eve"})
		if v.Decision != shell.Auto {
			asks++
			fmt.Fprintf(&golden, "%s\t%s\t%s\t%s\n", v.Decision, v.Risk, text, v.Why)
		}
	}
	if total < 400 {
		t.Errorf("there are %d commands, fewer than 400", total)
	}
	if asks*20 > total {
		t.Errorf("%d of %d commands ask, more than one in 20", asks, total)
	}
	compareGolden(t, "testdata/development.golden", golden.String())
}

// compareGolden compares with a file, or writes it where -update is given.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it):\n%s", name, got)
	}
}
