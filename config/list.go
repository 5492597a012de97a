package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"
)

// The lists of the user's file that [Add] and [Remove] change.
const (
	UsedPresets   = "presets.use"
	AllowedCalls  = "permissions.allow"
	ReachableHost = "network.allow"
)

// Adjustable returns the names of these lists.
func Adjustable() []string { return []string{UsedPresets, AllowedCalls, ReachableHost} }

// Add puts values into a list of the user's file, and returns those that it did not have. It keeps the rest
// of the file, including comments, and creates a file that does not exist. It returns an error, and changes
// nothing, if a value is invalid or wider than the operator's list, or if the file is invalid or cannot be
// written.
func Add(paths Paths, list string, values []string) (added []string, err error) {
	return change(paths, list, values, func(have []string, value string) ([]string, bool) {
		return append(have, value), !slices.Contains(have, value)
	})
}

// Remove takes values out of a list of the user's file, and returns those that it had. Otherwise it behaves
// like Add.
func Remove(paths Paths, list string, values []string) (removed []string, err error) {
	return change(paths, list, values, func(have []string, value string) ([]string, bool) {
		on := slices.Contains(have, value)
		return slices.DeleteFunc(have, func(h string) bool { return h == value }), on
	})
}

// With returns the configuration as it would be with one more value in a list of the user's file.
func With(paths Paths, list, value string) (*Config, error) {
	e, err := readEdit(paths, paths.User, list)
	if err != nil {
		return nil, err
	}
	if slices.Contains(e.values, value) {
		return nil, fmt.Errorf("%s has %q already", list, value)
	}
	if err := e.set(append(e.values, value)); err != nil {
		return nil, err
	}
	return e.merged(paths)
}

func change(paths Paths, list string, values []string, do func([]string, string) ([]string, bool)) ([]string, error) {
	if !slices.Contains(Adjustable(), list) {
		return nil, fmt.Errorf(
			"%s is not a list that can be changed so: want %s",
			list,
			strings.Join(Adjustable(), ", "),
		)
	}
	if list == UsedPresets {
		if err := (Presets{Use: values}).validate(); err != nil {
			return nil, err
		}
	}
	file, unlock, err := lockFile(paths.User)
	if err != nil {
		return nil, err
	}
	defer unlock()
	e, err := readEdit(paths, file, list)
	if err != nil {
		return nil, err
	}
	var changed []string
	next := slices.Clone(e.values)
	for _, v := range values {
		if with, ok := do(slices.Clone(next), v); ok {
			next, changed = with, append(changed, v)
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	if err := e.set(next); err != nil {
		return nil, err
	}
	if _, err := e.merged(paths); err != nil {
		return nil, err
	}
	return changed, writeBack(file, e.text)
}

// edit is a change of one list in the text of a file.
type edit struct {
	file, list, text string
	values           []string
}

// readEdit reads the list. A list that replaces the built-in or the operator's one begins with what is in
// force.
func readEdit(paths Paths, file, list string) (*edit, error) {
	cfg, _, err := Load(paths)
	if err != nil {
		return nil, fmt.Errorf("the configuration is not in order, so it is left alone: %w", err)
	}
	text, _, err := readTrusted(file)
	if err != nil {
		return nil, &Error{Origin: Origin{File: file}, Err: err}
	}
	e := &edit{file: file, list: list, text: text}
	own, found, err := e.read()
	switch {
	case err != nil:
		return nil, err
	case found:
		e.values = own
	case list == UsedPresets:
		e.values = slices.Clone(cfg.Presets.Use)
	case list == ReachableHost:
		e.values = slices.Clone(cfg.Network.Allow)
	}
	return e, nil
}

// read returns the list as the text has it.
func (e *edit) read() (values []string, found bool, err error) {
	doc, err := parse(e.file, e.text)
	if err != nil {
		return nil, false, err
	}
	for _, s := range doc.settings {
		if s.name == e.list {
			for _, v := range asList(s.value) {
				value, _ := v.(string)
				values = append(values, value)
			}
			return values, true, nil
		}
	}
	return nil, false, nil
}

// set writes the list into the text and checks that nothing else in it changed.
func (e *edit) set(values []string) error {
	before, err := parse(e.file, e.text)
	if err != nil {
		return err
	}
	e.write(values)
	after, err := parse(e.file, e.text)
	if err == nil && len(after.invalid) > 0 {
		return after.invalid[0].err
	}
	if err != nil || !reflect.DeepEqual(e.others(before), e.others(after)) {
		return fmt.Errorf("%s: the list %s cannot be changed by itself; write it there: %s = %s",
			e.file, e.list, e.key(), quotedList(values))
	}
	if got, _, err := e.read(); err != nil || !slices.Equal(got, values) {
		return fmt.Errorf(
			"%s: the list %s cannot be written; write it there: %s = %s",
			e.file,
			e.list,
			e.key(),
			quotedList(values),
		)
	}
	e.values = values
	return nil
}

func (e *edit) others(doc *parsed) map[string]any {
	out := map[string]any{}
	for _, s := range doc.settings {
		if s.name != e.list {
			out[s.name] = s.value
		}
	}
	return out
}

// table and key are the two parts of the list's name.
func (e *edit) table() string { return e.list[:strings.IndexByte(e.list, '.')] }
func (e *edit) key() string   { return e.list[strings.IndexByte(e.list, '.')+1:] }

// merged returns the configuration with the text in place of the user's file, or an error if the operator's
// list does not permit all of the values.
func (e *edit) merged(paths Paths) (*Config, error) {
	l := newLayers()
	if doc, err := readLayer(paths.Operator); err != nil {
		return nil, err
	} else if doc != nil {
		l.addOperator(doc)
	}
	doc, err := parse(e.file, e.text)
	if err != nil {
		return nil, err
	}
	for _, list := range [][]problem{doc.denied, doc.unknown, doc.invalid} {
		for _, p := range list {
			return nil, p.error()
		}
	}
	l.addUser(doc)
	cfg, err := l.config()
	if err != nil {
		return nil, err
	}
	var have []string
	for _, v := range asList(l.entries[e.list].value) {
		value, _ := v.(string)
		have = append(have, value)
	}
	for _, v := range e.values {
		if !slices.Contains(have, v) {
			return nil, fmt.Errorf("%q: the operator's %s in %s does not have it, so it cannot be switched on",
				v, e.list, paths.Operator)
		}
	}
	cfg.Profiles, err = readProfiles(paths.ProfileDir)
	return cfg, err
}

// lockFile resolves links to the file, creates its folder, and locks the folder against
// concurrent changes.
func lockFile(path string) (string, func(), error) {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		real = path
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", nil, err
		}
	case err != nil:
		return "", nil, err
	}
	dir, err := os.Open(filepath.Dir(real))
	if err != nil {
		return "", nil, err
	}
	info, err := dir.Stat()
	if err == nil {
		err = trusted(dir.Name(), info)
	}
	if err != nil {
		dir.Close()
		return "", nil, err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		dir.Close()
		return "", nil, fmt.Errorf("lock %q: %w", dir.Name(), err)
	}
	return real, func() { dir.Close() }, nil
}

func quotedList(use []string) string {
	quoted := make([]string, len(use))
	for i, u := range use {
		quoted[i] = strconv.Quote(u)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// write changes as little of the text as possible. It appends elements to an existing list or cuts them
// out, so that comments stay.
func (e *edit) write(values []string) {
	l := newLocator(e.text)
	l.document()
	list, there := l.spans[e.list]
	at, header := headerLine(e.text, e.table())
	inline, isInline := l.spans[e.table()]
	text, line := e.text, e.key()+" = "+quotedList(values)
	switch {
	case there:
		e.change(list, values)
		return
	case isInline: // presets = {}
		e.text = text[:inline.start] + "{" + line + "}" + text[inline.end:]
		return
	case header: // [presets]
		at := endOfLine(text, at)
		line += "\n"
		if at == len(text) && !strings.HasSuffix(text, "\n") {
			line = "\n" + line
		}
		e.text = text[:at] + line + text[at:]
		return
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if text != "" {
		text += "\n"
	}
	e.text = text + "[" + e.table() + "]\n" + line + "\n"
}

// headerLine returns the line of a table's own header, from 1. [a.b] is none of a.
func headerLine(text, table string) (line int, ok bool) {
	for text := range strings.Lines(text) {
		line++
		if head, _, _ := strings.Cut(text, "#"); strings.TrimSpace(head) == "["+table+"]" {
			return line, true
		}
	}
	return 0, false
}

// endOfLine returns the offset after a line, which counts from 1.
func endOfLine(text string, line int) int {
	at := 0
	for range line {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// change makes the elements of the list equal to values, one by one.
func (e *edit) change(list span, values []string) {
	have, items := e.items()
	text := e.text
	for i := len(have) - 1; i >= 0; i-- {
		if slices.Contains(values, have[i]) {
			continue
		}
		switch {
		case len(have) == 1:
			e.text = text[:list.start] + quotedList(values) + text[list.end:]
			return
		case i+1 < len(have):
			e.text = text[:items[i].start] + text[items[i+1].start:]
		default:
			e.text = text[:items[i-1].end] + text[items[i].end:]
		}
		e.write(values)
		return
	}
	for _, v := range values {
		if slices.Contains(have, v) {
			continue
		}
		if len(have) == 0 {
			e.text = text[:list.start] + quotedList(values) + text[list.end:]
			return
		}
		last := items[len(items)-1]
		e.text = text[:last.end] + ", " + strconv.Quote(v) + text[last.end:]
		e.write(values)
		return
	}
}

// items returns the elements of the list and their positions.
func (e *edit) items() (values []string, spans []span) {
	values, _, _ = e.read()
	l := newLocator(e.text)
	l.document()
	for i := range values {
		spans = append(spans, l.spans[element(e.list, i)])
	}
	return values, spans
}

// writeBack replaces the file atomically and keeps its mode.
func writeBack(file, text string) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	err := renameio.WriteFile(file, []byte(text), mode)
	if number := syscall.Errno(0); errors.As(err, &number) { // without the path of a temporary file
		err = fmt.Errorf("%s can't be written, and nothing was changed: %w", file, number)
	}
	return err
}
