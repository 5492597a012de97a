package approval

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Option shapes the question of SimpleRequest and RequireApproval (R-AP-03).
type Option func(*simple)

type simple struct {
	describe func(args map[string]any) string
	exclude  map[string]bool
	payload  func(args map[string]any) map[string]any
	shape    []func(*Request)
}

// Describe sets a fixed description.
func Describe(text string) Option {
	return DescribeFunc(func(map[string]any) string { return text })
}

// DescribeFunc makes the description from the arguments. It is given them
// without the excluded keys.
func DescribeFunc(f func(args map[string]any) string) Option {
	return func(s *simple) { s.describe = f }
}

// Exclude names keys (secrets, large content) that appear in no description,
// event or record, at any depth of the arguments.
func Exclude(keys ...string) Option {
	return func(s *simple) {
		for _, k := range keys {
			s.exclude[k] = true
		}
	}
}

// PayloadFunc makes the payload from the arguments. It is given all of them,
// so that it may hash values that must not be shown; excluded keys are removed
// from its result.
func PayloadFunc(f func(args map[string]any) map[string]any) Option {
	return func(s *simple) { s.payload = f }
}

// Shape changes the finished request: risk, flags, suggestions, group.
func Shape(f func(*Request)) Option {
	return func(s *simple) { s.shape = append(s.shape, f) }
}

// SimpleRequest makes a request from a call's arguments. Where exclusion leaves
// no value in the payload, the payload holds a keyed digest of the excluded
// values instead: an empty payload would equal that of every other call.
func SimpleRequest(tool string, args map[string]any, opts ...Option) *Request {
	s := simple{exclude: map[string]bool{}}
	for _, o := range opts {
		o(&s)
	}
	shown := without(args, s.exclude)
	r := &Request{Tool: tool, Payload: distinct(shown, args)}
	if s.describe != nil {
		r.Description = s.describe(shown)
	} else {
		r.Description = describeCall(tool, shown)
	}
	if s.payload != nil {
		made := s.payload(args)
		r.Payload = distinct(without(made, s.exclude), made)
	}
	for _, f := range s.shape {
		f(r)
	}
	return r
}

// RequireApproval is a Checker that asks for every call of tool.
func RequireApproval(tool string, opts ...Option) Checker {
	return CheckFunc(func(c Context) (*Request, error) {
		return SimpleRequest(tool, c.Args, opts...), nil
	})
}

// digestKey keys the digests of excluded values. It lives as long as the process,
// so that a record of a digest reveals nothing of the value.
var digestKey = rand.Text()

// distinct returns left, which is all without the excluded keys, with a digest of
// all where left has lost its last value.
func distinct(left, all map[string]any) map[string]any {
	if hasValue(left) || !hasValue(all) {
		return left
	}
	print, err := Fingerprint(all)
	if err != nil { // it has no fingerprint, and equals nothing
		return map[string]any{"excluded": rand.Text()}
	}
	mac := hmac.New(sha256.New, []byte(digestKey))
	mac.Write(print[:])
	return map[string]any{"excluded": hex.EncodeToString(mac.Sum(nil))}
}

// hasValue reports whether v holds anything besides nil and empty containers.
func hasValue(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case map[string]any:
		for _, x := range v {
			if hasValue(x) {
				return true
			}
		}
		return false
	case map[string]string:
		return len(v) > 0
	case []any:
		return slices.ContainsFunc(v, hasValue)
	}
	return true
}

// without is a deep copy of args that lacks the excluded keys.
func without(args map[string]any, exclude map[string]bool) map[string]any {
	out := make(map[string]any, len(args))
	for k, v := range args {
		if !exclude[k] {
			out[k] = prune(v, exclude)
		}
	}
	return out
}

func prune(v any, exclude map[string]bool) any {
	switch v := v.(type) {
	case map[string]any:
		return without(v, exclude)
	case map[string]string:
		out := maps.Clone(v)
		maps.DeleteFunc(out, func(k, _ string) bool { return exclude[k] })
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = prune(x, exclude)
		}
		return out
	}
	return v
}

// describeCall writes tool(key=value, …) with keys in order. A long value is
// cut, and says so; the whole of it is in the payload.
func describeCall(tool string, args map[string]any) string {
	parts := make([]string, 0, len(args))
	for _, k := range slices.Sorted(maps.Keys(args)) {
		v := fmt.Sprintf("%#v", args[k])
		if s, ok := args[k].(string); ok {
			v = fmt.Sprintf("%q", s)
		} else if _, ok := args[k].(map[string]any); ok {
			v = fmt.Sprintf("%v", args[k])
		} else if _, ok := args[k].([]any); ok {
			v = fmt.Sprintf("%v", args[k])
		}
		if r := []rune(v); len(r) > 200 {
			v = fmt.Sprintf("%s… [%d more characters]", string(r[:200]), len(r)-200)
		}
		parts = append(parts, k+"="+v)
	}
	return tool + "(" + strings.Join(parts, ", ") + ")"
}
