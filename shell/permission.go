package shell

import (
	"fmt"
	"strings"

	"sandboxd/shell/analysis"
)

// Permission is one entry of [permissions], written as a string or as a table:
//
//	"read_file"              every call of the tool
//	"Bash(git status)"       exactly this command
//	"Bash(git diff *)"       these words and any further words
//	"Bash(git diff:*)"       the same, in another spelling
//	{tool = "edit", when = {file_path = "*.md"}}
//
// Only the tool name Bash is compared without regard to case.
type Permission struct {
	Tool string
	// Command is the text in the parentheses, without the trailing "*".
	Command string
	// Prefix is true if more words may follow.
	Prefix bool
	// Any is true if there are no parentheses, or only "*" in them.
	Any bool
	// When maps a parameter to a pattern that its value must match.
	When map[string]string

	// Origin is the file and line of the entry, for people.
	Origin string
	// Operator marks an entry of the operator's layer.
	Operator bool

	text string
}

// ParsePermission parses the string form.
func ParsePermission(s string) (Permission, error) {
	text := strings.TrimSpace(s)
	p := Permission{text: text}
	name, rest, found := strings.Cut(text, "(")
	p.Tool = strings.TrimSpace(name)
	if p.Tool == "" {
		return Permission{}, fmt.Errorf("permission %q: no tool name", s)
	}
	if strings.ContainsAny(p.Tool, " \t\r\n)") {
		return Permission{}, fmt.Errorf(
			"permission %q: the tool name holds a blank or parenthesis; write Tool or Tool(what)",
			s,
		)
	}
	if !found {
		p.Any = true
		return p, nil
	}
	if !strings.HasSuffix(rest, ")") {
		return Permission{}, fmt.Errorf("permission %q: the closing parenthesis is missing at the end", s)
	}
	what := strings.TrimSpace(strings.TrimSuffix(rest, ")"))
	switch {
	case what == "":
		return Permission{}, fmt.Errorf("permission %q: nothing in the parentheses", s)
	case what == "*" || what == ":*":
		p.Any = true
		return p, nil
	case strings.HasSuffix(what, ":*"):
		p.Prefix, what = true, strings.TrimSuffix(what, ":*")
	case strings.HasSuffix(what, " *"):
		p.Prefix, what = true, strings.TrimSuffix(what, " *")
	}
	p.Command = strings.TrimSpace(what)
	if p.Command == "" {
		return Permission{}, fmt.Errorf("permission %q: nothing in the parentheses", s)
	}
	return p, nil
}

// String returns the entry as it was written.
func (p Permission) String() string {
	if p.text != "" {
		return p.text
	}
	switch {
	case p.Any:
		return p.Tool
	case p.Prefix:
		return p.Tool + "(" + p.Command + " *)"
	}
	return p.Tool + "(" + p.Command + ")"
}

// UnmarshalTOML decodes either form.
func (p *Permission) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case string:
		parsed, err := ParsePermission(v)
		if err != nil {
			return err
		}
		*p = parsed
		return nil
	case map[string]any:
		return p.unmarshalTable(v)
	}
	return fmt.Errorf("permission: want a string or a table, not %T", v)
}

func (p *Permission) unmarshalTable(m map[string]any) error {
	tool, _ := m["tool"].(string)
	parsed, err := ParsePermission(tool)
	if err != nil {
		return err
	}
	for key, value := range m {
		switch key {
		case "tool":
		case "when":
			when, ok := value.(map[string]any)
			if !ok {
				return fmt.Errorf("permission %q: when must be a table of parameter = pattern", tool)
			}
			parsed.When = make(map[string]string, len(when))
			for name, pattern := range when {
				s, ok := pattern.(string)
				if !ok {
					return fmt.Errorf("permission %q: when.%s must be a string", tool, name)
				}
				parsed.When[name] = s
			}
		default:
			return fmt.Errorf("permission %q: unknown key %q; known are tool and when", tool, key)
		}
	}
	if len(parsed.When) > 0 {
		parsed.text += " when " + conditions(parsed.When)
	}
	*p = parsed
	return nil
}

// conditions formats the parameters with their patterns.
func conditions(when map[string]string) string {
	var out []string
	for _, name := range sortedKeys(when) {
		out = append(out, fmt.Sprintf("%s = %q", name, when[name]))
	}
	return strings.Join(out, " and ")
}

// StartedBy returns the command that the words of a prefix start (foo of "npx -y foo"), or ""
// if they start none. That command is judged by itself. instead is true if the words before it
// are not judged at all, because they only start it, as "timeout 5" does.
func StartedBy(prefix string) (inner string, instead bool) {
	s := analysis.Line(prefix, analysis.Place{Cwd: "/"})
	if len(s.Calls) == 0 {
		return "", false
	}
	c := s.Calls[0]
	instead = c.Transparent
	for len(c.Wrapped) > 0 {
		c = c.Wrapped[0]
		instead = instead && (c.Transparent || len(c.Wrapped) == 0)
	}
	if c == s.Calls[0] || !c.Literal() {
		return "", false
	}
	words := make([]string, len(c.Args))
	for i, w := range c.Args {
		words[i] = w.Text
	}
	return strings.Join(words, " "), instead
}
