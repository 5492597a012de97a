package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Vendor is how one agent speaks with its hooks.
type Vendor struct {
	Name  string // as on the command line
	Title string // for people
	// Rewrites is the first version that is known to run a rewritten command; docs/agents/ has the evidence. Empty: none
	// is, so that the agent runs approved commands itself.
	Rewrites string
	// FailsClosed is the first version that refuses a call whose hook can't be started, crashes or takes too long, where
	// older ones let it through; "": all do the same.
	FailsClosed string
	// Files are its settings with hooks below a project or a home directory; Install writes the first.
	Files []string
	// UserFile replaces the first of Files below a home directory; "": it has the same name there.
	UserFile string
	// Note is for the person who installed the hook; "": there is none.
	Note string
	// Executable: the file is a program.
	Executable bool
	// program is the agent's own, which knows its version; "": Name.
	program string
	// command is the name in the command that Install writes; "": Name.
	command string
	// created is the settings that Install starts from where there is no file; "": [Created].
	created string
	// patience is how long a person may take, where the agent waits less than for others; 0: defaultPatience.
	patience time.Duration
	// sibling reads the same file, and sends calls with other names of their fields; nil: there is none.
	sibling *Vendor
	// plugin is the whole text of the file, with the word COMMAND in place of our command; "": the file has settings in
	// which Install enters the hook.
	plugin string
	// events are those that Install asks for, PreToolUse first.
	events []event
	// asks: a hook may hand the question to the agent's own prompt.
	asks bool
	// silence: only silence lets a call run; an allow without a rewrite is not understood.
	silence bool
	// read decodes a call; nil: by names.
	read func([]byte) (call, error)
	// names are the agent's names of the fields of a call; nil: Claude Code's.
	names *fieldNames
	// form writes an answer; nil: Claude Code's.
	form func(answer) any
}

// event is a hook's entry in the settings.
type event struct {
	name    string
	matcher string // of tools; "": the event has none
	timeout time.Duration
	// onFailure is the agent's action if the hook can't be started, crashes or takes too long; "": not set.
	onFailure string
	// status is the text beside the agent's spinner while the hook runs; "": the agent has none.
	status string
	// as is Claude Code's name of the event; "": the same.
	as string
	// unit is that of the timeout; 0: a second.
	unit time.Duration
	// flat: an entry is one command, as Cursor has it, and not a group of them.
	flat bool
}

// Program is the agent's own.
func (v Vendor) Program() string { return cmp.Or(v.program, v.Name) }

// Command is the name of the vendor in the command that Install writes.
func (v Vendor) Command() string { return cmp.Or(v.command, v.Name) }

// Created is the text that Install starts from where there is no file, and that Remove leaves of such a file. Nobody
// writes it in this form.
func (v Vendor) Created() string { return cmp.Or(v.created, "{ }\n") }

// kind is Claude Code's name of the event.
func (e event) kind() string { return cmp.Or(e.as, e.name) }

// afterTimeout is the time for the hooks that tell of an end.
const afterTimeout = 30 * time.Second

// Find finds a vendor by name; nil: there is none.
func Find(name string) *Vendor {
	for i := range Vendors {
		if Vendors[i].Name == name {
			return &Vendors[i]
		}
	}
	return nil
}

// call is the hook's input.
type call struct {
	Cwd          string
	Event        string // by Claude Code's name
	Tool         string
	Input        json.RawMessage
	ID           string // "": the agent gives none
	Conversation string
	Turn         string // Codex only
	Prompt       string // Claude Code only
	Subagent     string // type or id, of Claude Code's subagents
	Interrupted  bool   // the person stopped the tool
}

// fieldNames are an agent's names of the fields of a call; "": it has none.
type fieldNames struct {
	cwd, event, tool, input, id, conversation string
}

// claudeNames are Claude Code's, which most agents use.
var claudeNames = &fieldNames{"cwd", "hook_event_name", "tool_name", "tool_input", "tool_use_id", "session_id"}

// call decodes a call strictly enough to identify its tool and input.
func (v Vendor) call(input []byte) (c call, err error) {
	if len(bytes.TrimSpace(input)) == 0 {
		return c, errors.New("standard input is empty")
	}
	if c, err = v.decode(input); err != nil {
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

// unmarshal is json.Unmarshal with errors in the words of JSON: those of encoding/json name Go's types.
func unmarshal(text []byte, to any) error {
	err := json.Unmarshal(text, to)
	wrong := (*json.UnmarshalTypeError)(nil)
	if !errors.As(err, &wrong) {
		return err
	}
	kind := wrong.Type
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	want := cmp.Or(map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "true or false", reflect.Slice: "array"}[kind.Kind()], "object")
	where := ""
	if wrong.Field != "" {
		where = wrong.Field + ": "
	}
	return fmt.Errorf("%swant %s, not %s", where, want, wrong.Value)
}

// decode takes names as they are written, as the agents do.
func (v Vendor) decode(input []byte) (c call, err error) {
	if v.read != nil {
		return v.read(input)
	}
	var fields map[string]json.RawMessage
	if err := unmarshal(input, &fields); err != nil {
		return c, err
	}
	names := v.names
	if names == nil {
		names = claudeNames
	}
	for _, field := range []struct {
		name string
		to   any
	}{
		{names.cwd, &c.Cwd}, {names.event, &c.Event}, {names.tool, &c.Tool}, {names.id, &c.ID},
		{names.conversation, &c.Conversation}, {"turn_id", &c.Turn}, {"prompt_id", &c.Prompt}, {"generation_id", &c.Prompt},
		{"agent_id", &c.Subagent}, {"is_interrupt", &c.Interrupted},
	} {
		if raw, ok := fields[field.name]; ok {
			if err := unmarshal(raw, field.to); err != nil {
				return c, fmt.Errorf("%s: %w", field.name, err)
			}
		}
	}
	if raw, ok := fields["agent_type"]; ok && c.Subagent != "" {
		json.Unmarshal(raw, &c.Subagent) // it is only shown
	}
	var roots []string
	if raw := fields["workspace_roots"]; c.Cwd == "" && json.Unmarshal(raw, &roots) == nil && len(roots) > 0 {
		c.Cwd = roots[0]
	}
	c.Input = fields[names.input]
	var text string
	if v.names != nil && json.Unmarshal(c.Input, &text) == nil {
		c.Input = json.RawMessage(text) // JSON in a string
	}
	if names.event == "" && c.Tool != "" {
		c.Event = v.events[0].name // the agent does not name it
	}
	for _, e := range v.events {
		if c.Event == e.name {
			c.Event = e.kind()
			break
		}
	}
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
	return slices.ContainsFunc(v.events, func(e event) bool { return e.kind() == name })
}

// answer is the verdict about a call.
type answer struct {
	decision string // "allow", "deny" or "ask"
	reason   string
	input    json.RawMessage // in place of the call's; nil: unchanged
}

// claudeForm is Claude Code's, as most agents read it. Fields that are not listed here are not known to all.
func claudeForm(a answer) any {
	type specific struct {
		Event    string          `json:"hookEventName"`
		Decision string          `json:"permissionDecision"`
		Reason   string          `json:"permissionDecisionReason,omitempty"`
		Input    json.RawMessage `json:"updatedInput,omitempty"`
	}
	return struct {
		Specific specific `json:"hookSpecificOutput"`
	}{specific{"PreToolUse", a.decision, a.reason, a.input}}
}

func (v Vendor) say(a answer) []byte {
	form := v.form
	if form == nil {
		form = claudeForm
	}
	b, err := json.Marshal(form(a))
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
	return v.say(answer{decision: "deny", reason: reason})
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
	return v.say(answer{decision: "allow", reason: reason})
}

// rewrite lets the call run with another input.
func (v Vendor) rewrite(reason string, input json.RawMessage) []byte {
	if v.silence {
		reason = "" // only a denial's is read
	}
	return v.say(answer{"allow", reason, input})
}

// ask hands the question to the agent's own prompt, or refuses where there is none.
func (v Vendor) ask(reason string) []byte {
	if !v.asks {
		return v.deny(reason)
	}
	return v.say(answer{decision: "ask", reason: reason})
}

// honours reports whether that version of the agent runs rewritten commands.
func (v Vendor) honours(version string) bool { return reaches(version, v.Rewrites) }

// LetsThrough reports whether that version of the agent runs a call whose hook fails, and newer ones don't.
func (v Vendor) LetsThrough(version string) bool {
	return v.FailsClosed != "" && version != "" && !reaches(version, v.FailsClosed)
}

// reaches reports whether version is known to be least or later.
func reaches(version, least string) bool {
	have, ok := numbers(version)
	want, _ := numbers(least)
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
