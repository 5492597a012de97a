package main

import (
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
