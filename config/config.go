// Package config reads the configuration of the daemon: one TOML file in several layers, each
// of which can only restrict the one above it.
//
// The promise: every statement of a file is either in force, or reported with file, line and
// column. An unknown key, a value of the wrong type, and a file that other users could have
// written are errors. A project file never widens anything.
//
//	cfg, warnings, err := config.Load(config.DefaultPaths(home))
//	if err != nil {
//		return err // names file:line:column and the remedy
//	}
//	here, more, err := cfg.ForProject("/home/ann/src/app")
//
// # Layers
//
// Widest first:
//
//  1. the built-in defaults (Show prints them when no file exists),
//  2. the operator's file, /etc/sandboxd/config.toml,
//  3. the user's file, ~/.config/sandboxd/config.toml,
//  4. the project's file, PROJECT/.sandboxd.toml.
//
// Each key has a rule for combining layers (Schema prints it):
//
//   - replace: the lower layer's value applies.
//   - narrow: the lower layer's value applies unless the operator set the key to
//     a narrower value. A wider value is reported and ignored.
//   - grant: a list that permits. The lower layer's list applies. If the operator
//     set the key, entries outside the operator's list are reported and ignored.
//   - restrict: a list that forbids. The entries of all layers apply, including
//     the built-in ones.
//   - rules: an ordered list. The operator's entries come first, then the
//     user's, then the built-in ones; the first match decides.
//
// The project's file belongs to the author of the project, so it is not trusted. It may have
// entries of restrict lists, rules that ask or deny, and values of narrow keys that are
// narrower than those of the layers above. Everything else in it is reported as a warning and
// ignored. Its rules are separate, in Config.Project: in one ordered list, an untrusted rule at
// the top could shadow a stricter rule below it. A call is judged by both lists, and the
// stricter result applies.
//
// ForProject returns an error for a project file that cannot be read, is not TOML, or has a
// value of the wrong type in a permitted key. Its restrictions are then unknown, and a question
// would not protect the files that it may hide. Nothing of that project runs before a person
// fixes or removes the file.
//
// Every other *.toml file of the profile directory (/etc/sandboxd/profile.d) is an operator's
// profile. All of them apply, intersected. Load checks them in the same way and keeps their
// text.
//
// # Limitations
//
// Load reads each layer once. Nothing is watched: a change takes effect after a reload by an
// approver or the service manager.
package config

import (
	"fmt"
	"path/filepath"
)

// Paths holds the locations of the layers. An empty field, or a file that does not exist,
// leaves that layer out.
type Paths struct {
	Operator   string // the operator's file
	User       string // the user's file; --config replaces it
	ProfileDir string // folder of operator's profiles, *.toml
}

// ProjectFile is the name of a project's own layer, below its root.
const ProjectFile = ".sandboxd.toml"

// DefaultPaths returns the paths of a system installation for the user with that home directory
// (of the password database, not $HOME). An empty home leaves the user's layer out, as for a
// system daemon.
func DefaultPaths(home string) Paths {
	p := Paths{
		Operator:   "/etc/sandboxd/config.toml",
		ProfileDir: "/etc/sandboxd/profile.d",
	}
	if home != "" {
		p.User = filepath.Join(home, ".config", "sandboxd", "config.toml")
	}
	return p
}

// Origin is the position of a value. The zero value is the built-in defaults.
type Origin struct {
	File   string
	Line   int // from 1; 0 for the whole file
	Column int // from 1, in bytes
}

func (o Origin) String() string {
	switch {
	case o.File == "":
		return "built-in"
	case o.Line == 0:
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// position returns the origin with its column, for errors.
func (o Origin) position() string {
	if o.Line == 0 {
		return o.String()
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
}

// Warning is a valid part of a file that is ignored.
type Warning struct {
	Origin Origin
	Text   string
}

func (w Warning) String() string { return w.Origin.position() + ": " + w.Text }

// Error is an invalid part of a file. The file cannot be used.
type Error struct {
	Origin Origin
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("configuration %s: %v", e.Origin.position(), e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
