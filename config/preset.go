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

	"sandboxd/shell/presets"
)

// PresetState is one preset and whether it is enabled.
type PresetState struct {
	presets.Preset
	On     bool
	Origin Origin // position of its name; zero if it is not enabled
}

// ListPresets returns all presets with their state in the configuration of paths.
func ListPresets(paths Paths) ([]PresetState, error) {
	cfg, _, err := Load(paths)
	if err != nil {
		return nil, err
	}
	var out []PresetState
	for _, p := range presets.All() {
		s := PresetState{Preset: p}
		if i := slices.Index(cfg.Presets.Use, p.Name); i >= 0 {
			s.On, s.Origin = true, cfg.Origin(element(usedPresets, i))
		}
		out = append(out, s)
	}
	return out, nil
}

const usedPresets = "presets.use"

// AddPresets enables presets in the user's file, and returns those that were not enabled
// before. It keeps the rest of the file, including comments, and creates a file that does not
// exist. It returns an error, and changes nothing, if a name is unknown or not in the
// operator's list, or if the file is invalid or cannot be written.
func AddPresets(paths Paths, names []string) (added []string, err error) {
	return changePresets(paths, names, func(use []string, name string) ([]string, bool) {
		return append(use, name), !slices.Contains(use, name)
	})
}

// RemovePresets disables presets in the user's file, and returns those that were enabled.
// Otherwise it behaves like AddPresets.
func RemovePresets(paths Paths, names []string) (removed []string, err error) {
	return changePresets(paths, names, func(use []string, name string) ([]string, bool) {
		on := slices.Contains(use, name)
		return slices.DeleteFunc(use, func(u string) bool { return u == name }), on
	})
}

func changePresets(paths Paths, names []string, change func([]string, string) ([]string, bool)) ([]string, error) {
	if err := (Presets{Use: names}).validate(); err != nil {
		return nil, err
	}
	file, unlock, err := lockFile(paths.User)
	if err != nil {
		return nil, err
	}
	defer unlock()
	cfg, _, err := Load(paths)
	if err != nil {
		return nil, fmt.Errorf("the configuration is not in order, so it is left alone: %w", err)
	}
	text, _, err := readTrusted(file)
	if err != nil {
		return nil, &Error{Origin: Origin{File: file}, Err: err}
	}
	use, err := userPresets(file, text, cfg.Presets.Use)
	if err != nil {
		return nil, err
	}
	var changed []string
	for _, name := range names {
		if next, ok := change(slices.Clone(use), name); ok {
			use, changed = next, append(changed, name)
		}
	}
	if len(changed) == 0 {
		return nil, nil
	}
	edited, err := setPresets(file, text, use)
	if err != nil {
		return nil, err
	}
	if err := allowed(paths, file, edited, use); err != nil {
		return nil, err
	}
	return changed, writeBack(file, edited)
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

// userPresets returns the list of the user's file. If the file has none, it returns current.
func userPresets(file, text string, current []string) ([]string, error) {
	doc, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	for _, s := range doc.settings {
		if s.name == usedPresets {
			var own []string
			for _, v := range asList(s.value) {
				name, _ := v.(string)
				own = append(own, name)
			}
			return own, nil
		}
	}
	return slices.Clone(current), nil
}

// setPresets writes the list into the text of a file and checks that nothing else in it
// changed.
func setPresets(file, text string, use []string) (string, error) {
	edited := writePresets(text, use)
	before, err := parse(file, text)
	if err != nil {
		return "", err
	}
	after, err := parse(file, edited)
	if err != nil || !reflect.DeepEqual(others(before), others(after)) {
		return "", fmt.Errorf(
			"%s: the list presets.use cannot be changed by itself; write it there: use = %s",
			file,
			quotedList(use),
		)
	}
	if got, err := userPresets(file, edited, nil); err != nil || !slices.Equal(got, use) {
		return "", fmt.Errorf("%s: the list presets.use cannot be written; write it there: use = %s", file, quotedList(use))
	}
	return edited, nil
}

func others(doc *parsed) map[string]any {
	out := map[string]any{}
	for _, s := range doc.settings {
		if s.name != usedPresets {
			out[s.name] = s.value
		}
	}
	return out
}

func quotedList(use []string) string {
	quoted := make([]string, len(use))
	for i, u := range use {
		quoted[i] = strconv.Quote(u)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// writePresets changes as little of the text as possible. It appends elements to an existing
// list or cuts them out, so that comments stay.
func writePresets(text string, use []string) string {
	l := newLocator(text)
	l.document()
	list, there := l.spans[usedPresets]
	table, header := l.places["presets"]
	inline, isInline := l.spans["presets"]
	switch {
	case there:
		return changeList(text, list, use)
	case isInline: // presets = {}
		return text[:inline.start] + "{use = " + quotedList(use) + "}" + text[inline.end:]
	case header: // [presets]
		at := endOfLine(text, table.line)
		line := "use = " + quotedList(use) + "\n"
		if at == len(text) && !strings.HasSuffix(text, "\n") {
			line = "\n" + line
		}
		return text[:at] + line + text[at:]
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if text != "" {
		text += "\n"
	}
	return text + "[presets]\nuse = " + quotedList(use) + "\n"
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

func changeList(text string, list span, use []string) string {
	have, items := listItems(text)
	for i := len(have) - 1; i >= 0; i-- {
		if slices.Contains(use, have[i]) {
			continue
		}
		switch {
		case len(have) == 1:
			return text[:list.start] + quotedList(use) + text[list.end:]
		case i+1 < len(have):
			text = text[:items[i].start] + text[items[i+1].start:]
		default:
			text = text[:items[i-1].end] + text[items[i].end:]
		}
		return writePresets(text, use)
	}
	for _, u := range use {
		if slices.Contains(have, u) {
			continue
		}
		if len(have) == 0 {
			return text[:list.start] + quotedList(use) + text[list.end:]
		}
		last := items[len(items)-1]
		return writePresets(text[:last.end]+", "+strconv.Quote(u)+text[last.end:], use)
	}
	return text
}

// listItems returns the elements of presets.use and their positions.
func listItems(text string) (values []string, spans []span) {
	values, _ = userPresets("", text, nil)
	l := newLocator(text)
	l.document()
	for i := range values {
		spans = append(spans, l.spans[element(usedPresets, i)])
	}
	return values, spans
}

// allowed returns an error if the operator's list does not permit all of use.
func allowed(paths Paths, file, text string, use []string) error {
	l := newLayers()
	if doc, err := readLayer(paths.Operator); err != nil {
		return err
	} else if doc != nil {
		l.addOperator(doc)
	}
	doc, err := parse(file, text)
	if err != nil {
		return err
	}
	l.addUser(doc)
	cfg, err := l.config()
	if err != nil {
		return err
	}
	for _, u := range use {
		if !slices.Contains(cfg.Presets.Use, u) {
			return fmt.Errorf(
				"preset %q: the operator's presets.use in %s does not have it, so it cannot be switched on",
				u,
				paths.Operator,
			)
		}
	}
	return nil
}

// writeBack replaces the file atomically and keeps its mode.
func writeBack(file, text string) error {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	return renameio.WriteFile(file, []byte(text), mode)
}
