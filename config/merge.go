package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sandboxd/files"
)

// entry is one key after merging.
type entry struct {
	path   []string
	key    key
	value  any
	origin Origin
	items  []Origin // origins of a list's elements, same length as the list
}

// layers is the state of merging: the merged values, and the operator's own values, which limit
// the user's.
type layers struct {
	entries  map[string]*entry // by join of path
	operator map[string]setting
	warnings []Warning
}

func newLayers() layers {
	l := layers{entries: map[string]*entry{}, operator: map[string]setting{}}
	for _, s := range builtin() {
		l.put(s)
	}
	return l
}

// clone returns a copy to which a project's layer can be added.
func (l layers) clone() layers {
	c := layers{entries: make(map[string]*entry, len(l.entries)), operator: l.operator}
	for name, e := range l.entries {
		copied := *e
		c.entries[name] = &copied
	}
	return c
}

func (l *layers) warn(at Origin, format string, args ...any) {
	l.warnings = append(l.warnings, Warning{Origin: at, Text: fmt.Sprintf(format, args...)})
}

func (l *layers) put(s setting) {
	l.entries[s.name] = &entry{path: s.path, key: s.key, value: s.value, origin: s.origin, items: s.items}
}

// addOperator merges the operator's file.
func (l *layers) addOperator(doc *parsed) {
	l.dropDefaultSandbox(doc)
	for _, s := range doc.settings {
		l.operator[s.name] = s
		switch s.key.merge {
		case restrict:
			l.union(s)
		case rules:
			l.insert(s, 0)
		default:
			l.put(s)
		}
	}
}

// addUser merges the user's file within the operator's limits.
func (l *layers) addUser(doc *parsed) {
	if !l.operatorNamesSandboxes() {
		l.dropDefaultSandbox(doc)
	}
	l.userSandboxes(doc)
	for _, s := range doc.settings {
		if isSandbox(s.path) {
			continue
		}
		bound, bounded := l.operator[s.name]
		switch s.key.merge {
		case restrict:
			l.union(s)
		case rules:
			l.insert(s, len(asList(bound.value)))
		case narrow:
			if bounded && !s.key.narrower(s.value, bound.value) {
				l.warn(s.origin, "%s = %s is wider than the operator's %s (%s): ignored",
					s.name, show(s.value), show(bound.value), bound.origin)
				continue
			}
			l.put(s)
		case grant:
			l.userGrant(s, bound, bounded)
		default:
			l.put(s)
		}
	}
}

func (l *layers) userGrant(s, bound setting, bounded bool) {
	switch {
	case s.name == "environment.set":
		l.userVariables(s, bound)
	case s.name == "files.unprotected":
		if bounded {
			s = l.within(s, bound.value, "the operator's "+bound.origin.String())
		}
		l.put(l.notOperators(s, "files.protected"))
	case s.name == "network.ports" && !bounded && l.operator["network.allow"].name != "":
		// Hosts that the operator allows without a port have the built-in ports.
		l.put(l.within(s, builtinPorts(), "the ports of the operator's "+l.operator["network.allow"].origin.String()))
	case !bounded:
		l.put(s)
	case s.name == "network.allow":
		ports := builtinPorts()
		if own, ok := l.operator["network.ports"]; ok {
			ports = own.value
		}
		l.put(l.within(s, expandPorts(bound.value, ports), "the operator's "+bound.origin.String()))
	default:
		l.put(l.within(s, bound.value, "the operator's "+bound.origin.String()))
	}
}

func builtinPorts() any {
	for _, s := range builtin() {
		if s.name == "network.ports" {
			return s.value
		}
	}
	return nil
}

// within removes and reports the elements of a list that its key's bound does not allow.
func (l *layers) within(s setting, bound any, whose string) setting {
	kept, items := []any{}, []Origin{}
	for i, item := range asList(s.value) {
		if !s.key.within(item, bound) {
			l.warn(s.items[i], "%s: %s is not within %s: ignored", s.name, show(item), whose)
			continue
		}
		kept, items = append(kept, item), append(items, s.items[i])
	}
	s.value, s.items = kept, items
	return s
}

// notOperators removes and reports the elements of a list that the operator's own list other
// contains. A path that the operator protects stays protected.
func (l *layers) notOperators(s setting, other string) setting {
	theirs := l.operator[other]
	kept, items := []any{}, []Origin{}
	for i, item := range asList(s.value) {
		if holdsName(asList(theirs.value), item) {
			l.warn(s.items[i], "%s: the operator has %s in %s (%s): ignored", s.name, show(item), other, theirs.origin)
			continue
		}
		kept, items = append(kept, item), append(items, s.items[i])
	}
	s.value, s.items = kept, items
	return s
}

// holdsName reports whether a list of names contains name, without regard to case.
func holdsName(list []any, name any) bool {
	text, _ := name.(string)
	return slices.ContainsFunc(list, func(e any) bool {
		listed, ok := e.(string)
		return ok && files.SameName(listed, text)
	})
}

// userVariables adds the user's variables to the operator's. The operator's values have
// priority.
func (l *layers) userVariables(s, bound setting) {
	theirs, _ := bound.value.(map[string]any)
	ours, _ := s.value.(map[string]any)
	merged := map[string]any{}
	for name, v := range ours {
		merged[name] = v
	}
	for name, v := range theirs {
		if mine, ok := merged[name]; ok && mine != v {
			l.warn(s.origin, "%s: the operator sets %s (%s): ignored", s.name, name, bound.origin)
		}
		merged[name] = v
	}
	s.value = merged
	l.put(s)
}

// union appends the entries of a restrict list that are not yet in the merged list.
func (l *layers) union(s setting) {
	e, ok := l.entries[s.name]
	if !ok {
		e = &entry{path: s.path, key: s.key, origin: s.origin}
		l.entries[s.name] = e
	}
	list := append([]any(nil), asList(e.value)...)
	items := append([]Origin(nil), e.items...)
	for i, item := range asList(s.value) {
		if !contains(list, item) {
			list, items = append(list, item), append(items, s.items[i])
		}
	}
	e.value, e.items = list, items
}

// insert inserts the entries of a rules list at an index of the merged list.
func (l *layers) insert(s setting, at int) {
	e, ok := l.entries[s.name]
	if !ok {
		e = &entry{path: s.path, key: s.key, origin: s.origin}
		l.entries[s.name] = e
	}
	list, items := asList(e.value), e.items
	at = min(at, len(list))
	e.value = join3(list[:at], asList(s.value), list[at:])
	e.items = join3(items[:at], s.items, items[at:])
}

func join3[T any](a, b, c []T) []T {
	out := make([]T, 0, len(a)+len(b)+len(c))
	return append(append(append(out, a...), b...), c...)
}

func contains(list []any, v any) bool {
	for _, e := range list {
		if reflect.DeepEqual(e, v) {
			return true
		}
	}
	return false
}

// tree returns the merged values as one TOML document.
func (l *layers) tree() map[string]any {
	root := map[string]any{}
	for _, e := range l.entries {
		at := root
		for _, part := range e.path[:len(e.path)-1] {
			sub, ok := at[part].(map[string]any)
			if !ok {
				sub = map[string]any{}
				at[part] = sub
			}
			at = sub
		}
		at[e.path[len(e.path)-1]] = tables(e.value)
	}
	return root
}

// tables converts a list of tables to the type that the encoder requires.
func tables(v any) any {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return v
	}
	out := make([]map[string]any, 0, len(list))
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			return v
		}
		out = append(out, m)
	}
	return out
}

func isSandbox(path []string) bool {
	return len(path) == 4 && path[0] == "files" && path[1] == "paths"
}

func sandboxKey(name, field string) string {
	return join(join("files.paths", name), field)
}

// show formats a value for a warning.
func show(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []any, []map[string]any:
		var parts []string
		for _, item := range asList(v) {
			parts = append(parts, show(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, name := range sortedKeys(v) {
			parts = append(parts, name+" = "+show(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}
