package config

import (
	"path/filepath"
	"strings"

	"sandboxd/files"
)

// The named sandboxes of [files.paths] are merged as a whole, because root, mode and suffixes
// together determine the access.

// dropDefaultSandbox removes the built-in sandbox if a file names its own.
func (l *layers) dropDefaultSandbox(doc *parsed) {
	for _, s := range doc.settings {
		if !isSandbox(s.path) {
			continue
		}
		for name, e := range l.entries {
			if isSandbox(e.path) && e.origin == (Origin{}) {
				delete(l.entries, name)
			}
		}
		return
	}
}

func (l *layers) operatorNamesSandboxes() bool {
	for _, s := range l.operator {
		if isSandbox(s.path) {
			return true
		}
	}
	return false
}

// named groups the settings of a file by the name of their sandbox, in the order of the file.
func named(doc *parsed) (names []string, byName map[string][]setting) {
	byName = map[string][]setting{}
	for _, s := range doc.settings {
		if isSandbox(s.path) {
			name := s.path[2]
			if _, ok := byName[name]; !ok {
				names = append(names, name)
			}
			byName[name] = append(byName[name], s)
		}
	}
	return names, byName
}

// userSandboxes adds the user's sandboxes. If the operator names sandboxes, the user's must be
// within them and permit no more.
func (l *layers) userSandboxes(doc *parsed) {
	bounded := l.operatorNamesSandboxes()
	names, byName := named(doc)
	for _, name := range names {
		if at, listed := l.ofOperator(byName[name]); listed != "" {
			l.warn(at, "files.paths.%s: its root is in a path that the operator's %s names: ignored", name, listed)
			continue
		}
		if !bounded {
			for _, s := range byName[name] {
				l.put(s)
			}
			continue
		}
		if _, exists := l.operator[sandboxKey(name, "root")]; exists {
			l.narrowSandbox(name, byName[name], "the operator's")
			continue
		}
		l.newSandbox(name, byName[name])
	}
}

// ofOperator returns the operator's list with a name that matches part of the root of a new or
// moved sandbox. Names apply only below a root, so such a root would escape the list.
func (l *layers) ofOperator(settings []setting) (at Origin, list string) {
	for _, s := range settings {
		root, ok := s.value.(string)
		if s.path[3] != "root" || !ok || l.operator[s.name].value == root {
			continue
		}
		for _, key := range guarded {
			if e, ok := l.operator[key]; ok && matchesRoot(e.value, root) {
				return s.origin, key
			}
		}
	}
	return Origin{}, ""
}

// guarded are the lists of names that apply below the roots of sandboxes.
var guarded = []string{"files.hidden", "files.read_only", "files.protected"}

// matchesRoot reports whether a name of a list matches a root or one of its parents.
func matchesRoot(list any, root string) bool {
	var patterns []string
	for _, item := range asList(list) {
		if p, ok := item.(string); ok {
			patterns = append(patterns, p)
		}
	}
	names, err := files.NewNames(patterns)
	if err != nil {
		return true // the section's own validation reports the error
	}
	_, found := names.Match(strings.TrimPrefix(filepath.Clean(root), "/"))
	return found
}

// narrowSandbox merges the settings that restrict an existing sandbox.
func (l *layers) narrowSandbox(name string, settings []setting, whose string) {
	for _, s := range settings {
		field := s.path[3]
		above, ok := l.entries[s.name]
		switch {
		case field == "mode" && s.value == "ro",
			field == "write_approval" && s.value == true,
			field == "read_approval" && s.value == true,
			ok && show(above.value) == show(s.value):
			l.put(s)
		case field == "suffixes" && ok && len(asList(above.value)) > 0 && len(asList(s.value)) > 0,
			field == "suffixes" && !ok && len(asList(s.value)) > 0:
			if ok {
				s = l.listWithin(s, above.value, whose)
				if len(asList(s.value)) == 0 {
					continue // no suffix would mean every suffix
				}
			}
			l.put(s)
		default:
			l.warn(s.origin, "%s = %s is wider than %s sandbox %q: ignored", s.name, show(s.value), whose, name)
		}
	}
}

func (l *layers) listWithin(s setting, bound any, whose string) setting {
	s.key.within = inList
	return l.within(s, bound, whose+" list")
}

// newSandbox adds a sandbox inside one of the operator's, or reports it.
func (l *layers) newSandbox(name string, settings []setting) {
	own := map[string]setting{}
	for _, s := range settings {
		own[s.path[3]] = s
	}
	root, ok := own["root"].value.(string)
	if !ok {
		l.warn(settings[0].origin, "files.paths.%s has no root: ignored", name)
		return
	}
	outer, ok := l.enclosing(root)
	if !ok {
		l.warn(own["root"].origin, "files.paths.%s: %q is in none of the operator's sandboxes: ignored", name, root)
		return
	}
	inner, around := filepath.Clean(root), l.operator[sandboxKey(outer, "root")].value.(string)
	if around = filepath.Clean(around); around != "." {
		inner = strings.TrimPrefix(inner, around)
	}
	for _, key := range guarded {
		if matchesRoot(l.entries[key].value, inner) {
			l.warn(own["root"].origin, "files.paths.%s: %q is in a path that %s names: ignored", name, root, key)
			return
		}
	}
	value := func(field string) any {
		if e, ok := l.entries[sandboxKey(outer, field)]; ok {
			return e.value
		}
		return nil
	}
	if mode := own["mode"]; mode.value == "rw" && value("mode") != "rw" {
		l.warn(mode.origin, "files.paths.%s: the operator's sandbox %q around it is read-only: mode ignored", name, outer)
		delete(own, "mode")
	}
	for _, field := range []string{"write_approval", "read_approval"} {
		if above := value(field); above != nil && own[field].value != true && own[field].value != above {
			own[field] = l.inherited(outer, name, field)
		}
		if own[field].value == false && value(field) == nil && field == "write_approval" {
			l.warn(
				own[field].origin,
				"files.paths.%s: the operator's sandbox %q around it does not switch the question off: ignored",
				name,
				outer,
			)
			delete(own, field)
		}
	}
	if above := asList(value("suffixes")); len(above) > 0 {
		s, ok := own["suffixes"]
		if ok {
			s = l.listWithin(s, above, "the operator's")
		}
		if !ok || len(asList(s.value)) == 0 {
			s = l.inherited(outer, name, "suffixes")
		}
		own["suffixes"] = s
	}
	for _, field := range []string{"root", "mode", "suffixes", "write_approval", "read_approval"} {
		if s, ok := own[field]; ok {
			l.put(s)
		}
	}
}

// inherited returns a field of the outer sandbox, under the new sandbox's name.
func (l *layers) inherited(outer, name, field string) setting {
	e := l.entries[sandboxKey(outer, field)]
	return setting{
		path: []string{"files", "paths", name, field}, name: sandboxKey(name, field),
		key: e.key, value: e.value, origin: e.origin, items: e.items,
	}
}

// enclosing returns the operator's sandbox with the longest root that contains root.
func (l *layers) enclosing(root string) (string, bool) {
	best, bestRoot := "", ""
	for _, s := range l.operator {
		if !isSandbox(s.path) || s.path[3] != "root" {
			continue
		}
		outer, _ := s.value.(string)
		if outer != "" && pathBelow(root, outer) && depth(outer) >= depth(bestRoot) {
			if best == "" || depth(outer) > depth(bestRoot) || s.path[2] < best {
				best, bestRoot = s.path[2], outer
			}
		}
	}
	return best, best != ""
}

func depth(p string) int {
	if p == "" {
		return -1
	}
	if p = filepath.Clean(p); p == "." {
		return 0
	}
	return strings.Count(strings.Trim(p, "/"), "/") + 1
}
