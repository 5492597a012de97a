package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// installedTimeout is the time for the hook that Install writes into the
// settings. Most agents let the tool run when it is over.
const installedTimeout = 10 * time.Minute

// SettingsFile is where the vendor looks for hooks: in a project's folder, or
// in a person's home directory.
func (v Vendor) SettingsFile(project, home string, user bool) string {
	if user {
		return filepath.Join(home, cmp.Or(v.UserFile, v.Files[0]))
	}
	return filepath.Join(project, v.Files[0])
}

// Install returns the settings with command as the hook of the vendor's events. Every other byte stays. Repeating it
// changes nothing.
func (v Vendor) Install(settings []byte, command string) ([]byte, error) {
	if v.plugin != "" {
		if text := string(settings); strings.TrimSpace(text) != "" && text != v.Created() && !v.wrote(text) {
			return nil, errors.New("another program's file has this name")
		}
		return []byte(strings.Replace(v.plugin, commandWord, v.inPlugin(command), 1)), nil
	}
	if string(settings) == v.Created() || v.wroteAll(settings) || len(bytes.TrimSpace(settings)) == 0 {
		return v.whole(command)
	}
	for _, e := range v.events {
		var err error
		if settings, err = v.install(settings, e, command); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

// whole returns the settings that Install writes where there is no file.
func (v Vendor) whole(command string) ([]byte, error) {
	settings := []byte(v.Created())
	for _, e := range v.events {
		var err error
		if settings, err = v.install(settings, e, command); err != nil {
			return nil, err
		}
	}
	var text bytes.Buffer
	if err := json.Indent(&text, settings, "", "  "); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// wroteAll reports settings that have nothing but what Install wrote.
func (v Vendor) wroteAll(settings []byte) bool {
	p, err := find(settings, v.events[0].name)
	if err != nil || p.event == nil || len(p.event.items) != 1 {
		return false
	}
	all, err := v.whole(p.event.items[0].command())
	return err == nil && bytes.Equal(all, settings)
}

// commandWord is the place of our command in a plugin.
const commandWord = "COMMAND"

// wrote reports a file that Install wrote: the plugin with some command of ours.
func (v Vendor) wrote(text string) bool {
	before, after, _ := strings.Cut(v.plugin, commandWord)
	rest, ok := strings.CutPrefix(text, before)
	if !ok || !strings.HasSuffix(rest, after) {
		return false
	}
	rest = strings.TrimSuffix(rest, after)
	if v.Executable {
		return v.ours(rest)
	}
	var command string
	return json.Unmarshal([]byte(rest), &command) == nil && v.ours(command)
}

// inPlugin is the command in the form of the plugin: a line of shell in a script, else a text that JSON and JavaScript
// read alike.
func (v Vendor) inPlugin(command string) string {
	if v.Executable {
		return command
	}
	quoted, err := json.Marshal(command)
	if err != nil {
		panic(err) // it is text
	}
	return string(quoted)
}

// install adds the hook of one event.
func (v Vendor) install(settings []byte, e event, command string) ([]byte, error) {
	group, err := e.group(command)
	if err != nil {
		return nil, err
	}
	p, err := find(settings, e.name)
	if err != nil {
		return nil, err
	}
	indent := p.indent(settings)
	switch {
	case p.hooks == nil:
		return insert(
			settings,
			p.top,
			"\""+hooksKey+"\": {\""+e.name+"\": [\n"+indent+indent+group+"\n"+indent+"]}",
			indent,
		), nil
	case p.event == nil:
		return insert(
			settings,
			*p.hooks,
			"\""+e.name+"\": [\n"+indent+indent+indent+group+"\n"+indent+indent+"]",
			indent+indent,
		), nil
	}
	mine := p.mine(v)
	if len(mine) == 0 {
		return insert(settings, *p.event, group, indent+indent+indent), nil
	}
	for _, i := range slices.Backward(mine[1:]) {
		settings = p.event.without(settings, i)
	}
	first := p.event.items[mine[0]]
	return slices.Concat(settings[:first.start], []byte(group), settings[first.end:]), nil
}

// Groups returns the entries for "hooks" in the settings, for people who edit them by hand.
func (v Vendor) Groups(command string) (string, error) {
	if v.plugin != "" {
		return "", errors.New("the file has no entries")
	}
	var text strings.Builder
	for _, e := range v.events {
		group, err := e.group(command)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%q: [%s]\n", e.name, group)
	}
	return text.String(), nil
}

// group is the event's entry in the settings.
func (e event) group(command string) (string, error) {
	type handler struct {
		Type      string `json:"type"`
		Command   string `json:"command"`
		Timeout   int    `json:"timeout"`
		OnFailure string `json:"onFailure,omitempty"`
		Status    string `json:"statusMessage,omitempty"`
	}
	seconds := int(e.timeout / cmp.Or(e.unit, time.Second))
	if e.flat {
		b, err := json.Marshal(struct {
			Command    string `json:"command"`
			Timeout    int    `json:"timeout"`
			FailClosed bool   `json:"failClosed"`
		}{command, seconds, true})
		return string(b), err
	}
	b, err := json.Marshal(struct {
		Matcher string    `json:"matcher,omitempty"`
		Hooks   []handler `json:"hooks"`
	}{e.matcher, []handler{{"command", command, seconds, e.onFailure, e.status}}})
	return string(b), err
}

// Remove returns the settings without our hooks: the input of Install, if nothing has changed since.
func (v Vendor) Remove(settings []byte) ([]byte, error) {
	switch {
	case len(bytes.TrimSpace(settings)) == 0 || v.plugin != "" && !v.wrote(string(settings)):
		return settings, nil
	case v.plugin != "" || v.wroteAll(settings):
		return []byte(v.Created()), nil
	}
	for _, e := range slices.Backward(v.events) {
		var err error
		if settings, err = v.remove(settings, e); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

// remove takes the hook of one event out.
func (v Vendor) remove(settings []byte, e event) ([]byte, error) {
	p, err := find(settings, e.name)
	if err != nil || p.event == nil {
		return settings, err
	}
	mine := p.mine(v)
	if len(mine) == 0 {
		return settings, nil
	}
	// The earlier settings are the candidate that install turns into these.
	var candidates [][]byte
	if len(p.event.items) == 1 {
		if len(p.hooks.items) == 1 {
			candidates = append(candidates, p.top.without(settings, p.top.named(hooksKey)))
		}
		candidates = append(candidates, p.hooks.without(settings, p.hooks.named(e.name)))
	}
	bare := settings
	for _, i := range slices.Backward(mine) {
		bare = p.event.without(bare, i)
	}
	candidates = append(candidates, bare)
	for _, before := range candidates {
		if again, err := v.install(before, e, p.event.items[mine[0]].command()); err == nil &&
			bytes.Equal(again, settings) {
			return before, nil
		}
	}
	if len(mine) == len(p.event.items) {
		return candidates[0], nil // its group is empty
	}
	return bare, nil
}

// Others are the commands of other hooks that run before a tool; ours reports whether our hook is there. The agent runs
// all of them at once, and takes the rewritten command of the one that ends last.
func (v Vendor) Others(settings []byte) (list []string, ours bool) {
	if v.plugin != "" {
		return nil, v.wrote(string(settings)) // handlers run one after another
	}
	p, err := find(settings, v.events[0].name)
	if err != nil || p.event == nil {
		return nil, false
	}
	for _, g := range p.event.items {
		for _, command := range g.commands() {
			switch {
			case v.ours(command):
				ours = true
			case command != "":
				list = append(list, command)
			}
		}
	}
	return list, ours
}

// Off reports settings that switch all hooks off, ours with them.
func (v Vendor) Off(settings []byte) bool {
	var s struct {
		Off bool `json:"disableAllHooks"`
	}
	return v.Name == Claude.Name && json.Unmarshal(settings, &s) == nil && s.Off
}

const (
	hooksKey = "hooks"
	eventKey = "PreToolUse" // by Claude Code's name
)

// places are the offsets of the hooks in the text of the settings.
type places struct {
	top          collection
	hooks, event *collection // nil: not there
}

// collection is an object or array in a text.
type collection struct {
	start, end int // of the text, brackets included
	items      []item
}

// item is a member of an object, or an element of an array.
type item struct {
	start, end int // with its key
	key        string
	value      json.RawMessage
}

// find reads the settings as an agent does: the last of duplicate keys counts.
func find(settings []byte, name string) (p places, err error) {
	if p.top, err = collect(settings, 0, '{'); err != nil {
		return p, err
	}
	if rest := bytes.TrimSpace(settings[p.top.end:]); len(rest) > 0 {
		return p, errors.New("something follows the JSON object")
	}
	i := p.top.named(hooksKey)
	if i < 0 {
		return p, nil
	}
	hooks, err := collect(settings, p.top.items[i].end-len(p.top.items[i].value), '{')
	if err != nil {
		return p, fmt.Errorf("%s: %w", hooksKey, err)
	}
	p.hooks = &hooks
	if i = hooks.named(name); i < 0 {
		return p, nil
	}
	event, err := collect(settings, hooks.items[i].end-len(hooks.items[i].value), '[')
	if err != nil {
		return p, fmt.Errorf("%s.%s: %w", hooksKey, name, err)
	}
	p.event = &event
	return p, nil
}

// collect reads the object or array that starts at or after from.
func collect(text []byte, from int, open json.Delim) (c collection, err error) {
	d := json.NewDecoder(bytes.NewReader(text[from:]))
	at := func() int { return from + int(d.InputOffset()) }
	if t, err := d.Token(); err != nil || t != open {
		what := map[json.Delim]string{'{': "not a JSON object", '[': "not a JSON array"}[open]
		return c, errors.Join(errors.New(what), err)
	}
	c.start = at() - 1
	for d.More() {
		var i item
		if open == '{' {
			t, err := d.Token()
			if err != nil {
				return c, err
			}
			i.key = t.(string) // a key is always one
			i.start = at() - keyLength(text[:at()])
		}
		if err := d.Decode(&i.value); err != nil {
			return c, err
		}
		if i.end = at(); open == '[' {
			i.start = i.end - len(i.value)
		}
		c.items = append(c.items, i)
	}
	if _, err := d.Token(); err != nil {
		return c, err
	}
	c.end = at()
	return c, nil
}

// keyLength is the length of the JSON string at the end of text.
func keyLength(text []byte) int {
	for i := len(text) - 2; i >= 0; i-- {
		escapes := 0
		for i-escapes > 0 && text[i-escapes-1] == '\\' {
			escapes++
		}
		if text[i] == '"' && escapes%2 == 0 {
			return len(text) - i
		}
	}
	return len(text)
}

// named is the place of the member that counts; -1: there is none.
func (c collection) named(key string) int {
	for i, m := range slices.Backward(c.items) {
		if m.key == key {
			return i
		}
	}
	return -1
}

// without takes an item out, with the comma before it, or after it where it is
// the first.
func (c collection) without(text []byte, i int) []byte {
	from, to := c.items[i].start, c.items[i].end
	switch {
	case i > 0:
		from = c.items[i-1].end
	case len(c.items) > 1:
		to = c.items[1].start
	case bytes.HasPrefix(text[c.start+1:], []byte("\n")):
		// Alone: Install put it onto a line of its own, before the existing ones.
		if from = c.start + 1; bytes.HasPrefix(text[to:], []byte("\n")) {
			to++
		}
	}
	return slices.Concat(text[:from], text[to:])
}

// insert appends an item, followed by the existing blank space.
func insert(text []byte, c collection, what, indent string) []byte {
	if n := len(c.items); n > 0 {
		at := c.items[n-1].end
		return slices.Concat(text[:at], []byte(",\n"+indent+what), text[at:])
	}
	at := c.start + 1
	return slices.Concat(text[:at], []byte("\n"+indent+what+"\n"), text[at:])
}

// indent is the blank space in front of the first member, or two blanks.
func (p places) indent(text []byte) string {
	if len(p.top.items) > 0 {
		before := text[p.top.start+1 : p.top.items[0].start]
		if i := bytes.LastIndexByte(before, '\n'); i >= 0 && len(bytes.TrimSpace(before)) == 0 && len(before) > i+1 {
			return string(before[i+1:])
		}
	}
	return "  "
}

// mine are the groups that hold nothing but our hook.
func (p places) mine(v Vendor) (list []int) {
	for i, g := range p.event.items {
		if v.ours(g.command()) {
			list = append(list, i)
		}
	}
	return list
}

// command is that of an entry with a single one; "": it has none, or more.
func (i item) command() string {
	if list := i.commands(); len(list) == 1 {
		return list[0]
	}
	return ""
}

// commands are those of an entry: a group of hooks, or one command.
func (i item) commands() (list []string) {
	var g struct {
		Command string
		Hooks   []struct{ Command string }
	}
	if json.Unmarshal(i.value, &g) != nil {
		return nil
	}
	if g.Command != "" {
		list = append(list, g.Command)
	}
	for _, h := range g.Hooks {
		list = append(list, h.Command)
	}
	return list
}

// ours reports a command that is a call of `sbx hook` for the vendor.
func (v Vendor) ours(command string) bool {
	w := words(command)
	i := slices.Index(w, "hook")
	return len(w) > 0 && filepath.Base(w[0]) == "sbx" && i > 0 && i+1 < len(w) && w[i+1] == v.Command()
}

// words undoes Quote for a whole line; nil where it was not made with it.
func words(line string) (list []string) {
	for line != "" {
		var word strings.Builder
		for {
			text, rest, ok := strings.Cut(strings.TrimPrefix(line, "'"), "'")
			if !ok || line[0] != '\'' {
				return nil
			}
			word.WriteString(text)
			if line = rest; !strings.HasPrefix(line, `\''`) {
				break
			}
			word.WriteByte('\'')
			line = line[2:]
		}
		list = append(list, word.String())
		if line != "" {
			var ok bool
			if line, ok = strings.CutPrefix(line, " "); !ok {
				return nil
			}
		}
	}
	return list
}
