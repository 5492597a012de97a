package profile

import (
	"fmt"
	"strings"

	"sandboxd/profile/abspath"
)

// String returns the normal form as text, one rule or setting a line.
func (p Profile) String() string {
	var w strings.Builder
	b := p.get()
	for _, r := range p.Rules() {
		fmt.Fprintln(&w, r)
	}
	for _, g := range b.guards {
		fmt.Fprintf(&w, "guard %s\n", g)
	}
	for _, s := range b.sockets {
		fmt.Fprintf(&w, "socket %s\n", s)
	}
	fmt.Fprintf(&w, "network %s\n", b.network)
	if env := b.env.String(); env != "" {
		fmt.Fprintf(&w, "environment %s\n", env)
	}
	if limits := b.limits.String(); limits != "" {
		fmt.Fprintf(&w, "limits %s\n", limits)
	}
	if len(b.syscalls) > 0 {
		fmt.Fprintf(&w, "syscalls %q\n", b.syscalls)
	}
	fmt.Fprintf(&w, "processes %s\n", b.processes)
	return w.String()
}

// String returns for example "allowlist hosts=[example.com:443]".
func (n Network) String() string {
	s := n.Mode.String()
	if len(n.Hosts) > 0 {
		s += fmt.Sprintf(" hosts=%v", n.Hosts)
	}
	switch {
	case n.ListenAny:
		s += " listen=any"
	case len(n.Listen) > 0:
		s += fmt.Sprintf(" listen=%v", n.Listen)
	}
	return s
}

// String returns for example "pass=[LANG LC_*] set=[CI]"; values stay out of
// it, they may be nobody's business.
func (e Environment) String() string {
	var parts []string
	for _, list := range []struct {
		word  string
		names []string
	}{{"pass", e.Pass}, {"block", e.Block}, {"set", sortedKeys(e.Set)}} {
		if len(list.names) > 0 {
			parts = append(parts, fmt.Sprintf("%s=%v", list.word, list.names))
		}
	}
	if e.PassSecrets {
		parts = append(parts, "secrets")
	}
	return strings.Join(parts, " ")
}

// String names the limits that are set, for example "wall=10m0s memory=4GiB".
func (l Limits) String() string {
	var parts []string
	for _, f := range l.fields() {
		if f.value != 0 {
			parts = append(parts, f.name+"="+f.text)
		}
	}
	return strings.Join(parts, " ")
}

// Explain describes the access at path in a few lines, the rules that led there from "/" down, and
// each operation's verdict.
func (p Profile) Explain(path string) string {
	var w strings.Builder
	if err := validatePath(path); err != nil {
		fmt.Fprintf(&w, "%s\n", err)
		return w.String()
	}
	kind, access, _ := p.Effective(path)
	fmt.Fprintf(&w, "%s: %s, %s\n", path, describe[kind], access)
	c, at := p.Cursor(), "/"
	c.explainStep(&w, at)
	for _, element := range abspath.Elements(path) {
		c, at = c.Child(element), abspath.Join(at, element)
		c.explainStep(&w, at)
	}
	var yes, no []string
	for _, op := range Ops() {
		if p.Allows(op, path).Allowed {
			yes = append(yes, op.String())
		} else {
			no = append(no, op.String())
		}
	}
	where := ""
	if kind == Private {
		where = " in the sandbox's own place"
	}
	fmt.Fprintf(&w, "  allowed%s: %s\n  refused%s: %s\n", where, orNone(yes), where, orNone(no))
	return w.String()
}

var describe = map[Kind]string{
	Allow:   "the host's",
	Private: "the sandbox's own",
	Protect: "the host's, protected",
	Hide:    "not there for the command, or hidden from it",
}

func (c Cursor) explainStep(w *strings.Builder, at string) {
	if !c.turned {
		return
	}
	_, access, rule := c.Effective()
	fmt.Fprintf(w, "  from %s on: %s", at, access)
	if rule != (Rule{}) {
		fmt.Fprintf(w, " by %q", rule)
	}
	if rule.Origin != "" {
		fmt.Fprintf(w, " (%s)", rule.Origin)
	}
	w.WriteByte('\n')
}

func orNone(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
