package acceptance

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"sandboxd/ipc"
)

// work is a line of shell as agents run it: a test, a server that is asked, a commit, and a listing of the home.
const work = "sh test.sh && { python3 -m http.server 8765 --bind 127.0.0.1 >/dev/null 2>&1 & } && server=$! && " +
	"for i in $(seq 100); do curl -fs http://127.0.0.1:8765/README && break; sleep 0.1; done; kill $server; " +
	"git add test.sh && git commit -qm 'by the agent'; ls -A ~"

// insideAgents run as a whole in the sandbox, with their preset.
var insideAgents = []struct {
	name, pkg, folder, program string
	// start returns the scripted model's output and port, and the agent's environment and arguments for it.
	start func(v *vendor) (m *bufio.Reader, port string, env, args []string)
}{
	{
		name: "claude", pkg: "@anthropic-ai/claude-code@2.1.330",
		folder: "@anthropic-ai", program: "claude-code/bin/claude.exe",
		start: func(v *vendor) (m *bufio.Reader, port string, env, args []string) {
			steps, _ := json.Marshal([][]any{
				{"Write", map[string]string{"file_path": v.project + "/test.sh",
					"content": "grep -q hello README && echo tested\n"}},
				{"Bash", map[string]string{"command": work, "description": "work"}},
			})
			port, m = v.model("messages-api.mjs", string(steps))
			return m, port, []string{"ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=http://127.0.0.1:" + port,
					"ENABLE_TOOL_SEARCH=false", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
				[]string{"--dangerously-skip-permissions", "-p", "work"}
		},
	},
	{
		name: "codex", pkg: "@openai/codex@0.169.0", folder: "@openai", program: "codex/bin/codex.js",
		start: func(v *vendor) (m *bufio.Reader, port string, env, args []string) {
			const edit = "echo 'grep -q hello README && echo tested' > test.sh; "
			port, m = v.model("responses-api.mjs", edit+work)
			return m, port, nil, []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
				"-c", "model_provider=stand", "-c", "model=some-model", "-c",
				`model_providers.stand={name="stand",base_url="http://127.0.0.1:` + port + `/v1",wire_api="responses"}`, "work"}
		},
	},
}

// An agent's own program works in its project as a whole inside the sandbox, after one question: it edits, tests, asks
// a server of its own, and commits; and nothing of the home is changed. R-IP-08
func TestAgentsInsideThemselves(t *testing.T) {
	t.Parallel()
	for _, agent := range insideAgents {
		t.Run(agent.name, func(t *testing.T) {
			packages := vendorPackages(t, agent.pkg)
			if packages == "" {
				return
			}
			v := &vendor{actor: ordinaryActor(t)}
			dir, err := os.MkdirTemp(v.home, ".programs-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			install := fmt.Sprintf("chmod 755 %s && cd %[1]s && mkdir -p bin lib/node_modules && "+
				"cp -r %s/%s lib/node_modules/ && ln -s ../lib/node_modules/%[3]s/%s bin/%s",
				dir, packages, agent.folder, agent.program, agent.name)
			if out, err := exec.Command("/bin/sh", "-c", install).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			v.extraEnv = []string{"PATH=" + dir + "/bin:/usr/local/bin:/usr/bin:/bin"}
			m, port, env, args := agent.start(v)
			st := newStage(v.actor, fmt.Sprintf("[sandbox]\nexec = [%q]\n"+
				"[network]\nmode = \"loopback\"\nhost_ports = [%s]\n", dir, port))
			asked := answerAll(t, st, ipc.Answer{Allow: true})
			const list = "cd && find . \\( -path ./.cache/sandboxd -o -path './project-*' \\) -prune -o ! -name . " +
				"-printf '%p %y %s %C@\\n' | sort"
			v.sh("echo SECRET > " + dir + ".secret")
			t.Cleanup(func() { os.Remove(dir + ".secret") })
			before := v.sh(list)
			argv := []string{"run", "--agent"}
			for _, e := range env {
				argv = append(argv, "-e", e)
			}
			r := v.sbx(slices.Concat(argv, []string{"--", agent.name}, args)...)
			if r.code != 0 || asked.Load() != 1 {
				t.Errorf("after %d questions: %v", asked.Load(), r)
			}
			if after := v.sh(list); after != before {
				t.Errorf("the home is\n%s, was\n%s", after, before)
			}
			if log := v.sh("git log --format=%s"); log != "by the agent\nfirst\n" {
				t.Errorf("its project has the commits %q", log)
			}
			result := v.answer(m)
			if agent.name == "claude" {
				result += v.answer(m)
			}
			tested := strings.Contains(result, "tested") && strings.Contains(result, "hello")
			if !tested || strings.Contains(result, ".secret") {
				t.Errorf("its tools answered %s", result)
			}
		})
	}
}

// codexEnvironments are settings of Codex by which its exec-server runs inside the sandbox.
const codexEnvironments = `default = "sandbox"
include_local = false

[[environments]]
id = "sandbox"
program = "sbx"
args = ["run", "--agent", "--", %q, "exec-server", "--listen", "stdio"]
initialize_timeout_sec = 300
env = { SBX_SOCKET_DIR = %q, SBX_STATE_DIR = %q }
`

// Codex sends its processes and its file operations to its own exec-server, which runs inside the sandbox: commands and
// patches change the project, and nothing of the home can be read or changed. Codex itself stays outside.
func TestCodexExecServerItself(t *testing.T) {
	t.Parallel()
	packages := vendorPackages(t, "@openai/codex@0.169.0")
	if packages == "" {
		return
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		var asked atomic.Int32
		v := newVendor(a, packages, func(ipc.Approval) ipc.Answer {
			asked.Add(1)
			return ipc.Answer{Allow: true}
		})
		home := filepath.Join(v.dir, "home")
		v.settings(".codex/environments.toml", fmt.Sprintf(codexEnvironments, v.bin+"/codex", v.socketDir(), v.stateDir()))
		patch := func(path string) string {
			return "apply_patch <<'END'\n*** Begin Patch\n*** Add File: " + path + "\n+patched\n*** End Patch\nEND"
		}
		steps := []string{v.look("made"), patch("patched"), patch(home + "/planted"), "echo x > " + home + "/planted"}
		port, lines := v.model("responses-api.mjs", string(jsonOf(t, steps)))
		r := v.do(strings.NewReader(""), filepath.Join(v.bin, "codex"), codexArgs(port)...)
		if r.code != 0 || asked.Load() != 1 {
			t.Errorf("after %d questions: %v", asked.Load(), r)
		}
		for i, want := range []string{"hello", "patched", "", ""} {
			got := v.answer(lines)
			if !strings.Contains(got, want) || strings.Contains(got, "secret") {
				t.Errorf("%s answered %s, want %q", steps[i], got, want)
			}
		}
		if got := v.sh("cat made patched; ls " + home); got != "inside\npatched\nsecret\n" {
			t.Errorf("the calls wrote, and the home has, %q", got)
		}
	})
}
