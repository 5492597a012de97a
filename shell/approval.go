package shell

import (
	"fmt"
	"strings"

	"sandboxd/approval"
)

// ArgsFacts holds the Facts of an approval.Context for this tool: the snapshot, and the paths
// that the arguments of a tool call do not carry.
type ArgsFacts struct {
	Facts
	Cwd     string
	Project string
	Home    string
}

// CheckApproval judges a call with the arguments of an agent's shell tool: "command" (a line)
// or "argv", and "cwd", "env", "description", "tty". It implements approval.Checker. It returns
// an approval.BlockedError if the command is blocked, and nil if it runs unasked.
func (t *Tool) CheckApproval(c approval.Context) (*approval.Request, error) {
	cmd, facts, err := command(c)
	if err != nil {
		return nil, err
	}
	v := t.Judge(cmd, facts)
	switch v.Decision {
	case Auto:
		return nil, nil
	case Block:
		return nil, &approval.BlockedError{Reason: v.Refusal(), Rule: v.Rule}
	}
	return v.Request(cmd), nil
}

func command(c approval.Context) (Command, Facts, error) {
	var cmd Command
	var facts Facts
	switch f := c.Facts.(type) {
	case nil:
	case ArgsFacts:
		facts, cmd.Cwd, cmd.Project, cmd.Home = f.Facts, f.Cwd, f.Project, f.Home
	case Facts:
		facts = f
	default:
		return cmd, facts, fmt.Errorf("check %q: facts of type %T are not the shell tool's", c.Tool, c.Facts)
	}
	for key, value := range c.Args {
		var ok bool
		switch key {
		case "command", "line":
			cmd.Line, ok = value.(string)
		case "cwd":
			cmd.Cwd, ok = value.(string)
		case "description":
			cmd.Description, ok = value.(string)
		case "tty":
			cmd.TTY, ok = value.(bool)
		case "argv":
			cmd.Argv, ok = stringList(value)
		case "env":
			cmd.Env, ok = stringMap(value)
		default:
			ok = true // other arguments, such as timeouts, do not affect the verdict
		}
		if !ok {
			return cmd, facts, fmt.Errorf("check %q: argument %q has the type %T", c.Tool, key, value)
		}
	}
	return cmd, facts, nil
}

func stringList(v any) ([]string, bool) {
	switch v := v.(type) {
	case []string:
		return v, true
	case []any:
		out := make([]string, len(v))
		for i, x := range v {
			s, ok := x.(string)
			if !ok {
				return nil, false
			}
			out[i] = s
		}
		return out, true
	}
	return nil, false
}

func stringMap(v any) (map[string]string, bool) {
	switch v := v.(type) {
	case map[string]string:
		return v, true
	case map[string]any:
		out := make(map[string]string, len(v))
		for k, x := range v {
			s, ok := x.(string)
			if !ok {
				return nil, false
			}
			out[k] = s
		}
		return out, true
	}
	return nil, false
}

// Request returns the approval request for the verdict.
func (v Verdict) Request(c Command) *approval.Request {
	r := &approval.Request{
		Tool: toolName, Description: v.Description, Payload: v.Payload,
		Risk: approval.Risk(v.Risk.String()), Reasons: v.Reasons, Warnings: v.Warnings(),
		Dangerous: v.Danger, Protected: v.Protected, Delete: v.Delete, Outside: v.Outside,
		BlockedPath: v.BlockedPath,
		Presentation: &approval.Presentation{Kind: approval.KindCommand, Content: c.Text(), Language: "bash",
			Metadata: map[string]any{"cwd": c.Cwd, "marks": v.marks(c)}},
	}
	for _, s := range v.Suggestions {
		r.Suggestions = append(r.Suggestions, approval.Suggestion{Label: s.Label, Pattern: s.Pattern})
	}
	return r
}

// marks returns the pieces of the line that do not run unasked, as "FROM-TO" in bytes, for
// highlighting in a prompt.
func (v Verdict) marks(c Command) string {
	var out []string
	for _, p := range v.Parts {
		end := p.Offset + len(p.Text)
		if p.Decision != Auto && end <= len(c.Line) && c.Line[p.Offset:end] == p.Text {
			out = append(out, fmt.Sprintf("%d-%d", p.Offset, end))
		}
	}
	return strings.Join(out, " ")
}

// Warnings returns the words that a prompt shows in red.
func (v Verdict) Warnings() []string {
	var out []string
	for _, w := range []struct {
		on   bool
		text string
	}{{v.Outside, "OUTSIDE PROJECT"}, {v.Danger, "DANGEROUS"}, {v.Hidden, "SECRETS"}, {v.Protected, "PROTECTED FILE"}, {v.Delete, "DELETES"}} {
		if w.on {
			out = append(out, w.text)
		}
	}
	return out
}

// Text returns the command as it is shown and, after approval, executed.
func (c Command) Text() string {
	if c.Line != "" {
		return c.Line
	}
	return Quote(c.Argv)
}

// Refusal returns the text for an agent whose command is blocked: the command, the reason and
// the alternative (R-UX-06).
func (v Verdict) Refusal() string {
	var b strings.Builder
	what := v.Why
	for _, p := range v.Parts {
		if p.Decision == Block {
			fmt.Fprintf(&b, "%q is not permitted: %s.", oneLine(p.Text), strings.TrimSuffix(p.Why, "."))
			break
		}
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "This command is not permitted: %s.", strings.TrimSuffix(what, "."))
	}
	if v.Rule != "" {
		fmt.Fprintf(&b, " Decided by %s.", v.Rule)
	}
	b.WriteString(
		" No approval lifts this. Do the task without this command, or tell the user what you wanted to achieve and let them run it.",
	)
	return b.String()
}

// Denied returns the text for an agent whose command a person denied. note is the person's own
// text, or "".
func (v Verdict) Denied(c Command, note string) string {
	text := fmt.Sprintf("The user did not approve %q.", oneLine(c.Text()))
	if note != "" {
		text += " They said: " + oneLine(note) + "."
	}
	if len(v.Reasons) > 0 {
		text += " It was asked because " + strings.TrimSuffix(v.Reasons[0], ".") + "."
	}
	return text + " " + v.alternative() + " Do not try the same thing in another spelling; ask the user how to go on."
}

// alternative returns advice on how to reach the goal without a question.
func (v Verdict) alternative() string {
	switch {
	case v.Hidden:
		return "Secrets are not for reading: work without them, or ask the user for the one value you need."
	case v.Danger:
		return "Look for a way that can be undone, and name exactly the files it is about."
	case v.Protected:
		return "Files that other programs run are changed by the file tools, one at a time, where the user sees the difference."
	case v.Outside:
		return "Stay within the project directory."
	case v.Delete:
		return "Delete with the file tool, which keeps what it deletes."
	}
	for _, p := range v.Parts {
		switch {
		case p.Decision != Ask:
		case p.Rule == "redirection":
			return "Write files with the file tool instead of a redirection."
		case p.Rule == "not understood":
			return "Plain commands with their words spelled out, one at a time, are judged more easily."
		}
	}
	return "Commands that only read run without asking."
}
