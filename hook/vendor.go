package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Vendor is how one agent speaks with its hooks.
type Vendor struct {
	Name  string // as on the command line
	Title string // for people
	// Rewrites is the first version that is known to run a rewritten command; docs/integrations.md
	// has the evidence.
	Rewrites string
	// Files are its settings with hooks below a project or a home directory; Install writes the first.
	Files []string
	// events are those that Install asks for, PreToolUse first.
	events []event
	// asks: a hook may hand the question to the agent's own prompt.
	asks bool
	// silence: only silence lets a call run; an allow without a rewrite is not understood.
	silence bool
}

// event is a hook's entry in the settings.
type event struct {
	name    string
	matcher string // of tools; "": the event has none
	timeout time.Duration
	// onFailure is the agent's action if the hook can't be started, crashes or takes too long; "": not set.
	onFailure string
}

// afterTimeout is the time for the hooks that tell of an end.
const afterTimeout = 30 * time.Second

// Claude is Claude Code. Input and output: PreToolUseHookInput and
// PreToolUseHookSpecificOutput in @anthropic-ai/claude-agent-sdk, sdk.d.ts;
// https://code.claude.com/docs/en/hooks. onFailure is read from 2.1.295 on.
var Claude = Vendor{Name: "claude", Title: "Claude Code", Rewrites: "2.1.1", asks: true,
	Files: []string{".claude/settings.json", ".claude/settings.local.json"},
	events: []event{
		{"PreToolUse", "*", installedTimeout, "block"},
		{"PostToolUse", "Bash", afterTimeout, ""},
		{"PostToolUseFailure", "Bash", afterTimeout, ""},
		{"SessionEnd", "", afterTimeout, ""},
	}}

// Codex is OpenAI's Codex. https://developers.openai.com/codex/hooks; its parser is
// codex-rs/hooks/src/engine/output_parser.rs of github.com/openai/codex: unknown fields, "ask", and
// an "allow" without updatedInput make it ignore the answer, and run the tool. It has no event for a failed call.
var Codex = Vendor{Name: "codex", Title: "Codex", Rewrites: "0.144.0", silence: true,
	Files:  []string{".codex/hooks.json"},
	events: []event{{"PreToolUse", "*", installedTimeout, ""}, {"PostToolUse", "Bash", afterTimeout, ""}}}

// Vendors are all that have a form of their own.
var Vendors = []Vendor{Claude, Codex}

// Find finds a vendor by name; nil: there is none.
func Find(name string) *Vendor {
	for i := range Vendors {
		if Vendors[i].Name == name {
			return &Vendors[i]
		}
	}
	return nil
}

// call is the hook's input. Both vendors use the same names.
type call struct {
	Cwd          string          // cwd
	Event        string          // hook_event_name
	Tool         string          // tool_name
	Input        json.RawMessage // tool_input
	ID           string          // tool_use_id
	Conversation string          // session_id
	Turn         string          // turn_id, Codex only
	Prompt       string          // prompt_id, Claude Code only
	Subagent     string          // agent_type, or agent_id: of Claude Code's subagents
	Interrupted  bool            // is_interrupt: the person stopped the tool
}

// read decodes a call strictly enough to identify its tool and input.
func read(input []byte) (c call, err error) {
	if len(bytes.TrimSpace(input)) == 0 {
		return c, errors.New("standard input is empty")
	}
	if c, err = decode(input); err != nil {
		return c, fmt.Errorf("standard input is not a hook's JSON: %w", err)
	}
	return c, nil
}

// check reports a missing part of a tool call.
func (c call) check() error {
	switch {
	case c.Tool == "":
		return errors.New("no tool_name")
	case c.Cwd == "" || c.Cwd[0] != '/':
		return fmt.Errorf("cwd %q is not an absolute path", c.Cwd)
	}
	if in := bytes.TrimSpace(c.Input); len(in) == 0 || in[0] != '{' {
		return errors.New("tool_input is not a JSON object")
	}
	return nil
}

// decode takes names as they are written, as the agents do.
func decode(input []byte) (c call, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return c, err
	}
	for name, to := range map[string]any{"cwd": &c.Cwd, "hook_event_name": &c.Event, "tool_name": &c.Tool, "tool_use_id": &c.ID, "session_id": &c.Conversation,
		"turn_id": &c.Turn, "prompt_id": &c.Prompt, "agent_id": &c.Subagent, "is_interrupt": &c.Interrupted} {
		if raw, ok := fields[name]; ok {
			if err := json.Unmarshal(raw, to); err != nil {
				return c, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if raw, ok := fields["agent_type"]; ok && c.Subagent != "" {
		json.Unmarshal(raw, &c.Subagent) // it is only shown
	}
	c.Input = fields["tool_input"]
	return c, nil
}

// detect returns the vendor, by a field that only one of them sends.
func detect(c call) Vendor {
	if c.Turn != "" {
		return Codex
	}
	return Claude
}

// serves reports whether the hook answers that event.
func (v Vendor) serves(name string) bool {
	return slices.ContainsFunc(v.events, func(e event) bool { return e.name == name })
}

// output is what both vendors read; fields that are not listed here are not
// known to both.
type output struct {
	Specific specific `json:"hookSpecificOutput"`
}

type specific struct {
	Event    string          `json:"hookEventName"`
	Decision string          `json:"permissionDecision"`
	Reason   string          `json:"permissionDecisionReason,omitempty"`
	Input    json.RawMessage `json:"updatedInput,omitempty"`
}

func answer(decision, reason string, input json.RawMessage) []byte {
	b, err := json.Marshal(output{specific{Event: "PreToolUse", Decision: decision, Reason: reason, Input: input}})
	if err != nil {
		panic(err) // the input was JSON
	}
	return append(b, '\n')
}

// deny is a refusal. Its reason is read by the model, and is never empty.
func (v Vendor) deny(reason string) []byte {
	if strings.TrimSpace(reason) == "" {
		reason = "sandboxd refused this call."
	}
	return answer("deny", reason, nil)
}

// stop ends the agent's turn, and shows the person the reason.
func (v Vendor) stop(reason string) []byte {
	b, err := json.Marshal(struct {
		Continue bool   `json:"continue"`
		Reason   string `json:"stopReason"`
		Message  string `json:"systemMessage"`
	}{false, reason, reason})
	if err != nil {
		panic(err) // it is text
	}
	return append(b, '\n')
}

// allow lets the call run unchanged.
func (v Vendor) allow(reason string) []byte {
	if v.silence {
		return nil
	}
	return answer("allow", reason, nil)
}

// rewrite lets the call run with another input.
func (v Vendor) rewrite(reason string, input json.RawMessage) []byte {
	if v.silence {
		reason = "" // only a denial's is read
	}
	return answer("allow", reason, input)
}

// ask hands the question to the agent's own prompt, or refuses where there is none.
func (v Vendor) ask(reason string) []byte {
	if !v.asks {
		return v.deny(reason)
	}
	return answer("ask", reason, nil)
}

// honours reports whether that version of the agent runs rewritten commands.
func (v Vendor) honours(version string) bool {
	have, ok := numbers(version)
	want, _ := numbers(v.Rewrites)
	if !ok {
		return false
	}
	for i := range want {
		if have[i] != want[i] {
			return have[i] > want[i]
		}
	}
	return true
}

// numbers reads MAJOR.MINOR.PATCH; a version with a suffix, such as a
// pre-release, counts as the one before.
func numbers(version string) (n [3]int, ok bool) {
	core, suffix, pre := strings.Cut(version, "-")
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return n, false
	}
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 {
			return n, false
		}
		n[i] = v
	}
	if pre && suffix != "" {
		n[2]--
	}
	return n, true
}
