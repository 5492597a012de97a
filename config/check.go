package config

import (
	"fmt"
	"io"
	"os"
)

// Check loads the layers and writes the output of `sandboxd config check`: the files of the
// layers, and every error and warning with its position. If project is not empty, Check also
// checks the project's file. ok is false if there is an error. err is an error of w.
func Check(w io.Writer, paths Paths, project string) (ok bool, err error) {
	var b reporter
	for _, layer := range []struct{ what, path string }{
		{"operator", paths.Operator}, {"user", paths.User}, {"profiles", paths.ProfileDir},
	} {
		b.layer(layer.what, layer.path)
	}
	cfg, warnings, loadErr := Load(paths)
	b.warnings(warnings)
	b.problems(loadErr)
	if loadErr == nil && project != "" {
		_, warnings, loadErr = cfg.ForProject(project)
		b.warnings(warnings)
		b.problems(loadErr)
	}
	if loadErr == nil {
		b.prefixes(cfg)
	}
	if b.errors == 0 {
		b.line("the configuration is good (%s)", count(b.warned, "warning"))
	} else {
		b.line("%s, %s", count(b.errors, "error"), count(b.warned, "warning"))
	}
	_, err = w.Write(b.text)
	return b.errors == 0, err
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

type reporter struct {
	text           []byte
	errors, warned int
}

func (r *reporter) line(format string, args ...any) {
	r.text = fmt.Appendf(r.text, format+"\n", args...)
}

func (r *reporter) layer(what, path string) {
	switch _, err := os.Stat(path); {
	case path == "":
		r.line("%-9s none", what)
	case err != nil:
		r.line("%-9s %s (not there)", what, path)
	default:
		r.line("%-9s %s", what, path)
	}
}

func (r *reporter) warnings(list []Warning) {
	for _, w := range list {
		r.warned++
		r.line("warning: %s", w)
	}
}

// prefixes writes a note for each rule or permission that permits further words.
func (r *reporter) prefixes(c *Config) {
	rules := c.Shell
	rules.Permissions = c.Permissions
	for _, p := range rules.Prefixes() {
		r.line("note: %s: %s: %s", c.Origin(element(p.Key, p.At)), p.Key, p.Text)
	}
}

// problems writes a joined error, one per line.
func (r *reporter) problems(err error) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			r.problems(e)
		}
		return
	}
	r.errors++
	r.line("error: %v", err)
}
