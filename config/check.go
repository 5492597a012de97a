package config

import (
	"fmt"
	"os"
	"strings"
)

// Report is the result of Check.
type Report struct {
	OK    bool   `json:"ok"`
	Files []File `json:"files"`
	// Errors, Warnings and Notes are texts with their position.
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
	Notes    []string `json:"notes"`
}

// File is the file of one layer.
type File struct {
	Layer string `json:"layer"`
	// Path is empty if the layer has no file.
	Path  string `json:"path,omitempty"`
	There bool   `json:"there"`
}

// Check loads the layers and returns their files, and every error and warning with its position. If project is not
// empty, Check also checks the project's file.
func Check(paths Paths, project string) Report {
	r := Report{Errors: []string{}, Warnings: []string{}, Notes: []string{}}
	for _, layer := range []struct{ what, path string }{
		{"operator", paths.Operator}, {"user", paths.User}, {"profiles", paths.ProfileDir},
	} {
		_, err := os.Stat(layer.path)
		r.Files = append(r.Files, File{layer.what, layer.path, err == nil})
	}
	cfg, warnings, err := Load(paths)
	r.add(warnings, err)
	if err == nil && project != "" {
		_, warnings, err = cfg.ForProject(project)
		r.add(warnings, err)
	}
	if err == nil {
		rules := cfg.Shell
		rules.Permissions = cfg.Permissions
		for _, p := range rules.Prefixes() { // of rules that permit further words
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %s: %s", cfg.Origin(element(p.Key, p.At)), p.Key, p.Text))
		}
	}
	r.OK = len(r.Errors) == 0
	return r
}

// add adds warnings, and each of the errors that err joins.
func (r *Report) add(warnings []Warning, err error) {
	for _, w := range warnings {
		r.Warnings = append(r.Warnings, w.String())
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			r.add(nil, e)
		}
		return
	}
	if err != nil {
		r.Errors = append(r.Errors, err.Error())
	}
}

// String returns r as `sandboxd config check` prints it, a fact a line.
func (r Report) String() string {
	var b strings.Builder
	for _, f := range r.Files {
		switch {
		case f.Path == "":
			fmt.Fprintf(&b, "%-9s none\n", f.Layer)
		case !f.There:
			fmt.Fprintf(&b, "%-9s %s (not there)\n", f.Layer, f.Path)
		default:
			fmt.Fprintf(&b, "%-9s %s\n", f.Layer, f.Path)
		}
	}
	for _, part := range []struct {
		name string
		list []string
	}{{"warning", r.Warnings}, {"error", r.Errors}, {"note", r.Notes}} {
		for _, text := range part.list {
			fmt.Fprintf(&b, "%s: %s\n", part.name, text)
		}
	}
	if r.OK {
		fmt.Fprintf(&b, "the configuration is good (%s)\n", count(len(r.Warnings), "warning"))
	} else {
		fmt.Fprintf(&b, "%s, %s\n", count(len(r.Errors), "error"), count(len(r.Warnings), "warning"))
	}
	return b.String()
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
