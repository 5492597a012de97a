package approval

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Pattern says which payloads of a tool a grant covers. It is closed: a
// payload key that no condition reads and that is not listed in Free makes it
// not match, so that a new kind of field is never granted by accident.
type Pattern struct {
	Tool string `json:"tool"`
	// Exact is the payload's fingerprint; then nothing else is set.
	Exact string `json:"exact,omitempty"`
	// Where must all hold.
	Where []Condition `json:"where,omitempty"`
	// Free names payload keys that may hold anything or be absent.
	Free []string `json:"free,omitempty"`
	// Any covers every payload of the tool. Tools that run commands or touch
	// files never suggest it (R-AP-05).
	Any bool `json:"any,omitempty"`
}

// Op is how a condition compares.
type Op string

const (
	OpEqual  Op = "equal"  // deeply equal to Value
	OpPrefix Op = "prefix" // a list of words, or a list of such lists each of which, starts with Words
	OpUnder  Op = "under"  // a path, or a non-empty list of paths each of which, is Text or below it
)

// Condition is one test on one payload key. Use Equal, Prefix, Under.
type Condition struct {
	Key   string   `json:"key"`
	Op    Op       `json:"op"`
	Value any      `json:"value,omitempty"`
	Words []string `json:"words,omitempty"`
	Text  string   `json:"text,omitempty"`
}

// Equal wants the value at key to be deeply equal to value.
func Equal(key string, value any) Condition { return Condition{Key: key, Op: OpEqual, Value: value} }

// Prefix wants the word list at key (or every list in it) to start with words.
func Prefix(key string, words ...string) Condition {
	return Condition{Key: key, Op: OpPrefix, Words: words}
}

// Under wants the path at key (or every path in it) to lie in dir. Paths are
// compared as text and must be clean; the payload's author has resolved them.
func Under(key, dir string) Condition { return Condition{Key: key, Op: OpUnder, Text: dir} }

// ExactPattern covers just this payload.
func ExactPattern(tool string, payload map[string]any) (Pattern, error) {
	p, err := Fingerprint(payload)
	if err != nil {
		return Pattern{}, err
	}
	return Pattern{Tool: tool, Exact: p.String()}, nil
}

// Matches reports whether the pattern covers payload.
func (p Pattern) Matches(tool string, payload map[string]any) bool {
	if tool != p.Tool {
		return false
	}
	if p.Any {
		return true
	}
	if p.Exact != "" {
		fp, err := Fingerprint(payload)
		return err == nil && fp.String() == p.Exact
	}
	if len(p.Where) == 0 {
		return false
	}
	for _, c := range p.Where {
		v, ok := payload[c.Key]
		if !ok || !c.holds(v) {
			return false
		}
	}
	for k := range payload {
		named := func(c Condition) bool { return c.Key == k }
		if !slices.ContainsFunc(p.Where, named) && !slices.Contains(p.Free, k) {
			return false
		}
	}
	return true
}

func (c Condition) holds(v any) bool {
	switch c.Op {
	case OpEqual:
		return equalValue(c.Value, v)
	case OpPrefix:
		return hasPrefix(v, c.Words)
	case OpUnder:
		return every(v, func(s string) bool { return under(s, c.Text) })
	}
	return false
}

func under(name, dir string) bool {
	if name == "" || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../") {
		return false
	}
	if dir == "." {
		return !path.IsAbs(name)
	}
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// stringList reads v as a list of strings.
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

// every applies test to a string, or to each of a non-empty list of strings.
func every(v any, test func(string) bool) bool {
	if s, ok := v.(string); ok {
		return test(s)
	}
	list, ok := stringList(v)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(s string) bool { return !test(s) })
}

func hasPrefix(v any, words []string) bool {
	starts := func(list []string) bool {
		return len(words) > 0 && len(list) >= len(words) && slices.Equal(list[:len(words)], words)
	}
	if list, ok := stringList(v); ok && len(list) > 0 {
		return starts(list)
	}
	switch v := v.(type) {
	case [][]string:
		return len(v) > 0 && !slices.ContainsFunc(v, func(l []string) bool { return !starts(l) })
	case []any:
		return len(v) > 0 && !slices.ContainsFunc(v, func(x any) bool {
			l, ok := stringList(x)
			return !ok || !starts(l)
		})
	}
	return false
}

// String is the pattern for people and logs.
func (p Pattern) String() string {
	switch {
	case p.Any:
		return p.Tool + " (any input)"
	case p.Exact != "":
		return p.Tool + " (exactly this input)"
	}
	parts := make([]string, 0, len(p.Where))
	for _, c := range p.Where {
		switch c.Op {
		case OpEqual:
			parts = append(parts, fmt.Sprintf("%s = %v", c.Key, c.Value))
		case OpPrefix:
			parts = append(parts, fmt.Sprintf("%s = %s *", c.Key, strings.Join(c.Words, " ")))
		default:
			parts = append(parts, fmt.Sprintf("%s %s %s", c.Key, c.Op, c.Text))
		}
	}
	return p.Tool + " where " + strings.Join(parts, ", ")
}

// Validate reports a pattern that could match more or less than it says.
func (p Pattern) Validate() error {
	kinds := 0
	for _, set := range []bool{p.Any, p.Exact != "", len(p.Where) > 0} {
		if set {
			kinds++
		}
	}
	if p.Tool == "" || kinds != 1 {
		return fmt.Errorf("pattern %q: wants a tool and exactly one of exact, where, any", p.Tool)
	}
	if p.Exact != "" {
		if b, err := hex.DecodeString(p.Exact); err != nil || len(b) != len(Print{}) {
			return fmt.Errorf("pattern %q: exact %q is not a fingerprint", p.Tool, p.Exact)
		}
	}
	for _, c := range p.Where {
		if err := c.validate(); err != nil {
			return fmt.Errorf("pattern %q: key %q: %w", p.Tool, c.Key, err)
		}
	}
	return nil
}

func (c Condition) validate() error {
	if c.Key == "" {
		return errors.New("no key")
	}
	switch c.Op {
	case OpEqual:
		_, err := Fingerprint(map[string]any{"": c.Value})
		return err
	case OpPrefix:
		if len(c.Words) == 0 || slices.Contains(c.Words, "") {
			return errors.New("prefix of no or of empty words")
		}
	case OpUnder:
		if c.Text == "" || path.Clean(c.Text) != c.Text || c.Text == ".." || strings.HasPrefix(c.Text, "../") {
			return fmt.Errorf("directory %q is not clean", c.Text)
		}
	default:
		return fmt.Errorf("unknown comparison %q", c.Op)
	}
	return nil
}

// equal reports whether two patterns are written alike.
func (p Pattern) equal(q Pattern) bool {
	return p.Tool == q.Tool && p.Exact == q.Exact && p.Any == q.Any && slices.Equal(p.Free, q.Free) &&
		slices.EqualFunc(p.Where, q.Where, func(a, b Condition) bool {
			return a.Key == b.Key && a.Op == b.Op && a.Text == b.Text && slices.Equal(a.Words, b.Words) &&
				equalValue(a.Value, b.Value)
		})
}

// writable reports whether the pattern survives being written as JSON.
func (p Pattern) writable() bool {
	ok := utf8.ValidString(p.Tool)
	for _, c := range p.Where {
		ok = ok && utf8.ValidString(c.Key) && utf8.ValidString(c.Text) && validText(c.Value)
		for _, w := range c.Words {
			ok = ok && utf8.ValidString(w)
		}
	}
	return ok
}

// validText reports whether every string in a JSON-like value is UTF-8.
func validText(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v)
	case []string:
		return !slices.ContainsFunc(v, func(s string) bool { return !utf8.ValidString(s) })
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !validText(x) })
	case map[string]any:
		for k, x := range v {
			if !utf8.ValidString(k) || !validText(x) {
				return false
			}
		}
	}
	return true
}
