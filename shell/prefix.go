package shell

import (
	"fmt"
	"slices"
	"strings"

	"sandboxd/pattern"
	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
)

// PrefixNote describes the further words that a rule or permission permits by its prefix. See
// [Config.Prefixes].
type PrefixNote struct {
	// Key and At locate the entry: "shell.rules" or "permissions.allow", and its index.
	Key string
	At  int
	// Text names the entry, the further words with an example, and the remedy.
	Text string
}

// Prefixes returns a note for each rule and permission that lets commands run unasked by their
// first words.
func (c Config) Prefixes() []PrefixNote {
	var out []PrefixNote
	for i, r := range c.Rules {
		words, err := analysis.Pattern(r.Pattern, true)
		if err != nil || !isTrue(r.Allowed) || isTrue(r.Approval) || r.Exact {
			continue
		}
		text := fmt.Sprintf("%q also lets %s run; exact = true lets no further word", r.Pattern, further(words))
		out = append(out, PrefixNote{"shell.rules", i, text})
	}
	for i, p := range c.Permissions.Allow {
		if !isShell(p.Tool) || !p.Prefix {
			continue
		}
		words, err := analysis.Pattern(p.Command, true)
		if err != nil {
			continue
		}
		out = append(out, PrefixNote{"permissions.allow", i, fmt.Sprintf("%q lets %s run; \"%s(%s)\" lets no further word",
			p.String(), further(words), p.Tool, p.Command)})
	}
	return out
}

// further describes, with an example, the further words that a prefix covers.
func further(w pattern.Words) string {
	first := w.First()
	text := strings.TrimSuffix(w.String(), " *")
	if len(first) == 0 {
		return "any further words"
	}
	targets := []string{"make", "just", "task", "rake", "ninja", "gradle", "mvn"}
	switch name := carried.Base(first[0]); {
	case slices.Contains(targets, name) && len(first) == 1:
		return fmt.Sprintf("every target (%s deploy)", text)
	case slices.Contains(targets, name):
		return fmt.Sprintf("further targets (%s lint)", text)
	case (name == "npm" || name == "bun") && len(first) == 2 && first[1] == "run":
		return fmt.Sprintf("every script, with any words (%s publish-docs)", text)
	case name == "npm" || name == "bun":
		return fmt.Sprintf("any words for the script (%s -- --watch)", text)
	case len(first) == 1 && slices.Contains([]string{"python", "node", "ruby", "perl", "php", "sh", "deno", "lua"}, name):
		return fmt.Sprintf("every script (%s x)", text)
	case name == "git" && len(first) == 1:
		return "every command of git (git push)"
	}
	return fmt.Sprintf("any file, directory and harmless option (%s x -v)", text)
}
