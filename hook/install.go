package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// InstalledTimeout is the time for the hook that Install writes into the
// settings. Both vendors let the tool run when it is over.
const InstalledTimeout = 10 * time.Minute

// SettingsFile is where the vendor looks for hooks: in a project's folder, or
// in a person's home directory.
func (v Vendor) SettingsFile(project, home string, user bool) string {
	base := project
	if user {
		base = home
	}
	if v.Name == Codex.Name {
		return filepath.Join(base, ".codex", "hooks.json")
	}
	return filepath.Join(base, ".claude", "settings.json")
}

// Install returns the settings with command as the hook before every tool.
// What else stands there stays, in its order. Doing it again changes nothing.
func (v Vendor) Install(settings []byte, command string) ([]byte, error) {
	return v.edit(settings, func(groups []json.RawMessage) ([]json.RawMessage, error) {
		entry, err := json.Marshal(map[string]any{"matcher": "*", "hooks": []any{
			map[string]any{"type": "command", "command": command, "timeout": int(InstalledTimeout.Seconds())}}})
		if err != nil {
			return nil, err
		}
		for i, g := range groups {
			if v.ours(g) {
				groups[i] = entry
				return slices.DeleteFunc(groups[:], func(other json.RawMessage) bool { return !bytes.Equal(other, entry) && v.ours(other) }), nil
			}
		}
		return append(groups, entry), nil
	})
}

// Remove returns the settings without our hook.
func (v Vendor) Remove(settings []byte) ([]byte, error) {
	return v.edit(settings, func(groups []json.RawMessage) ([]json.RawMessage, error) {
		return slices.DeleteFunc(groups, v.ours), nil
	})
}

// ours reports a group that holds nothing but our hook.
func (v Vendor) ours(group json.RawMessage) bool {
	var g struct{ Hooks []struct{ Command string } }
	return json.Unmarshal(group, &g) == nil && len(g.Hooks) == 1 &&
		strings.HasSuffix(strings.SplitN(g.Hooks[0].Command, " 'hook' '"+v.Name+"'", 2)[0], "sbx'") && strings.Contains(g.Hooks[0].Command, " 'hook' '"+v.Name+"'")
}

// edit changes hooks.PreToolUse, and nothing else.
func (v Vendor) edit(settings []byte, change func([]json.RawMessage) ([]json.RawMessage, error)) ([]byte, error) {
	if len(bytes.TrimSpace(settings)) == 0 {
		settings = []byte("{}")
	}
	top, err := members(settings)
	if err != nil {
		return nil, err
	}
	hooks, err := members(top.get("hooks", "{}"))
	if err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
	}
	var groups []json.RawMessage
	if err := json.Unmarshal(hooks.get("PreToolUse", "[]"), &groups); err != nil {
		return nil, fmt.Errorf("hooks.PreToolUse: %w", err)
	}
	before := len(groups)
	if groups, err = change(groups); err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		if before == 0 {
			return settings, nil
		}
		hooks = hooks.without("PreToolUse")
	} else {
		b, err := json.Marshal(groups)
		if err != nil {
			return nil, err
		}
		hooks = hooks.with("PreToolUse", b)
	}
	if len(hooks) == 0 {
		top = top.without("hooks")
	} else {
		top = top.with("hooks", hooks.json())
	}
	var out bytes.Buffer
	if err := json.Indent(&out, top.json(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// object is a JSON object whose members keep their order and their text.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

func members(b []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("not a JSON object"), err)
	}
	var o object
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		var m member
		m.key = t.(string) // a key is always one
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		o = append(o, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("something follows the JSON object")
	}
	return o, nil
}

func (o object) get(key, otherwise string) json.RawMessage {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return json.RawMessage(otherwise)
}

func (o object) with(key string, value json.RawMessage) object {
	for i, m := range o {
		if m.key == key {
			o[i].value = value
			return o
		}
	}
	return append(o, member{key, value})
}

func (o object) without(key string) object {
	return slices.DeleteFunc(o, func(m member) bool { return m.key == key })
}

func (o object) json() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			panic(err) // it was decoded from JSON
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}
