package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sandboxd/internal/spelling"
)

// Edit is one change of a setting in a file.
type Edit struct {
	Key string
	// Do is the change: [Set] to Values, [Unset], or the [Insert] or [Delete] of Values in a list.
	Do     Change
	Values []string
}

// Change is the kind of an [Edit].
type Change string

// The kinds.
const (
	Set    Change = "set"
	Unset  Change = "unset"
	Insert Change = "add"
	Delete Change = "remove"
)

// perProject are the sections, and single keys, that a person may set for one project or session: those that decide
// about commands there. The rest is the daemon's, or the user's for all projects.
var perProject = []string{
	"network.", "shell.", "permissions.", "presets.", "environment.", "landing.", "sandbox.read", "sandbox.write",
	"sandbox.exec", "sandbox.hidden", "sandbox.read_only", "sandbox.land", "sandbox.limits.", "files.protected",
	"files.hidden", "files.read_only", "files.ask_build",
}

// PerProject reports whether a person may set a key for one project.
func PerProject(name string) bool {
	return slices.ContainsFunc(perProject, func(p string) bool {
		return name == p || strings.HasSuffix(p, ".") && strings.HasPrefix(name, p)
	})
}

// Rewrite returns the text of a file with the edits, of which comments and everything else stay as they were. file
// names it in errors. first is what a list begins with that the text does not have; nil: nothing.
func Rewrite(file, text string, edits []Edit, first func(key string) []string) (string, error) {
	for _, ed := range edits {
		if err := known(ed.Key); err != nil {
			return "", err
		}
		e := &edit{file: file, list: ed.Key, text: text}
		var err error
		switch ed.Do {
		case Set:
			err = e.setValue(ed.Values)
		case Unset:
			err = e.unset()
		case Insert, Delete:
			err = e.changeList(ed, first)
		default:
			err = fmt.Errorf("there is no change %q: want %s, %s, %s or %s", ed.Do, Set, Unset, Insert, Delete)
		}
		if err != nil {
			return "", err
		}
		text = e.text
	}
	return text, nil
}

// known returns an error for a name that is no key.
func known(name string) error {
	var names []string
	for _, k := range keys {
		if k.name == name {
			return nil
		}
		names = append(names, k.name)
	}
	if best := spelling.Nearest(name, names); best != "" {
		return fmt.Errorf("there is no setting %q; did you mean %s?", name, best)
	}
	return fmt.Errorf("there is no setting %q; sbx config show lists them", name)
}

func (e *edit) changeList(ed Edit, first func(string) []string) error {
	have, found, err := e.read()
	if err != nil {
		return err
	}
	if !found && first != nil {
		have = slices.Clone(first(ed.Key))
	}
	for _, v := range ed.Values {
		on := slices.Contains(have, v)
		if ed.Do == Insert && !on {
			have = append(have, v)
		}
		if ed.Do == Delete && on {
			have = slices.DeleteFunc(have, func(h string) bool { return h == v })
		}
	}
	return e.set(have)
}

// setValue writes values in the first form that the key takes: a text, a number or a truth value, or a list.
func (e *edit) setValue(values []string) error {
	before, text := e.text, e.text
	var forms []string
	if len(values) == 1 {
		forms = []string{strconv.Quote(values[0]), values[0]}
	}
	var failed error
	for _, form := range append(forms, quotedList(values)) {
		e.text = text
		e.put(form)
		err := e.unchanged(before)
		if err == nil {
			return nil
		}
		if failed == nil {
			failed = err
		}
	}
	e.text = before
	return failed
}

// put writes a value in the form of TOML.
func (e *edit) put(form string) {
	l := newLocator(e.text)
	l.document()
	if s, there := l.spans[e.list]; there {
		e.text = e.text[:s.start] + form + e.text[s.end:]
		return
	}
	cut := strings.LastIndexByte(e.list, '.')
	table, key := e.list[:cut], e.list[cut+1:]
	if line, header := headerLine(e.text, table); header {
		end := endOfLine(e.text, line)
		e.text = newline(e.text[:end]) + key + " = " + form + "\n" + e.text[end:]
		return
	}
	text := newline(e.text)
	if text != "" {
		text += "\n"
	}
	e.text = text + "[" + table + "]\n" + key + " = " + form + "\n"
}

func newline(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// unset takes the line of the key out.
func (e *edit) unset() error {
	before := e.text
	l := newLocator(e.text)
	l.document()
	s, there := l.spans[e.list]
	if !there {
		return fmt.Errorf("%s is not set there", e.list)
	}
	start := strings.LastIndexByte(e.text[:s.start], '\n') + 1
	end := len(e.text)
	if i := strings.IndexByte(e.text[s.end:], '\n'); i >= 0 {
		end = s.end + i + 1
	}
	e.text = e.text[:start] + e.text[end:]
	if err := e.unchanged(before); err != nil {
		return fmt.Errorf("%s: %s can't be taken out by itself; edit the file: %w", e.file, e.list, err)
	}
	return nil
}

// unchanged returns an error where the text is not in order, or something else than the key is not as it was.
func (e *edit) unchanged(before string) error {
	was, err := parse(e.file, before)
	if err != nil {
		return err
	}
	is, err := parse(e.file, e.text)
	if err != nil {
		return err
	}
	for _, list := range [][]problem{is.denied, is.invalid, is.unknown} {
		for _, p := range list {
			return p.err
		}
	}
	if !reflect.DeepEqual(e.others(was), e.others(is)) {
		return fmt.Errorf("%s can't be set by itself in %s; write it there", e.list, e.file)
	}
	return nil
}

// SetForUser makes edits in the user's file, all or none, within what the operator permits, and returns its name.
func SetForUser(paths Paths, edits []Edit) (string, error) {
	file, unlock, err := lockFile(paths.User)
	if err != nil {
		return "", err
	}
	defer unlock()
	cfg, _, err := Load(paths)
	if err != nil {
		return "", fmt.Errorf("the configuration is not in order, so it is left alone: %w", err)
	}
	text, _, err := readTrusted(file)
	if err != nil {
		return "", &Error{Origin: Origin{File: file}, Err: err}
	}
	changed, err := Rewrite(file, text, edits, cfg.list)
	if err != nil {
		return "", err
	}
	base := paths
	base.User = ""
	operator, _, err := Load(base)
	if err != nil {
		return "", err
	}
	if _, err := operator.with(file, changed, edits); err != nil {
		return "", err
	}
	return file, writeBack(file, changed)
}

// list is a list of texts as it is in force; nil: the key has another value.
func (c *Config) list(name string) (out []string) {
	e, ok := c.layers.entries[name]
	if !ok {
		return nil
	}
	for _, v := range asList(e.value) {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// with merges the text as a user's file, and returns an error where something that the edits set is not in force then:
// the operator does not permit it.
func (c *Config) with(file, text string, edits []Edit) (*Config, error) {
	cfg, warnings, err := c.WithOwn(file, text)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		for _, ed := range edits {
			if ed.Do != Unset && (strings.HasPrefix(w.Text, ed.Key+":") || strings.HasPrefix(w.Text, ed.Key+" ")) {
				return nil, errors.New(w.Text)
			}
		}
	}
	return cfg, nil
}

// WithOwn returns the configuration with what its user has set for one project or session: a file's text, within the
// operator's limits. Its lists that grant something are added to those of c, and its other values take their place.
func (c *Config) WithOwn(file, text string) (*Config, []Warning, error) {
	doc, err := parse(file, text)
	if err != nil {
		return nil, nil, err
	}
	for _, list := range [][]problem{doc.denied, doc.unknown, doc.invalid} {
		for _, p := range list {
			return nil, nil, p.error()
		}
	}
	l := c.layers.clone()
	for i, s := range doc.settings {
		had, ok := l.entries[s.name]
		if s.key.merge != grant || !ok || s.name == "environment.set" || isSandbox(s.path) {
			continue
		}
		list, items := slices.Clone(asList(had.value)), slices.Clone(had.items)
		for j, v := range asList(s.value) {
			if !contains(list, v) {
				list, items = append(list, v), append(items, s.items[j])
			}
		}
		doc.settings[i].value, doc.settings[i].items = list, items
	}
	l.addUser(doc)
	warnings := l.warnings
	cfg, err := l.config()
	if err != nil {
		return nil, nil, err
	}
	cfg.Profiles = c.Profiles
	return cfg, warnings, nil
}

// CheckOwn returns an error where edits of a project's or session's own settings are not for one project, or not within
// what the operator permits; text is the result.
func (c *Config) CheckOwn(file, text string, edits []Edit) error {
	for _, ed := range edits {
		if !PerProject(ed.Key) {
			return fmt.Errorf("%s can't be set for one project: it is for all of yours (--user)", ed.Key)
		}
	}
	_, err := c.with(file, text, edits)
	return err
}

// Value returns a setting as a file would have it, and where it comes from.
func (c *Config) Value(name string) (string, Origin, error) {
	if err := known(name); err != nil {
		return "", Origin{}, err
	}
	e, ok := c.layers.entries[name]
	if !ok {
		return "", Origin{}, nil
	}
	return show(e.value), entryOrigin(e), nil
}
