package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"sandboxd/profile"
)

// The functions here compare values as decoded from TOML. Each reports whether value permits no
// more than bound, and returns false for values that it does not support.

// narrower compares two values of a narrow key.
func (k key) narrower(value, bound any) bool {
	if len(k.words) > 0 {
		v, b := wordIndex(k.words, value), wordIndex(k.words, bound)
		return v >= 0 && b >= 0 && v >= b
	}
	return k.within != nil && k.within(value, bound)
}

func wordIndex(words []string, v any) int {
	s, ok := v.(string)
	if !ok {
		return -1
	}
	return slices.Index(words, s)
}

func theSame(value, bound any) bool { return value == bound }

func trueIsNarrower(value, bound any) bool {
	v, ok1 := value.(bool)
	b, ok2 := bound.(bool)
	return ok1 && ok2 && (v || !b)
}

func falseIsNarrower(value, bound any) bool {
	v, ok1 := value.(bool)
	b, ok2 := bound.(bool)
	return ok1 && ok2 && (!v || b)
}

// bounded compares two limits for which 0 means none.
func bounded[N int64 | time.Duration](v, b N) bool {
	switch {
	case b == 0:
		return true
	case v == 0:
		return false
	}
	return v <= b
}

func fewer(value, bound any) bool {
	v, ok1 := value.(int64)
	b, ok2 := bound.(int64)
	return ok1 && ok2 && v >= 0 && bounded(v, b)
}

// smallerOrDefault is fewer for a key for which 0 means the built-in value.
func smallerOrDefault(value, bound any) bool {
	v, ok1 := value.(int64)
	b, ok2 := bound.(int64)
	return ok1 && ok2 && v > 0 && (b == 0 || v <= b)
}

// atMost is fewer for a key for which 0 means none are permitted.
func atMost(value, bound any) bool {
	v, ok1 := value.(int64)
	b, ok2 := bound.(int64)
	return ok1 && ok2 && v >= 0 && v <= b
}

func smaller(value, bound any) bool {
	var v, b Size
	return v.UnmarshalTOML(value) == nil && b.UnmarshalTOML(bound) == nil && bounded(int64(v), int64(b))
}

func shorter(value, bound any) bool {
	v, ok1 := value.(string)
	b, ok2 := bound.(string)
	var dv, db Duration
	return ok1 && ok2 && dv.UnmarshalText([]byte(v)) == nil && db.UnmarshalText([]byte(b)) == nil &&
		bounded(time.Duration(dv), time.Duration(db))
}

func requiresMore(value, bound any) bool {
	var v, b Require
	if v.UnmarshalTOML(value) != nil || b.UnmarshalTOML(bound) != nil {
		return false
	}
	if b.All {
		return v.All
	}
	for _, p := range b.Protections {
		if !v.requires(p) {
			return false
		}
	}
	return true
}

// The next functions compare one entry of a grant key with the bound's list.

func inList(value, bound any) bool {
	for _, b := range asList(bound) {
		if reflect.DeepEqual(value, b) {
			return true
		}
	}
	return false
}

// pathInList reports whether the path is one of the list's or below one. It only compares paths
// with the same start: relative, "~/…" or absolute.
func pathInList(value, bound any) bool {
	v, ok := value.(string)
	if !ok || v == "" {
		return false
	}
	for _, e := range asList(bound) {
		if b, ok := e.(string); ok && b != "" && pathBelow(v, b) {
			return true
		}
	}
	return false
}

func pathBelow(p, root string) bool {
	p, root = filepath.Clean(p), filepath.Clean(root)
	if filepath.IsAbs(p) != filepath.IsAbs(root) || strings.HasPrefix(p, "~") != strings.HasPrefix(root, "~") {
		return false
	}
	if p == ".." || strings.HasPrefix(p, "../") {
		return p == root
	}
	return p == root || root == "." || strings.HasPrefix(p, strings.TrimSuffix(root, "/")+"/")
}

// patternInList reports whether the variable's name is in the list. A "*" at the end of an
// entry matches any ending.
func patternInList(value, bound any) bool {
	v, ok := value.(string)
	if !ok {
		return false
	}
	for _, e := range asList(bound) {
		b, ok := e.(string)
		if !ok {
			continue
		}
		if prefix, open := strings.CutSuffix(b, "*"); v == b ||
			open && strings.HasPrefix(strings.TrimSuffix(v, "*"), prefix) {
			return true
		}
	}
	return false
}

// hostInList reports whether the list permits everything that the entry does. expandPorts must
// have added the ports for entries of the list without a port; an entry without a port is only
// within another such entry.
func hostInList(value, bound any) bool {
	v, ok := value.(string)
	if !ok {
		return false
	}
	h, err := parseHostPort(v)
	if err != nil {
		return false
	}
	for _, e := range asList(bound) {
		b, ok := e.(string)
		if !ok {
			continue
		}
		if o, err := parseHostPort(b); err == nil && (o.Port == 0) == (h.Port == 0) && only(h).Within(only(o)) {
			return true
		}
	}
	return false
}

func only(h profile.HostPort) profile.Network {
	return profile.Network{Mode: profile.NetAllowlist, Hosts: []profile.HostPort{h}}
}

// expandPorts returns a list of hosts with an additional entry for each default port of each
// host without a port.
func expandPorts(hosts, ports any) any {
	list := asList(hosts)
	out := append([]any(nil), list...)
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			continue
		}
		h, err := parseHostPort(s)
		if err != nil || h.Port != 0 {
			continue
		}
		for _, p := range asList(ports) {
			if n, ok := p.(int64); ok && n > 0 && n < 1<<16 {
				h.Port = uint16(n)
				out = append(out, h.String())
			}
		}
	}
	return out
}

func asList(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case []map[string]any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = v[i]
		}
		return out
	}
	return nil
}
