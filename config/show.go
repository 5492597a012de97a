package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

// Show writes the merged configuration as one TOML file, with the origin of every value as a
// comment. The output is a valid layer with the same values.
func (c *Config) Show(w io.Writer) error {
	var b bytes.Buffer
	for _, s := range c.sections() {
		fmt.Fprintf(&b, "[%s]\n", s.name)
		for _, e := range s.entries {
			writeEntry(&b, e)
		}
		for _, e := range s.entries {
			writeTables(&b, e)
		}
		b.WriteByte('\n')
	}
	for _, p := range c.Profiles {
		fmt.Fprintf(&b, "# profile %s\n", p.File)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// ShowJSON writes the merged configuration as one JSON object: each setting by its dotted name, with its value and
// origin.
func (c *Config) ShowJSON(w io.Writer) error {
	type shown struct {
		Value  any    `json:"value"`
		Origin string `json:"origin"`
	}
	out := map[string]shown{}
	for _, e := range c.layers.entries {
		out[toml.Key(e.path).String()] = shown{e.value, entryOrigin(e).String()}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

type section struct {
	name    string
	entries []*entry
}

// sections groups the entries by table, tables and entries in the order of keys.
func (c *Config) sections() []section {
	order := map[string]int{}
	for i, k := range keys {
		order[k.name] = i
	}
	var all []*entry
	for _, e := range c.layers.entries {
		all = append(all, e)
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		if ta, tb := tableOf(a), tableOf(b); ta != tb && order[a.key.name] == order[b.key.name] {
			return ta < tb
		}
		if ta, tb := tableOf(a), tableOf(b); ta != tb {
			return tableOrder(a, order) < tableOrder(b, order) || tableOrder(a, order) == tableOrder(b, order) && ta < tb
		}
		return order[a.key.name] < order[b.key.name]
	})
	var out []section
	for _, e := range all {
		if t := tableOf(e); len(out) == 0 || out[len(out)-1].name != t {
			out = append(out, section{name: t})
		}
		last := &out[len(out)-1]
		last.entries = append(last.entries, e)
	}
	return out
}

func tableOf(e *entry) string {
	return toml.Key(e.path[:len(e.path)-1]).String()
}

// tableOrder returns the index of the first key of an entry's table. A table within a section
// comes after the section's own keys.
func tableOrder(e *entry, order map[string]int) int {
	table := e.key.name[:strings.LastIndexByte(e.key.name, '.')]
	section, _, nested := strings.Cut(table, ".")
	first, last := len(keys), 0
	for _, k := range keys {
		if strings.HasPrefix(k.name, section+".") {
			first, last = min(first, order[k.name]), max(last, order[k.name])
		}
	}
	if !nested {
		return first * 1000
	}
	for _, k := range keys {
		if strings.HasPrefix(k.name, table+".") {
			return last*1000 + order[k.name] + 1
		}
	}
	return last*1000 + 999
}

// writeEntry writes every value except lists of tables.
func writeEntry(b *bytes.Buffer, e *entry) {
	name := toml.Key(e.path[len(e.path)-1:]).String()
	list := asList(e.value)
	if isTableList(list) {
		return
	}
	if mixed(e) || len(list) > 6 {
		writeList(b, name, e, list)
		return
	}
	fmt.Fprintf(b, "%s = %s # %s\n", name, inline(e.value), entryOrigin(e))
}

// writeList writes a long list, with several elements of the same origin per line.
func writeList(b *bytes.Buffer, name string, e *entry, list []any) {
	fmt.Fprintf(b, "%s = [\n", name)
	for i := 0; i < len(list); {
		line, from := " ", itemOrigin(e, i)
		for start := i; i < len(list) && itemOrigin(e, i) == from && (i == start || len(line) < 90); i++ {
			line += " " + inline(list[i]) + ","
		}
		fmt.Fprintf(b, "%s # %s\n", line, from)
	}
	b.WriteString("]\n")
}

func writeTables(b *bytes.Buffer, e *entry) {
	list := asList(e.value)
	if !isTableList(list) {
		return
	}
	for i, item := range list {
		fmt.Fprintf(b, "[[%s]] # %s\n", toml.Key(e.path), itemOrigin(e, i))
		rule := item.(map[string]any)
		for _, name := range sortedKeys(rule) {
			fmt.Fprintf(b, "%s = %s%s\n", toml.Key{name}, inline(rule[name]), prefixRemark(e, name, rule))
		}
	}
}

// prefixRemark returns a comment for the pattern of a shell rule: whether further words may
// follow.
func prefixRemark(e *entry, name string, rule map[string]any) string {
	switch {
	case e.key.name != "shell.rules" || name != "pattern":
		return ""
	case rule["exact"] == true:
		return " # these words alone"
	}
	return " # a prefix: further words may follow; exact = true: none"
}

func isTableList(list []any) bool {
	for _, item := range list {
		if _, ok := item.(map[string]any); !ok {
			return false
		}
	}
	return len(list) > 0
}

func mixed(e *entry) bool {
	for i := range e.items {
		if e.items[i] != e.items[0] {
			return true
		}
	}
	return false
}

func itemOrigin(e *entry, i int) Origin {
	if i < len(e.items) {
		return e.items[i]
	}
	return e.origin
}

func entryOrigin(e *entry) Origin {
	if e.key.merge == restrict && len(e.items) > 0 {
		return e.items[0]
	}
	return e.origin
}

// inline writes a value on one line.
func inline(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, name := range sortedKeys(v) {
			parts = append(parts, toml.Key{name}.String()+" = "+inline(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any, []map[string]any:
		var parts []string
		for _, item := range asList(v) {
			parts = append(parts, inline(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(map[string]any{"v": v}); err != nil {
		return fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return strings.TrimSpace(strings.TrimPrefix(b.String(), "v = "))
}

// Digest returns a hash of the values without their origins: two configurations with the same
// values have the same digest.
func (c *Config) Digest() string {
	h := sha256.New()
	for _, name := range sortedKeys(c.layers.entries) {
		fmt.Fprintf(h, "%s = %s\n", name, inline(c.layers.entries[name].value))
	}
	for _, p := range c.Profiles {
		fmt.Fprintf(h, "profile %d\n%s\n", len(p.Text), p.Text)
	}
	for _, name := range []string{"shell.rules", "tools.rules", "permissions.ask", "permissions.deny"} {
		if e, ok := c.Project.layers.entries[name]; ok {
			fmt.Fprintf(h, "project %s = %s\n", name, inline(e.value))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
