package worker_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sandboxd/files"
	"sandboxd/files/filestest"
)

// escapeCase is one line of the catalogue of sandbox escapes that asks for a
// file operation.
type escapeCase struct {
	ID, Setup, Command, Check, Why, Cleanup string
	Fileop                                  struct {
		Op, Path, Content, When string
		ResultTo                string `json:"result_to"`
		Times                   int
	}
}

// Acceptance 6: the file operations of the escape catalogue, without the OS
// sandbox around the worker: the tool holds by itself.
func TestEscapeCatalogue(t *testing.T) {
	f, err := os.Open("testdata/fileop.jsonl")
	must(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		var c escapeCase
		must(t, json.Unmarshal(lines.Bytes(), &c))
		n++
		t.Run(c.ID, func(t *testing.T) { runEscape(t, c) })
	}
	must(t, lines.Err())
	if n != 9 {
		t.Errorf("%d cases, there should be 9", n)
	}
}

func runEscape(t *testing.T, c escapeCase) {
	dir := filestest.OpenFolder(t)
	vars := map[string]string{
		"WORKSPACE": filepath.Join(dir, "workspace"), "OUTSIDE": filepath.Join(dir, "outside"),
		"SECRET": filepath.Join(dir, "secret"), "OUT": filepath.Join(dir, "out"), "O": filepath.Join(dir, "outside"),
		"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": filepath.Join(dir, "outside", "home"),
	}
	must(t, os.Mkdir(vars["WORKSPACE"], 0o755))
	must(t, os.MkdirAll(vars["HOME"], 0o755))
	must(t, os.WriteFile(vars["SECRET"], []byte(secret), 0o600))
	bash := func(script string) *exec.Cmd {
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir = vars["WORKSPACE"]
		for k, v := range vars {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		return cmd
	}
	if out, err := bash(c.Setup).CombinedOutput(); err != nil {
		t.Fatalf("setup: %v\n%s", err, out)
	}
	b := filestest.New(t, filestest.Options{Root: vars["WORKSPACE"], Store: filepath.Join(dir, "state"), Process: true})
	var said strings.Builder
	command := bash(c.Command)
	command.Stdout, command.Stderr = &said, &said
	must(t, command.Start())
	if c.Fileop.When == "after" {
		_ = command.Wait()
	}
	results := fileop(b, c, os.Expand(c.Fileop.Path, func(name string) string {
		if name == "OUTSIDE##*/" {
			return filepath.Base(vars["OUTSIDE"])
		}
		return vars[name]
	}))
	if c.Fileop.When == "during" {
		_ = command.Wait()
	}
	must(t, os.WriteFile(vars["OUT"], []byte(said.String()+results), 0o600))
	if out, err := bash(c.Check).CombinedOutput(); err != nil {
		t.Errorf("%s\ncheck: %v\n%s\noutput:\n%s%s", c.Why, err, out, said.String(), results)
	}
	_ = bash(c.Cleanup).Run()
}

// fileop asks for the operation as a daemon does: what the rules block, or
// would ask twice, is not carried out, since nobody is there to say yes.
func fileop(b *filestest.Bench, c escapeCase, path string) string {
	req := files.Request{Op: files.Op(c.Fileop.Op), Path: path, Content: []byte(c.Fileop.Content), Parents: true}
	var out strings.Builder
	for range max(1, c.Fileop.Times) {
		ctx, cancel := b.Context()
		facts, err := b.Client.Facts(ctx, req)
		if err == nil {
			err = refused(b.Rules.Judge(req, facts), facts)
		}
		if err == nil {
			var r files.Result
			r, _, err = b.Carry(ctx, req, facts)
			fmt.Fprintf(&out, "%s", r.Content)
		}
		cancel()
		if c.Fileop.Times == 0 && err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	return out.String()
}

func refused(v files.Verdict, facts files.Facts) error {
	switch {
	case v.Decision == files.Block || v.Protected:
		return fmt.Errorf("%s: %s", v.Decision, v.Why)
	case facts.Conflict != nil:
		return facts.Conflict
	}
	return nil
}
