package importrules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"sandboxd/shell"
)

// codex converts config.toml or a file of prefix rules.
func (c *converter) codex(name string, data []byte) error {
	if strings.HasSuffix(name, ".rules") || strings.Contains(string(data), "prefix_rule(") {
		return c.codexRules(string(data))
	}
	var cfg map[string]any
	if err := toml.Unmarshal(data, &cfg); err != nil {
		return err
	}
	for key, value := range cfg {
		switch key {
		case "approval_policy":
			switch value {
			case "never":
				c.skip("approval_policy = never", "a mode that asks nothing comes from a person only: sbx mode approve-all")
			case "untrusted", "on-request", "on-failure":
			default:
				c.skip(fmt.Sprintf("approval_policy = %v", value), "it is not known")
			}
		case "sandbox_mode":
			if value == "danger-full-access" {
				c.skip("sandbox_mode = danger-full-access", "nothing runs outside the sandbox here")
			}
		case "sandbox_workspace_write":
			c.codexSandbox(value)
		case "shell_environment_policy":
			c.codexEnvironment(value)
		case "projects":
			c.skip("projects", "trust is given by a person: sbx trust DIR")
		default:
			c.skip(key, "it is not about permissions")
		}
	}
	return nil
}

func (c *converter) codexSandbox(value any) {
	table, _ := value.(map[string]any)
	for key, v := range table {
		switch key {
		case "network_access":
			if v == true {
				c.network = "full"
			}
		case "writable_roots":
			roots, _ := v.([]any)
			for _, r := range roots {
				if s, ok := r.(string); ok {
					c.directory(s)
				}
			}
		default:
			c.skip("sandbox_workspace_write."+key, "the private /tmp of every command makes it needless")
		}
	}
}

func (c *converter) codexEnvironment(value any) {
	table, _ := value.(map[string]any)
	for key, v := range table {
		if set, ok := v.(map[string]any); ok && key == "set" {
			for k, x := range set {
				s, isText := x.(string)
				if !isText || secret(k) {
					c.skip("shell_environment_policy.set."+k, "it looks like a secret, or is no text")
					continue
				}
				if c.environment == nil {
					c.environment = map[string]string{}
				}
				c.environment[k] = s
			}
			continue
		}
		c.skip("shell_environment_policy."+key, "variables that pass are listed in [environment] pass")
	}
}

// codexRules converts prefix_rule(pattern = ["git", "status"], decision = "allow", …) calls.
// They are written in Starlark; only literal arguments are supported.
func (c *converter) codexRules(text string) error {
	p := &starlark{s: text}
	for {
		call, ok, err := p.call()
		if err != nil {
			return err
		}
		if !ok {
			// There the strictest match decides, here the first.
			slices.SortStableFunc(c.rules, func(a, b ruleText) int { return cmp.Compare(b.strictness(), a.strictness()) })
			return nil
		}
		if call.name != "prefix_rule" {
			c.skip(call.name+"(…)", "only prefix_rule is known")
			continue
		}
		c.prefixRule(call)
	}
}

func (c *converter) prefixRule(call starCall) {
	words, ok := call.args["pattern"].([]any)
	if !ok || len(words) == 0 {
		c.skip("prefix_rule without a pattern", "it names no command")
		return
	}
	// Each element is a word or a list of alternatives.
	lines := [][]string{nil}
	for _, w := range words {
		var choices []string
		switch w := w.(type) {
		case string:
			choices = []string{w}
		case []any:
			for _, x := range w {
				if s, ok := x.(string); ok {
					choices = append(choices, s)
				}
			}
		}
		var next [][]string
		for _, line := range lines {
			for _, choice := range choices {
				next = append(next, append(append([]string(nil), line...), choice))
			}
		}
		lines = next
	}
	if len(lines) > 100 {
		c.skip("prefix_rule "+shell.Quote(lines[0]), "it has too many alternatives")
		return
	}
	decision, _ := call.args["decision"].(string)
	for _, line := range lines {
		r := ruleText{pattern: shell.Quote(line), allowed: true, approval: true}
		switch decision {
		case "allow", "":
			r.approval = false
		case "prompt":
		case "forbidden":
			r.allowed = false
		default:
			c.skip("prefix_rule "+r.pattern, "the decision "+decision+" is not known")
			continue
		}
		if len(lines) == 1 {
			r.match, r.notMatch = examples(call.args["match"]), examples(call.args["not_match"])
		}
		if _, err := shell.New(shell.Config{Rules: []shell.Rule{{Pattern: r.pattern}}}); err != nil {
			c.skip("prefix_rule "+r.pattern, err.Error())
			continue
		}
		c.rules = append(c.rules, r)
	}
}

// examples returns the command lines of a list whose elements are strings or lists of words.
func examples(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		switch x := x.(type) {
		case string:
			out = append(out, x)
		case []any:
			var words []string
			for _, w := range x {
				if s, ok := w.(string); ok {
					words = append(words, s)
				}
			}
			out = append(out, shell.Quote(words))
		}
	}
	return out
}

// starlark parses calls with literal keyword arguments.
type starlark struct {
	s  string
	at int
}

type starCall struct {
	name string
	args map[string]any
}

var errStarlark = errors.New("the rules hold something other than calls with literal arguments")

func (p *starlark) space() {
	for p.at < len(p.s) {
		switch c := p.s[p.at]; {
		case strings.IndexByte(" \t\r\n,;", c) >= 0:
			p.at++
		case c == '#':
			for p.at < len(p.s) && p.s[p.at] != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

func (p *starlark) word() string {
	start := p.at
	for p.at < len(p.s) {
		c := p.s[p.at]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			break
		}
		p.at++
	}
	return p.s[start:p.at]
}

func (p *starlark) take(c byte) bool {
	p.space()
	if p.at < len(p.s) && p.s[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *starlark) call() (starCall, bool, error) {
	p.space()
	if p.at >= len(p.s) {
		return starCall{}, false, nil
	}
	call := starCall{name: p.word(), args: map[string]any{}}
	if call.name == "" || !p.take('(') {
		return call, false, errStarlark
	}
	for !p.take(')') {
		key := p.word()
		if key == "" || !p.take('=') {
			return call, false, errStarlark
		}
		v, err := p.value(0)
		if err != nil {
			return call, false, err
		}
		call.args[key] = v
	}
	return call, true, nil
}

func (p *starlark) value(depth int) (any, error) {
	p.space()
	if p.at >= len(p.s) || depth > 8 {
		return nil, errStarlark
	}
	switch c := p.s[p.at]; c {
	case '[':
		p.at++
		var list []any
		for !p.take(']') {
			v, err := p.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case '"', '\'':
		return p.text(c)
	}
	if w := p.word(); w == "True" || w == "False" || w == "None" {
		return w, nil
	}
	return nil, errStarlark
}

func (p *starlark) text(quote byte) (any, error) {
	if strings.HasPrefix(p.s[p.at:], strings.Repeat(string(quote), 3)) {
		end := strings.Index(p.s[p.at+3:], strings.Repeat(string(quote), 3))
		if end < 0 {
			return nil, errStarlark
		}
		s := p.s[p.at+3 : p.at+3+end]
		p.at += end + 6
		return s, nil
	}
	p.at++
	var b strings.Builder
	for p.at < len(p.s) {
		c := p.s[p.at]
		p.at++
		switch {
		case c == quote:
			return b.String(), nil
		case c == '\n':
			return nil, errStarlark
		case c == '\\' && p.at < len(p.s):
			e := p.s[p.at]
			p.at++
			switch e {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case '\\', '"', '\'':
				b.WriteByte(e)
			default:
				return nil, errStarlark
			}
		default:
			b.WriteByte(c)
		}
	}
	return nil, errStarlark
}
