package shell_test

import (
	"context"
	"testing"

	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// R-AP-05: what a line runs must be in what is shown; where it is not, a yes counts once.
func TestCodeFromItsInput(t *testing.T) {
	tool, err := shell.New(shell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for line, want := range map[string]bool{
		"sh": true, "cat x | sh": true, "sh < x": true, "timeout 5 python3 -": true, "env A=b python3": true,
		"bash -c 'cat x | sh'": true,
		"sh <<'E'\nls\nE":      false, "python3 <<< 'print(1)'": false, "sh x.sh": false, "python3 -c 'print(1)' < x": false,
		"cat x": false,
	} {
		v, _ := facts.Judge(context.Background(), tool, shell.Command{Line: line, Cwd: dir, Project: dir, Home: "/home/x"},
			facts.Options{})
		if v.Unseen != want {
			t.Errorf("%q: unseen is %v, want %v", line, v.Unseen, want)
		}
	}
}
