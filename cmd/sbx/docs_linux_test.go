package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The first example of docs/protocol.md works as printed, with the path of a project that exists.
func TestProtocolBegins(t *testing.T) {
	b, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "```sh\n")
	script, _, ok := strings.Cut(rest, "```\n")
	if !ok || !strings.Contains(script, "curl") {
		t.Fatal("there is no example")
	}
	h := newHouse(t, "")
	h.sbx("run", "--", "true")
	if err := os.Symlink("run", filepath.Join(h.dir, "sandboxd")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-ec", strings.ReplaceAll(script, "/home/anna/project", h.project()))
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+h.dir)
	cmd.Dir = h.project()
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), `"error"`) || !strings.Contains(string(out), `"product":"sandboxd"`) ||
		!strings.Contains(string(out), `"decision":"auto"`) {
		t.Errorf("%s\n%v: %s", script, err, out)
	}
}
