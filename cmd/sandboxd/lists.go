package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"sandboxd/config"
)

// presetLine is one preset in the JSON of `sandboxd config preset ls`.
type presetLine struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	On       bool     `json:"on"`
	Where    string   `json:"where,omitempty"` // FILE:LINE:COLUMN that switches it on
	Commands []string `json:"commands"`
}

// listChange is the JSON of `sandboxd config add|rm`.
type listChange struct {
	File    string   `json:"file"`
	Changed []string `json:"changed"` // without those that were so before
}

// runLists is `sandboxd config add|rm LIST VALUE…` and `sandboxd config preset`. It works on the user's
// file; a daemon that runs reads it on a reload.
func runLists(args []string, stdout, stderr io.Writer) int {
	set := flag.NewFlagSet("config", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	file, asJSON := new(string), set.Bool("json", false, "")
	value(set, "config", file)
	var words []string
	for rest := args; len(rest) > 0; { // flags before and after names
		if err := set.Parse(rest); err != nil {
			return misuse(stderr, "sandboxd config %s: %v", args[0], err)
		}
		if rest = set.Args(); len(rest) > 0 {
			words, rest = append(words, rest[0]), rest[1:]
		}
	}
	preset := words[0] == "preset"
	if preset {
		words = words[1:]
		if len(words) > 0 && words[0] != "ls" {
			words = slices.Insert(words, 1, config.UsedPresets)
		}
	}
	change := len(words) > 2 && (words[0] == "add" || words[0] == "rm")
	switch {
	case change || preset && slices.Equal(words, []string{"ls"}):
	case preset:
		return misuse(stderr, "sandboxd config preset: want ls, add NAME… or rm NAME…")
	default:
		return misuse(
			stderr,
			"sandboxd config %s: want LIST VALUE…, with the LIST %s",
			args[0],
			strings.Join(config.Adjustable(), ", "),
		)
	}
	home, err := homeDir()
	paths := config.DefaultPaths(home)
	if err == nil && *file != "" {
		paths.User, err = filepath.Abs(*file)
	}
	if err == nil && change {
		err = changeList(words[0], paths, words[1], words[2:], *asJSON, stdout)
	} else if err == nil {
		err = listPresets(paths, *asJSON, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "sandboxd:", err)
		return 1
	}
	return 0
}

func changeList(verb string, paths config.Paths, list string, values []string, asJSON bool, stdout io.Writer) error {
	change := config.Add
	if verb == "rm" {
		change = config.Remove
	}
	changed, err := change(paths, list, values)
	switch {
	case err != nil:
		return err
	case asJSON:
		return json.NewEncoder(stdout).Encode(listChange{File: paths.User, Changed: append([]string{}, changed...)})
	case len(changed) == 0:
		_, err = fmt.Fprintf(stdout, "nothing to change in %s\n", paths.User)
	case list == config.UsedPresets:
		_, err = fmt.Fprintf(
			stdout,
			"%s: switched %s %s\n",
			paths.User,
			map[string]string{"add": "on", "rm": "off"}[verb],
			strings.Join(changed, ", "),
		)
	default:
		_, err = fmt.Fprintf(
			stdout,
			"%s: %s: %s %s\n",
			paths.User,
			list,
			map[string]string{"add": "added", "rm": "removed"}[verb],
			strings.Join(changed, ", "),
		)
	}
	return err
}

func listPresets(paths config.Paths, asJSON bool, stdout io.Writer) error {
	list, err := config.ListPresets(paths)
	if err != nil {
		return err
	}
	lines := make([]presetLine, len(list))
	for i, p := range list {
		lines[i] = presetLine{Name: p.Name, Title: p.Title, On: p.On}
		if p.On {
			lines[i].Where = p.Origin.String()
		}
		for _, r := range p.Rules {
			lines[i].Commands = append(lines[i].Commands, r.Pattern)
		}
	}
	if asJSON {
		return json.NewEncoder(stdout).Encode(map[string]any{"presets": lines})
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PRESET\tON\tLETS RUN UNASKED")
	for _, l := range lines {
		on := "no"
		if l.On {
			on = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", l.Name, on, l.Title)
	}
	return w.Flush()
}
