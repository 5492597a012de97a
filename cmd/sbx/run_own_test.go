package main

import (
	"errors"
	"os"
	"testing"

	"sandboxd/cmd/sbx/internal/term"
)

// Where a person may be asked, what reads our pipe may write to the same terminal: it is relayed,
// and waits for the question's end.
func TestPipesWhereAPersonIsAsked(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := &runner{app: &app{}, input: &input{}, stdout: out, errout: file}
	if got := r.passes()[0]; got != (own{out: out, errs: file}) {
		t.Errorf("without a terminal: %+v", got)
	}
	r.tty = &term.Terminal{}
	if got := r.passes()[0]; got != (own{errs: file}) {
		t.Errorf("at a terminal: %+v", got)
	}
}

// `sbx run -C /` was refused in a directory that is removed.
func TestDirectoryThatIsRemoved(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chdir(dir), os.Remove(dir)); err != nil {
		t.Fatal(err)
	}
	r := &runner{app: &app{stdin: os.Stdin}, options: runOptions{cwd: "/"}}
	if q, err := r.ownSession(); err != nil || q.Cwd != "/" {
		t.Errorf("with --cwd: %+v, %v", q, err)
	}
	r.options.cwd = ""
	if _, err := r.ownSession(); err == nil {
		t.Error("without --cwd a removed directory is a project")
	}
}
