package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// `make run` shows a command that reads, one that writes, an edit, its undo and the log,
// with an answer at each question, and leaves neither a file nor a daemon.
func TestDemonstration(t *testing.T) {
	t.Parallel()
	demo := filepath.Join(t.TempDir(), "demo")
	if out, err := exec.Command("go", "build", "-o", demo, "sandboxd/packaging/demo").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := os.ReadFile(demo)
	if err != nil {
		t.Fatal(err)
	}
	eachUser(t, func(t *testing.T, a *actor) {
		demo := filepath.Join(a.dir, "demo")
		if err := os.WriteFile(demo, program, 0o755); err != nil {
			t.Fatal(err)
		}
		a.sh("ln -s " + bin + " " + a.dir + "/bin; mkdir " + a.dir + "/tmp")
		r := a.do(nil, "/bin/sh", "-c", "cd "+a.dir+" && TMPDIR="+a.dir+"/tmp exec ./demo")
		if r.code != 0 || strings.Count(r.out, "[Approved]") != 3 {
			t.Fatalf("want success and three approvals: %v", r)
		}
		want := []string{"drink = coffee", "takes it back", "drink = tea", "approved       date", "It works here."}
		for _, want := range want {
			if !strings.Contains(r.out, want) {
				t.Errorf("%q is missing:\n%s", want, r.out)
			}
		}
		if left, err := os.ReadDir(a.dir + "/tmp"); err != nil || len(left) > 0 {
			t.Errorf("it left %v (%v)", left, err)
		}
		for _, p := range processes() {
			if strings.Contains(p.cmdline, a.dir+"/tmp") && p.state != 'Z' {
				t.Errorf("it left the process %d: %s", p.pid, p.cmdline)
			}
		}
	})
}
