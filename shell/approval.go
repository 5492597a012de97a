package shell

import (
	"fmt"
	"strings"

	"sandboxd/approval"
)

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
	}{{v.Outside, "OUTSIDE PROJECT"}, {v.Danger, "DANGEROUS"}, {v.Hidden, "SECRETS"}, {v.Protected, "PROTECTED FILE"},
		{v.Delete, "DELETES"}} {
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
		" No approval lifts this. Do the task without this command, or tell the user what you wanted to achieve and let " +
			"them run it.",
	)
	return b.String()
}
