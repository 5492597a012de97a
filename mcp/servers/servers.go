// Package servers rewrites the settings of clients of the Model Context Protocol, so that `sbx mcp wrap` starts the
// servers in them, and restores them byte for byte.
//
//	changed, err := servers.Wrap(settings)
//
// An entry keeps its arguments' text: the program becomes sbx, and "mcp wrap --name NAME -e VARIABLE -- PROGRAM"
// precedes the arguments. Without arguments there is no "--", by which [Unwrap] knows to remove the whole list.
//
// # Limitations
//
// Settings with comments are refused. Entries without a program, such as those of servers at a URL, stay.
package servers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Client is a program with settings that name servers. Project and User are the paths of the settings, relative to a
// project and to the home directory.
type Client struct{ Name, Project, User string }

// Clients are the known clients.
var Clients = []Client{
	{"claude", ".mcp.json", ".claude.json"},
	{"codex", ".codex/config.toml", ".codex/config.toml"},
	{"vscode", ".vscode/mcp.json", ".config/Code/User/mcp.json"},
}

// span is a part of the settings.
type span struct{ start, end int }

// entry is a server in the settings.
type entry struct {
	name          string
	command, args span     // args.end 0: there is no list
	env           []string // names of variables for the server
	toml          bool
}

// edit replaces a part of the settings.
type edit struct {
	span
	text string
}

// Wrap returns the settings with each server started by sbx. It fails where the settings can't be read.
func Wrap(settings []byte) ([]byte, error) { return change(settings, entry.wrap) }

// Unwrap returns the settings that Wrap was given.
func Unwrap(settings []byte) ([]byte, error) { return change(settings, entry.unwrap) }

func change(settings []byte, of func(entry, []byte) []edit) ([]byte, error) {
	if len(bytes.TrimSpace(settings)) == 0 {
		return settings, nil
	}
	list, err := entries(settings)
	if err != nil {
		return nil, err
	}
	var edits []edit
	for _, e := range list {
		edits = append(edits, of(e, settings)...)
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.start - a.start })
	out := slices.Clone(settings)
	for _, e := range edits {
		out = slices.Replace(out, e.start, e.end, []byte(e.text)...)
	}
	return out, nil
}

// entries reads JSON where the settings begin with an object, and TOML otherwise.
func entries(settings []byte) ([]entry, error) {
	if bytes.HasPrefix(bytes.TrimSpace(settings), []byte("{")) {
		r := reader{text: settings, d: json.NewDecoder(bytes.NewReader(settings))}
		_, _, err := r.value("", "")
		return r.found, err
	}
	return tables(settings)
}

var texts = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|'[^'\n]*'`)

// plain is the value of a text in JSON or TOML; "" where it has none.
func plain(token []byte) string {
	if token[0] == '\'' {
		return string(token[1 : len(token)-1])
	}
	var s string
	if json.Unmarshal(token, &s) != nil {
		return ""
	}
	return s
}

func (e entry) wrap(settings []byte) []edit {
	program := settings[e.command.start:e.command.end]
	if name := filepath.Base(plain(program)); name == "sbx" || name == "sbx-mcp" || name == "." {
		return nil // it is ours, or wrapped
	}
	words := []string{"mcp", "wrap", "--name", e.name}
	for _, name := range e.env {
		words = append(words, "-e", name)
	}
	if e.args.end > 0 {
		words = append(words, "--")
	}
	var list strings.Builder
	for _, w := range words {
		quoted, err := json.Marshal(w)
		if err != nil {
			return nil
		}
		fmt.Fprintf(&list, "%s, ", quoted)
	}
	list.Write(program)
	ours := edit{e.command, `"sbx"`}
	switch {
	case e.args.end == 0 && e.toml:
		ours.text += "\nargs = [" + list.String() + "]"
		return []edit{ours}
	case e.args.end == 0:
		ours.text += `, "args": [` + list.String() + "]"
		return []edit{ours}
	case texts.Match(settings[e.args.start:e.args.end]):
		list.WriteString(", ")
	}
	return []edit{ours, {span{e.args.start + 1, e.args.start + 1}, list.String()}}
}

func (e entry) unwrap(settings []byte) []edit {
	if e.args.end == 0 || plain(settings[e.command.start:e.command.end]) != "sbx" {
		return nil
	}
	args := settings[e.args.start:e.args.end]
	at := texts.FindAllIndex(args, -1)
	word := func(i int) string {
		if i >= len(at) {
			return ""
		}
		return plain(args[at[i][0]:at[i][1]])
	}
	if word(0) != "mcp" || word(1) != "wrap" || word(2) != "--name" || word(3) != e.name {
		return nil
	}
	i := 4
	for word(i) == "-e" {
		i += 2
	}
	if i >= len(at) {
		return nil
	}
	if word(i) != "--" { // the list is ours
		return []edit{{span{e.command.start, e.args.end}, string(args[at[i][0]:at[i][1]])}}
	}
	if i++; i >= len(at) {
		return nil
	}
	end := at[i][1]
	if bytes.HasPrefix(args[end:], []byte(", ")) {
		end += 2
	}
	program := string(args[at[i][0]:at[i][1]])
	return []edit{{e.command, program}, {span{e.args.start + 1, e.args.start + end}, ""}}
}
