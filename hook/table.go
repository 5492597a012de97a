package hook

import (
	_ "embed"
	"encoding/json"
	"time"
)

// Claude is Claude Code. Input and output: PreToolUseHookInput and
// PreToolUseHookSpecificOutput in @anthropic-ai/claude-agent-sdk, sdk.d.ts;
// https://code.claude.com/docs/en/hooks. onFailure is read from 2.1.295 on.
var Claude = Vendor{
	Name: "claude", Title: "Claude Code", Rewrites: "2.1.1", FailsClosed: "2.1.295", asks: true,
	Files: []string{".claude/settings.json", ".claude/settings.local.json"},
	events: []event{
		{name: "PreToolUse", matcher: "*", timeout: installedTimeout, onFailure: "block",
			status: "sandboxd: if this takes long, answer in another terminal: sbx approve"},
		{name: "PostToolUse", matcher: "Bash", timeout: afterTimeout},
		{name: "PostToolUseFailure", matcher: "Bash", timeout: afterTimeout},
		{name: "SessionEnd", timeout: afterTimeout},
	},
}

// Codex is OpenAI's Codex. https://developers.openai.com/codex/hooks; its parser is
// codex-rs/hooks/src/engine/output_parser.rs of github.com/openai/codex: unknown fields, "ask", and
// an "allow" without updatedInput make it ignore the answer, and run the tool. It has no event for a failed call.
var Codex = Vendor{
	Name: "codex", Title: "Codex", Rewrites: "0.144.0", silence: true,
	Files: []string{".codex/hooks.json"},
	Note: "Codex runs a new hook only when you have trusted it: open codex, type /hooks. Its own sandbox keeps " +
		"commands from sandboxd's socket: start it with sandbox_mode = \"danger-full-access\", or with " +
		"sandbox_workspace_write.network_access = true; the sandbox of sandboxd holds the command",
	events: []event{
		{name: "PreToolUse", matcher: "*", timeout: installedTimeout},
		{name: "PostToolUse", matcher: "Bash", timeout: afterTimeout},
	},
}

// Gemini is Gemini CLI. https://geminicli.com/docs/hooks/reference. Its times are in milliseconds. A call has no id, so
// that the ticket of a finished one is not known.
var Gemini = Vendor{
	Name: "gemini", Title: "Gemini CLI", Rewrites: "0.61.0",
	Files: []string{".gemini/settings.json"},
	form:  geminiForm,
	events: []event{
		{name: "BeforeTool", as: "PreToolUse", matcher: ".*", timeout: installedTimeout, unit: time.Millisecond},
		{name: "SessionEnd", timeout: afterTimeout, unit: time.Millisecond},
	},
}

func geminiForm(a answer) any {
	type specific struct {
		Event string          `json:"hookEventName"`
		Input json.RawMessage `json:"tool_input"`
	}
	var changed *specific
	if a.input != nil {
		changed = &specific{"BeforeTool", a.input}
	}
	return struct {
		Decision string    `json:"decision"`
		Reason   string    `json:"reason,omitempty"`
		Specific *specific `json:"hookSpecificOutput,omitempty"`
	}{a.decision, a.reason, changed}
}

// Qwen is Qwen Code, with Claude Code's names and answers. firePreToolUseHook of 0.15.10 does not read updatedInput.
// Its times are in milliseconds.
var Qwen = Vendor{
	Name: "qwen", Title: "Qwen Code",
	Files: []string{".qwen/settings.json"},
	Note:  "Qwen Code runs no rewritten command: what is approved it runs itself, outside of the sandbox",
	events: []event{
		{name: "PreToolUse", matcher: ".*", timeout: installedTimeout, unit: time.Millisecond},
		{name: "SessionEnd", timeout: afterTimeout, unit: time.Millisecond},
	},
}

// Copilot is GitHub Copilot CLI: https://docs.github.com/en/copilot/reference/hooks-configuration. A call has neither
// the event's name nor an id.
var Copilot = Vendor{
	Name: "copilot", Title: "GitHub Copilot CLI", Rewrites: "1.0.102",
	Files: []string{".github/hooks/sandboxd.json"}, UserFile: ".copilot/hooks/sandboxd.json",
	Note: "Copilot CLI reads a project's hooks only in a folder that it trusts, and not with -p: --user holds " +
		"everywhere",
	plugin: copilotFile, sibling: &VSCode,
	names:  &fieldNames{cwd: "cwd", tool: "toolName", input: "toolArgs", conversation: "sessionId"},
	form:   copilotForm,
	events: []event{{name: "PreToolUse"}},
}

const copilotFile = `{"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": COMMAND, ` +
	`"timeoutSec": 600, "timeout": 600}]}}
`

func copilotForm(a answer) any {
	return struct {
		Decision string          `json:"permissionDecision"`
		Reason   string          `json:"permissionDecisionReason,omitempty"`
		Input    json.RawMessage `json:"modifiedArgs,omitempty"`
	}{a.decision, a.reason, a.input}
}

// VSCode is the chat of VS Code, which reads Copilot CLI's files, and sends and reads Claude Code's fields with these
// names: https://code.visualstudio.com/docs/agents/reference/hooks-reference. Its rewrites were not tried.
var VSCode = Vendor{
	Name: "vscode", Title: "VS Code", command: "copilot", program: "copilot",
	Files: []string{".github/hooks/sandboxd.json"}, UserFile: ".copilot/hooks/sandboxd.json",
	Note: "VS Code and Copilot CLI read the same file: it serves both. VS Code runs what is approved itself, outside " +
		"of the sandbox",
	plugin: copilotFile,
	names: &fieldNames{cwd: "cwd", event: "hookEventName", tool: "tool_name", input: "tool_input", id: "tool_use_id",
		conversation: "sessionId"},
	events: []event{{name: "PreToolUse"}},
}

// Cursor is Cursor's agent, in its editor and on the command line: https://cursor.com/docs/agent/hooks. Its rewrites
// were not tried.
var Cursor = Vendor{
	Name: "cursor", Title: "Cursor", program: "cursor-agent", created: "{ \"version\": 1 }\n",
	Files: []string{".cursor/hooks.json"},
	Note:  "Cursor runs what is approved itself, outside of the sandbox",
	names: &fieldNames{
		cwd:          "cwd",
		event:        "hook_event_name",
		tool:         "tool_name",
		input:        "tool_input",
		id:           "tool_use_id",
		conversation: "conversation_id",
	},
	form:   cursorForm,
	events: []event{{name: "preToolUse", as: "PreToolUse", flat: true, timeout: installedTimeout}},
}

func cursorForm(a answer) any {
	return struct {
		Permission string `json:"permission"`
		User       string `json:"user_message,omitempty"`
		Agent      string `json:"agent_message,omitempty"`
	}{a.decision, a.reason, a.reason}
}

//go:embed plugins/cline.sh
var clineScript string

// Cline is Cline, in VS Code and on the command line: https://docs.cline.bot/features/hooks/hook-reference. A script
// has 30 s there; Cline runs the tool when they are over.
var Cline = Vendor{
	Name: "cline", Title: "Cline", Executable: true, patience: 25 * time.Second,
	Files: []string{".clinerules/hooks/PreToolUse"}, UserFile: "Documents/Cline/Hooks/PreToolUse",
	Note: "Cline runs what is approved itself, outside of the sandbox, and waits 25 s for the answer: answer sooner, " +
		"or have it try again",
	plugin: clineScript,
	read:   readCline,
	form:   clineForm,
	events: []event{{name: "PreToolUse"}},
}

// readCline decodes a call of the extension, or of the command line, which has the arguments whole.
func readCline(input []byte) (c call, err error) {
	var in struct {
		Task   string   `json:"taskId"`
		Roots  []string `json:"workspaceRoots"`
		Before *struct {
			Tool       string          `json:"toolName"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"preToolUse"`
		Call *struct {
			ID, Name string
			Input    json.RawMessage
		} `json:"tool_call"`
	}
	if err := unmarshal(input, &in); err != nil {
		return c, err
	}
	c.Conversation = in.Task
	if len(in.Roots) > 0 {
		c.Cwd = in.Roots[0]
	}
	if in.Before != nil {
		c.Event, c.Tool, c.Input = eventKey, in.Before.Tool, in.Before.Parameters
	}
	if in.Call != nil {
		c.Event, c.ID, c.Tool, c.Input = eventKey, in.Call.ID, in.Call.Name, in.Call.Input
	}
	return c, nil
}

func clineForm(a answer) any {
	reason := a.reason
	if a.decision == "allow" {
		reason = "" // it would be a part of the model's context
	}
	return struct {
		Cancel bool   `json:"cancel"`
		Reason string `json:"errorMessage,omitempty"`
	}{a.decision != "allow", reason}
}

//go:embed plugins/opencode.js
var openCodePlugin string

// OpenCode is opencode, by a plugin of ours: https://opencode.ai/docs/plugins.
var OpenCode = Vendor{
	Name: "opencode", Title: "opencode", Rewrites: "1.18.33",
	Files: []string{".opencode/plugins/sandboxd.js"}, UserFile: ".config/opencode/plugins/sandboxd.js",
	plugin: openCodePlugin,
	events: []event{{name: "PreToolUse"}, {name: "PostToolUse"}},
}

//go:embed plugins/pi.ts
var piExtension string

// Pi is pi, by an extension of ours: docs/extensions.md of @mariozechner/pi-coding-agent.
var Pi = Vendor{
	Name: "pi", Title: "pi", Rewrites: "0.73.1",
	Files: []string{".pi/extensions/sandboxd.ts"}, UserFile: ".pi/agent/extensions/sandboxd.ts",
	plugin: piExtension,
	events: []event{{name: "PreToolUse"}, {name: "PostToolUse"}},
}

// Vendors are all that have a form of their own.
var Vendors = []Vendor{Claude, Codex, Gemini, Qwen, Copilot, VSCode, OpenCode, Pi, Cursor, Cline}
