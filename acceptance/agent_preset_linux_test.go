package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// An agent with a preset keeps its state between its runs, in a directory that no other command reads, and changes
// nothing of the home; its question says so. Another program, and the same one without --agent, has nothing of it.
// R-IP-08
func TestAgentPreset(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		dir, err := os.MkdirTemp(a.home, ".programs-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if a.cred != nil {
			os.Chown(dir, int(a.cred.Uid), int(a.cred.Gid))
		}
		script := `#!/bin/sh
echo "state: ${CLAUDE_CONFIG_DIR:-none} proxy: ${https_proxy:-none}"
touch ~/.claude.json.probe
[ "${CLAUDE_CONFIG_DIR:-}" ] || exit 0
mkdir -p "$CLAUDE_CONFIG_DIR" && echo run >> "$CLAUDE_CONFIG_DIR/runs" && wc -l < "$CLAUDE_CONFIG_DIR/runs"
`
		a.do(strings.NewReader(script), "/bin/sh", "-c", "cd "+dir+"; cat > claude; chmod 755 claude; cp claude other")
		a.extraEnv = []string{"PATH=" + dir + ":/usr/local/bin:/usr/bin:/bin"}
		config := "[sandbox]\nexec = [\"~/" + filepath.Base(dir) + "\"]\n"
		st := newStage(a, config)
		asked := make(chan ipc.Approval, 100)
		st.persons["terminal"].answering(t, func(q ipc.Approval) ipc.Answer {
			asked <- q
			return ipc.Answer{Allow: true}
		})
		run := func(args ...string) result {
			t.Helper()
			r := a.sbx(append([]string{"run"}, args...)...)
			if r.code != 0 {
				t.Error(args, r)
			}
			return r
		}
		first := run("--agent", "--", "claude")
		state, _, _ := strings.Cut(strings.TrimPrefix(first.out, "state: "), " ")
		if !strings.HasPrefix(state, a.home+"/.cache/sandboxd/") || strings.Contains(first.out, "proxy: none") {
			t.Fatalf("its state and its hosts: %v", first)
		}
		t.Cleanup(func() { os.RemoveAll(filepath.Dir(state)) })
		if q := <-asked; !strings.Contains(strings.Join(q.Reasons, "\n"), "the preset claude") {
			t.Errorf("the question does not name the preset: %q", q.Reasons)
		}
		if r := run("--agent", "--", "claude"); !strings.HasSuffix(r.out, "2\n") {
			t.Errorf("its state is lost: %v", r)
		}
		if _, err := os.Lstat(a.home + "/.claude.json.probe"); err == nil {
			t.Error("it wrote to the home")
		}
		for _, args := range [][]string{{"--agent", "--", "other"}, {"--", "claude"}} {
			if r := run(args...); !strings.Contains(r.out, "state: none proxy: none") {
				t.Errorf("%q has the preset: %v", args, r)
			}
		}
		if r := a.sbx("run", "--", "cat", state+"/runs"); r.code == 0 {
			t.Errorf("another command reads its state: %v", r)
		}
		st.configure(t, config+"[network]\nmode = \"loopback\"\n")
		if r := run("--agent", "--", "claude"); !strings.Contains(r.out, "proxy: none") {
			t.Errorf("it has hosts that the configuration takes: %v", r)
		}
	})
}
