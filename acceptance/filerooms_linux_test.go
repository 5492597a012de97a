package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sandboxd/ipc"
)

// R-FS-01: named sandboxes with their modes, suffixes and approvals, through the
// socket and the worker's sandbox; the most specific root wins, and a
// path in none is blocked.
//
//   - Row 000-38 yes: sandbox.paths: root, mode, suffixes, write_approval, read_approval
//   - Row 000-40 yes: path in no sandbox → blocked
//   - Row 000-42 yes: read_file with read_approval asks
func TestNamedSandboxes(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		data, err := os.MkdirTemp(a.home, "data-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(data) })
		a.chown(data)
		a.sh("mkdir out frozen sec && echo x > sec/s.txt && echo x > frozen/a.md && cd '" + data +
			"' && echo 1,2 > a.csv && echo secret > a.key && mkdir in && echo x > in/a.csv")
		config := fmt.Sprintf(`
[files.paths.project]
root = "."
mode = "rw"
[files.paths.out]
root = "out"
mode = "rw"
write_approval = false
[files.paths.frozen]
root = "frozen"
mode = "ro"
[files.paths.data]
root = %q
mode = "ro"
suffixes = [".csv"]
[files.paths.sec]
root = "sec"
mode = "ro"
read_approval = true
[files.paths.in]
root = %q
mode = "rw"
write_approval = false
suffixes = [".csv"]
`, data, filepath.Join(data, "in"))
		if err := os.WriteFile(filepath.Join(a.dir, "config.toml"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		a.start("--config", filepath.Join(a.dir, "config.toml"))
		person := a.personPeer("ann", true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		a.trust(ctx, person)
		agent := a.fileAgent(a.agentPeer("editor"), ipc.KindAPI)
		for _, row := range []struct {
			op, path string
			want     string // "ok", "ask", or a code
		}{
			{"write", "out/run.sh", "ok"}, {"write", "main.go", "ask"}, {"write", "frozen/b.md", "blocked"},
			{"read", "frozen/a.md", "ok"},
			{"read", "sec/s.txt", "ask"},
			{"read", data + "/a.csv", "ok"}, {"read", data + "/a.key", "blocked"}, {"write", data + "/b.csv", "blocked"},
			{"write", data + "/in/b.csv", "ok"}, {"write", data + "/in/b.txt", "blocked"}, {"delete", data + "/in/a.csv", "ask"},
			{"read", data + "/../x.csv", "blocked"}, {"read", data + "-x/a.csv", "blocked"},
		} {
			// What would ask is only looked at: nobody is there to answer.
			r, err := agent.do(ctx, ipc.FileRequest{Op: row.op, Path: row.path, Content: "x\n", DryRun: row.want == "ask"})
			got := messageOf(err)
			if err == nil && row.want == "ask" {
				got = r.Decision
			}
			if got != row.want {
				t.Errorf("%s %s: %s, want %s (%v)", row.op, row.path, got, row.want, err)
			}
		}
		a.sh("test -e out/run.sh; test -e '" + data + "/in/b.csv'; test ! -e frozen/b.md; test ! -e '" + data + "/b.csv'")
	})
}

// Several sessions make the first change in a project that nobody trusts: one
// yes trusts it, and none of the others is carried out under the profile of
// before.
func TestFirstChangesAtOnce(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.start("--mode", "approve-all")
		peer := a.agentPeer("editor")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		results := make(chan error)
		const sessions = 6
		for i := range sessions {
			agent := a.fileAgent(peer, ipc.KindAPI)
			go func() {
				_, err := agent.do(ctx, ipc.FileRequest{Op: "create", Path: fmt.Sprintf("%d.md", i), Content: "x"})
				results <- err
			}()
		}
		for range sessions {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if got := a.sh("cat ?.md"); got != "xxxxxx" {
			t.Errorf("the files hold %q", got)
		}
	})
}
