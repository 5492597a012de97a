package acceptance

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/hook"
	"sandboxd/ipc"
)

// hookedAgent is an agent with a hook that `sbx hook install` knows, driven without an account by a scripted model.
type hookedAgent struct {
	name, title, pkg, version string
	model                     []string // the scripted model, and its arguments after the command
	// prepare makes its settings for the model at that port, and returns its environment and its command line.
	prepare func(v *vendor, port string) (env, argv []string)
	gate    bool // it runs what is approved itself
	aborts  bool // a no ends its task, so that its model gets no answer
	// settings are the name and the text of a file that is in its home before its hook is installed; "": none is.
	settings [2]string
}

var hookedAgents = []hookedAgent{
	{
		name: "claude", title: "Claude Code", pkg: "@anthropic-ai/claude-code", version: "2.1.330",
		model:    []string{"messages-api.mjs"},
		settings: [2]string{".claude/settings.json", "{\"permissions\":\n  { \"deny\": [ \"WebFetch\" ]}  }\n\n"},
		prepare: func(_ *vendor, port string) (env, argv []string) {
			return claudeEnv(port), []string{"-p", "look"}
		},
	},
	{
		name: "codex", title: "Codex", pkg: "@openai/codex", version: "0.169.0",
		model: []string{"responses-api.mjs"},
		prepare: func(_ *vendor, port string) (env, argv []string) {
			return nil, codexArgs(port)
		},
	},
	{
		name: "gemini", title: "Gemini CLI", pkg: "@google/gemini-cli", version: "0.61.0",
		model: []string{"gemini-api.mjs"},
		settings: [2]string{
			".gemini/settings.json", `{"security":  {"auth": {"selectedType": "gemini-api-key"}}}`,
		},
		prepare: func(v *vendor, port string) (env, argv []string) {
			return []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:" + port,
				"GEMINI_CLI_TRUST_WORKSPACE=true"}, []string{"-m", "gemini-2.5-flash", "--yolo", "-p", "look"}
		},
	},
	{
		name: "qwen", title: "Qwen Code", pkg: "@qwen-code/qwen-code", version: "0.15.10", gate: true,
		model:    []string{"chat-api.mjs", "run_shell_command"},
		settings: [2]string{".qwen/settings.json", "{\n\t\"general\": {\"disableAutoUpdate\": true } }"},
		prepare: func(v *vendor, port string) (env, argv []string) {
			return []string{"OPENAI_API_KEY=none", "OPENAI_MODEL=some-model",
					"OPENAI_BASE_URL=http://127.0.0.1:" + port + "/v1"},
				[]string{"--auth-type", "openai", "--yolo", "-p", "look"}
		},
	},
	{
		name: "copilot", title: "GitHub Copilot CLI", pkg: "@github/copilot", version: "1.0.102",
		model: []string{"chat-api.mjs", "bash"},
		prepare: func(v *vendor, port string) (env, argv []string) {
			return []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_MODEL=some-model",
					"COPILOT_PROVIDER_BASE_URL=http://127.0.0.1:" + port + "/v1", "COPILOT_PROVIDER_API_KEY=none"},
				[]string{"-p", "look", "--allow-all-tools"}
		},
	},
	{
		name: "opencode", title: "opencode", pkg: "opencode-ai", version: "1.18.33",
		model: []string{"chat-api.mjs", "bash"},
		prepare: func(v *vendor, port string) (env, argv []string) {
			v.settings(".config/opencode/opencode.json", `{"provider": {"stand": {"npm": "@ai-sdk/openai-compatible", `+
				`"options": {"baseURL": "http://127.0.0.1:`+port+`/v1", "apiKey": "none"}, `+
				`"models": {"some-model": {}}}}, "model": "stand/some-model", "small_model": "stand/some-model", `+
				`"autoupdate": false, "share": "disabled"}`)
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}, []string{"run", "look"}
		},
	},
	{
		name: "cline", title: "Cline", pkg: "cline", version: "3.0.65", gate: true, aborts: true,
		model: []string{"chat-api.mjs", "run_commands"},
		prepare: func(v *vendor, port string) (env, argv []string) {
			v.sh("rm -f " + filepath.Join(v.dir, "home/.cline/data/settings/providers.json"))
			v.settings(".cline/data/settings/providers.json", `{"version": 1, "lastUsedProvider": "openai-compatible", `+
				`"modes": {}, "providers": {"openai-compatible": {"settings": {"provider": "openai-compatible", `+
				`"apiKey": "none", "model": "some-model", "baseUrl": "http://127.0.0.1:`+port+`/v1"}, `+
				`"updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}}}`)
			// Without this mode a process of its own stays behind.
			return []string{"CLINE_SESSION_BACKEND_MODE=local"}, []string{"--json", "look around"}
		},
	},
	{
		name: "pi", title: "pi", pkg: "@mariozechner/pi-coding-agent", version: "0.73.1",
		model: []string{"chat-api.mjs", "bash"},
		prepare: func(v *vendor, port string) (env, argv []string) {
			v.settings(".pi/agent/models.json", `{"providers": {"stand": {"baseUrl": "http://127.0.0.1:`+port+`/v1", `+
				`"apiKey": "none", "api": "openai-completions", "models": [{"id": "some-model"}]}}}`)
			return []string{"PI_OFFLINE=1"}, []string{"--provider", "stand", "--model", "some-model", "-p", "look"}
		},
	},
}

// settings writes a file of the agent's home, where there is none.
func (v *vendor) settings(name, text string) {
	v.t.Helper()
	path := filepath.Join(v.dir, "home", name)
	line := "mkdir -p $(dirname " + path + ") && { [ -e " + path + " ] || cat > " + path + "; }"
	if r := v.do(strings.NewReader(text), "/bin/sh", "-c", line); r.code != 0 {
		v.t.Fatal(r)
	}
}

// hookedCalls are the calls of one conversation. An agent that is only a gate runs what is approved itself, and so has
// none of those inside the sandbox.
var hookedCalls = []hookedCall{
	{name: "the first", asked: 1, answer: "hello"}, // newHookedCalls has its command
	{name: "a read", command: "git status", answer: "On branch"},
	{name: "a no", command: "echo no > denied", asked: 1, answer: denial, no: true},
	{name: "a yes for the session", command: "echo yes >> granted", asked: 1},
	{name: "the same again", command: "echo yes >> granted", asked: 1},
	{name: "a limit", command: "tail -f README", answer: "ran longer than allowed", inside: true},
}

type hookedCall struct {
	name, command string
	asked         int32  // how often the command was asked about in the end
	answer        string // a part of what the model gets
	inside, no    bool
}

// denial is the note of a person's no.
const denial = "not on a Friday"

// converse has the agent make the calls, and returns the wanted number of answers that its model got.
func (agent hookedAgent) converse(v *vendor, calls []hookedCall, want int) (answers []string) {
	v.t.Helper()
	var commands []string
	for _, c := range calls {
		commands = append(commands, c.command)
	}
	steps, err := json.Marshal(commands)
	if err != nil {
		v.t.Fatal(err)
	}
	port, lines := v.model(agent.model[0], append([]string{string(steps)}, agent.model[1:]...)...)
	env, argv := agent.prepare(v, port)
	base := v.extraEnv
	v.extraEnv = append(slices.Clone(base), env...)
	defer func() { v.extraEnv = base }()
	r := v.do(strings.NewReader(""), filepath.Join(v.bin, agent.name), argv...)
	line := make(chan string)
	go func() {
		for s, err := lines.ReadString('\n'); err == nil; s, err = lines.ReadString('\n') {
			line <- s
		}
	}()
	for range want {
		select {
		case s := <-line:
			answers = append(answers, s)
		case <-time.After(10 * time.Second):
			v.t.Fatalf("the model got %d answers of %d: %q, %v", len(answers), want, answers, r)
		}
	}
	return answers
}

// countedAnswers counts the questions by command. It denies a command that contains "denied", with a reason, and allows
// the others for the session.
func countedAnswers(mu *sync.Mutex, asked map[string]int32) func(ipc.Approval) ipc.Answer {
	return func(q ipc.Approval) ipc.Answer {
		mu.Lock()
		defer mu.Unlock()
		asked[q.Command]++
		if strings.Contains(q.Command, "denied") {
			return ipc.Answer{Mode: "soft", Note: denial}
		}
		return ipc.Answer{Allow: true, Scope: "session"}
	}
}

// Each agent loads the hook that was installed, and has its calls judged by it: what reads runs unasked, a person's no
// reaches the model with its reason, a yes for the session holds, the sandbox and its limit hold the command. It is as
// before when the hook is taken out. R-IP-03
func TestHookedAgentsThemselves(t *testing.T) {
	t.Parallel()
	for _, agent := range hookedAgents {
		t.Run(agent.name, func(t *testing.T) {
			packages := vendorPackages(t, agent.pkg+"@"+agent.version)
			if packages == "" {
				return
			}
			var mu sync.Mutex
			asked := map[string]int32{} // by command
			v := newVendor(ordinaryActor(t), packages, countedAnswers(&mu, asked))
			if agent.settings[0] != "" {
				v.settings(agent.settings[0], agent.settings[1])
			}
			list := "sha256sum " + v.hookFile(agent) + " 2>/dev/null || :"
			before := v.sh(list)
			v.install(agent)
			if r := v.sbx("hook", "install", agent.name, "--user", "--remove"); r.code != 0 || v.sh(list) != before {
				t.Errorf("taken out again, the settings are\n%s, were\n%s: %v", v.sh(list), before, r)
			}
			v.install(agent)
			calls := slices.Clone(hookedCalls)
			calls[0].command = v.look("made")
			calls = slices.DeleteFunc(calls, func(c hookedCall) bool {
				switch {
				case c.inside && agent.gate:
					t.Logf("%s: not tried: %s: it runs what is approved itself", agent.title, c.name)
				case c.no && agent.aborts:
					t.Logf("%s: %s: ends its task, and the reason does not reach the model", agent.title, c.name)
					agent.converse(v, []hookedCall{c}, 0)
				}
				return c.inside && agent.gate || c.no && agent.aborts
			})
			for i, answer := range agent.converse(v, calls, len(calls)) {
				c := calls[i]
				mu.Lock()
				if asked[c.command] != c.asked || !strings.Contains(answer, c.answer) {
					t.Errorf("%s: asked %d times, want %d; answered %s, want %q", c.name, asked[c.command], c.asked, answer, c.answer)
				}
				mu.Unlock()
				if inside := !strings.Contains(answer, "secret"); i == 0 && inside == agent.gate {
					t.Errorf("%s: in the sandbox: %t: %s", c.name, inside, answer)
				}
			}
			if asked["echo no > denied"] != 1 {
				t.Errorf("the denied command was asked about %d times, want 1", asked["echo no > denied"])
			}
			if got := v.sh("cat made granted; ls denied 2>/dev/null || :"); got != "inside\nyes\nyes\n" {
				t.Errorf("the calls wrote %q", got)
			}
			if log := v.sbx("log", "--json"); !strings.Contains(log.out, agent.title) {
				t.Errorf("the log does not name %s: %v", agent.title, log)
			}
			// The agent may have written to its settings meanwhile.
			r := v.sbx("hook", "install", agent.name, "--user", "--remove")
			if left := v.sh("grep -l 'sbx.* hook' " + v.hookFile(agent) + " 2>/dev/null || :"); r.code != 0 || left != "" {
				t.Errorf("taken out again, our hook is left in %s: %v", left, r)
			}
		})
	}
}

// install installs the agent's hook.
func (v *vendor) install(agent hookedAgent) {
	v.t.Helper()
	if r := v.sbx("hook", "install", agent.name, "--user"); r.code != 0 || !strings.Contains(r.out, agent.version) {
		v.t.Fatal(r)
	}
}

// hookFile is the file that has the agent's hook.
func (v *vendor) hookFile(agent hookedAgent) string {
	h := hook.Find(agent.name)
	return filepath.Join(v.dir, "home", cmp.Or(h.UserFile, h.Files[0]))
}
