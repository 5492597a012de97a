package seatbelt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
)

// sbpl is a text as the sandbox would understand it.
type sbpl struct {
	rules []sbplRule
	regex map[string]*regexp.Regexp
}

type sbplRule struct {
	allow   bool
	ops     []string
	filters []test // any of them; none: always
}

// query is what a process is about to do.
type query struct {
	op   string
	path string // "" if it is not about a path
	host string // "ip:port" for the network
}

type test func(query) bool

// understand reads a text with its parameters. Everything it does not know is an error; so is a parameter that is
// missing or superfluous.
func understand(r Result) (*sbpl, error) {
	exprs, err := read(r.Text)
	if err != nil {
		return nil, err
	}
	params, used := map[string]string{}, map[string]bool{}
	for _, p := range r.Params {
		key, value, _ := strings.Cut(p, "=")
		params[key] = value
	}
	s := &sbpl{regex: map[string]*regexp.Regexp{}}
	for _, e := range exprs {
		switch e.head() {
		case "version":
			continue
		case "allow", "deny":
		default:
			return nil, fmt.Errorf("no such form: %q", e.head())
		}
		rule := sbplRule{allow: e.head() == "allow"}
		for _, part := range e.list[1:] {
			if part.list == nil {
				if part.quoted {
					return nil, fmt.Errorf("%q is no operation", part.atom)
				}
				rule.ops = append(rule.ops, part.atom)
				continue
			}
			f, err := s.filter(part, params, used)
			if err != nil {
				return nil, err
			}
			rule.filters = append(rule.filters, f)
		}
		s.rules = append(s.rules, rule)
	}
	for key := range params {
		if !used[key] {
			return nil, fmt.Errorf("parameter %s is not used", key)
		}
	}
	return s, nil
}

func (s *sbpl) filter(e expr, params map[string]string, used map[string]bool) (test, error) {
	if e.head() == "require-all" {
		var all []test
		for _, part := range e.list[1:] {
			f, err := s.filter(part, params, used)
			if err != nil {
				return nil, err
			}
			all = append(all, f)
		}
		return func(q query) bool { return !slices.ContainsFunc(all, func(f test) bool { return !f(q) }) }, nil
	}
	var words []string
	for _, part := range e.list[1:] {
		if part.head() == "param" {
			key := part.list[1].atom
			value, ok := params[key]
			if !ok {
				return nil, fmt.Errorf("parameter %q is missing", key)
			}
			used[key] = true
			words = append(words, value)
			continue
		}
		words = append(words, part.atom)
	}
	switch e.head() {
	case "literal":
		return func(q query) bool { return q.path == words[0] }, nil
	case "subpath":
		return func(q query) bool { return q.path != "" && abspath.Contains(words[0], q.path) }, nil
	case "regex":
		r, err := translate(words[0])
		if err != nil {
			return nil, err
		}
		return func(q query) bool { return q.path != "" && r.MatchString(q.path) }, nil
	case "remote", "local":
		host, port, _ := strings.Cut(words[1], ":")
		return func(q query) bool {
			qHost, qPort, ok := strings.Cut(q.host, ":")
			return ok && (host == "*" || host == qHost) && (port == "*" || port == qPort)
		}, nil
	case "target", "extension", "global-name", "sysctl-name", "sysctl-name-prefix", "ipc-posix-name", "socket-domain",
		"socket-protocol":
		return func(query) bool { return false }, nil
	}
	return nil, fmt.Errorf("no such filter: %q", e.head())
}

// translate takes an expression of the sandbox's for one of Go's, if it keeps to what the sandbox knows.
func translate(r string) (*regexp.Regexp, error) {
	if strings.Contains(r, "(?") || strings.Contains(strings.TrimPrefix(r, "^"), "^") && !onlyInSets(r) {
		return nil, fmt.Errorf("the sandbox does not understand %q", r)
	}
	return regexp.Compile("(?s)" + r)
}

// onlyInSets reports whether every ^ but the first negates a set or is escaped.
func onlyInSets(r string) bool {
	for i := 1; i < len(r); i++ {
		if r[i] == '^' && r[i-1] != '[' && r[i-1] != '\\' {
			return false
		}
	}
	return true
}

func (r sbplRule) matches(q query) bool {
	return len(r.filters) == 0 || slices.ContainsFunc(r.filters, func(f test) bool { return f(q) })
}

// groups lists the names under which a rule may speak of an operation, the narrowest first: file-write-data,
// file-write*, file*, default.
func groups(op string) []string {
	out := []string{op, op + "*"}
	for rest := op; ; {
		n := strings.LastIndexByte(rest, '-')
		if n < 0 {
			return append(out, "default")
		}
		rest = rest[:n]
		out = append(out, rest+"*")
	}
}

// last asks as the documents say: of all rules that match, the last one decides.
func (s *sbpl) last(q query) bool {
	allow := false
	names := groups(q.op)
	for _, r := range s.rules {
		if slices.ContainsFunc(r.ops, func(op string) bool { return slices.Contains(names, op) }) && r.matches(q) {
			allow = r.allow
		}
	}
	return allow
}

// narrowest asks as people have found it to be: a rule for the operation itself beats one for its group, wherever the
// two stand; among equals the last one decides.
func (s *sbpl) narrowest(q query) bool {
	for _, name := range groups(q.op) {
		for _, r := range slices.Backward(s.rules) {
			if slices.Contains(r.ops, name) && r.matches(q) {
				return r.allow
			}
		}
	}
	return false
}

// allows asks both ways, which must agree.
func (s *sbpl) allows(t failer, q query) bool {
	t.Helper()
	a, b := s.last(q), s.narrowest(q)
	if a != b {
		t.Fatalf("%+v: %v if the last rule decides, %v if the narrowest does", q, a, b)
	}
	return a
}

// failer is what *testing.T and *rapid.T have in common.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}
