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

// presetChange is the JSON of `sandboxd config preset add|rm`.
type presetChange struct {
	File    string   `json:"file"`
	Changed []string `json:"changed"` // without those that were so before
}

// runPreset is `sandboxd config preset`. It works on the user's file; a daemon
// that runs reads it on a reload.
func runPreset(args []string, stdout, stderr io.Writer) int {
	var file string
	var asJSON bool
	set := flag.NewFlagSet("preset", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&file, "config", "", "")
	set.BoolVar(&asJSON, "json", false, "")
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	if !slices.Contains([]string{"ls", "add", "rm"}, verb) {
		return misuse(stderr, "sandboxd config preset: want ls, add NAME… or rm NAME…")
	}
	var names []string
	for rest := args[1:]; len(rest) > 0; { // flags before and after names
		if err := set.Parse(rest); err != nil {
			return misuse(stderr, "sandboxd config preset: %v", err)
		}
		if rest = set.Args(); len(rest) > 0 {
			names, rest = append(names, rest[0]), rest[1:]
		}
	}
	if (verb == "ls") != (len(names) == 0) {
		return misuse(stderr, "sandboxd config preset: want ls, add NAME… or rm NAME…")
	}
	if err := changePreset(verb, file, names, asJSON, stdout); err != nil {
		fmt.Fprintln(stderr, "sandboxd:", err)
		return 1
	}
	return 0
}

func changePreset(verb, file string, names []string, asJSON bool, stdout io.Writer) error {
	home, err := homeDir()
	if err != nil {
		return err
	}
	paths := config.DefaultPaths(home)
	if file != "" {
		if paths.User, err = filepath.Abs(file); err != nil {
			return err
		}
	}
	var changed []string
	switch verb {
	case "add":
		changed, err = config.AddPresets(paths, names)
	case "rm":
		changed, err = config.RemovePresets(paths, names)
	default:
		return listPresets(paths, asJSON, stdout)
	}
	switch {
	case err != nil:
		return err
	case asJSON:
		return json.NewEncoder(stdout).Encode(presetChange{File: paths.User, Changed: append([]string{}, changed...)})
	case len(changed) == 0:
		_, err = fmt.Fprintf(stdout, "nothing to change in %s\n", paths.User)
	default:
		_, err = fmt.Fprintf(stdout, "%s: switched %s %s\n", paths.User, map[string]string{"add": "on", "rm": "off"}[verb], strings.Join(changed, ", "))
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
