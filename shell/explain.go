package shell

import (
	"fmt"
	"strings"
)

// Explain formats the verdict for a terminal: the decision, then each piece of the line with
// its position and the rule that decided it.
func (v Verdict) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", v.Decision, v.Why)
	if v.Decision == Ask {
		fmt.Fprintf(&b, "risk: %s\n", v.Risk)
	}
	for _, w := range v.Warnings() {
		fmt.Fprintf(&b, "warning: %s\n", strings.ToLower(w))
	}
	for _, p := range v.Parts {
		fmt.Fprintf(&b, "  %d:%d\t%s\t%s\n\t\t%s", p.Line, p.Col, p.Decision, oneLine(p.Text), p.Why)
		if p.Rule != "" {
			fmt.Fprintf(&b, " [%s]", p.Rule)
		}
		b.WriteByte('\n')
	}
	switch {
	case v.Run.Argv != nil:
		fmt.Fprintf(&b, "runs: %s\n", Quote(v.Run.Argv))
	case v.Run.Script != "":
		fmt.Fprintf(&b, "runs: %s\n", v.Run.Script)
	}
	if v.Sandboxed {
		b.WriteString("only where the OS sandbox is in force\n")
	}
	for _, s := range v.Suggestions {
		fmt.Fprintf(&b, "may be granted: %s\n", s.Label)
	}
	return b.String()
}
