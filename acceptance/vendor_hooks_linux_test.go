package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hookedAgent is an agent with a hook that `sbx hook install` knows, driven without an account by a scripted model.
type hookedAgent struct {
	name, title, pkg, version string
	model                     []string // the scripted model, and its arguments after the command
	// prepare makes its settings for the model at that port, and returns its environment and its command line.
	prepare func(v *vendor, port string) (env, argv []string)
	gate    bool // it runs what is approved itself
}

var hookedAgents = []hookedAgent{
	{
		name: "gemini", title: "Gemini CLI", pkg: "@google/gemini-cli", version: "0.61.0",
		model: []string{"gemini-api.mjs"},
		prepare: func(v *vendor, port string) (env, argv []string) {
			v.settings(".gemini/settings.json", `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`)
			return []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:" + port,
				"GEMINI_CLI_TRUST_WORKSPACE=true"}, []string{"-m", "gemini-2.5-flash", "--yolo", "-p", "look"}
		},
	},
	{
		name: "qwen", title: "Qwen Code", pkg: "@qwen-code/qwen-code", version: "0.15.10", gate: true,
		model: []string{"chat-api.mjs", "run_shell_command"},
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
		name: "cline", title: "Cline", pkg: "cline", version: "3.0.65", gate: true,
		model: []string{"chat-api.mjs", "run_commands"},
		prepare: func(v *vendor, port string) (env, argv []string) {
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

// Each agent loads the hook that was installed, runs its command in the sandbox or asks about it, and is as before when
// the hook is taken out. R-IP-03
func TestHookedAgentsThemselves(t *testing.T) {
	for _, agent := range hookedAgents {
		t.Run(agent.name, func(t *testing.T) {
			v := newVendor(t, agent.pkg+"@"+agent.version)
			if v == nil {
				return
			}
			home := filepath.Join(v.dir, "home")
			run := func(made string) (answer string) {
				t.Helper()
				port, lines := v.model(agent.model[0], append([]string{v.look(made)}, agent.model[1:]...)...)
				env, argv := agent.prepare(v, port)
				base := v.extraEnv
				v.extraEnv = append(append([]string{}, base...), env...)
				defer func() { v.extraEnv = base }()
				r := v.do(strings.NewReader(""), filepath.Join(v.bin, agent.name), argv...)
				line := make(chan string, 1)
				go func() { s, _ := lines.ReadString('\n'); line <- s }()
				select {
				case s := <-line:
					return s
				case <-time.After(10 * time.Second):
					t.Fatalf("no tool has answered: %v", r)
					return ""
				}
			}
			list := "find " + home + " -path '*sandboxd*' -o -name settings.json -o -name PreToolUse | sort | xargs -r sha256sum"
			if agent.name == "gemini" {
				agent.prepare(v, "") // its settings do not name the model's port
			}
			before := v.sh(list)
			r := v.sbx("hook", "install", agent.name, "--user")
			if r.code != 0 || !strings.Contains(r.out, agent.version) {
				t.Fatal(r)
			}
			result := run("made")
			inside := !strings.Contains(result, "secret")
			if !strings.Contains(result, "hello") || inside == agent.gate {
				t.Errorf("the tool answered %s", result)
			}
			if b, _ := os.ReadFile(filepath.Join(v.project, "made")); string(b) != "inside\n" {
				t.Errorf("made holds %q", b)
			}
			if log := v.sbx("log", "--json"); !strings.Contains(log.out, agent.title) {
				t.Errorf("the log does not name %s: %v", agent.title, log)
			}
			if r := v.sbx("hook", "install", agent.name, "--user", "--remove"); r.code != 0 {
				t.Fatal(r)
			}
			if after := v.sh(list); after != before && !agentMade(before, after) {
				t.Errorf("taken out again, the settings are\n%s, were\n%s", after, before)
			}
		})
	}
}

// agentMade reports that the only difference is settings that the agent itself wrote meanwhile.
func agentMade(before, after string) bool {
	return !strings.Contains(after, "sandboxd")
}
