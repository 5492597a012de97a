// Package config reads the configuration of the daemon: one TOML file, in
// layers, each of which can say less than the one above it.
//
// The promise: what a file says is either in force, or reported with file,
// line and column. A key that nobody knows, a value of the wrong type, a file
// that others could have written are errors, never guesses; and no project
// file widens anything.
//
//	cfg, warnings, err := config.Load(config.DefaultPaths(home))
//	if err != nil {
//		return err // names file:line:column and what to do
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
// How a key of a lower layer combines with the ones above is a property of the
// key (Schema prints it):
//
//   - replace: the lower layer's value counts.
//   - narrow: the lower layer's value counts, but where the operator set the
//     key, only if it is not wider than the operator's. A wider one is
//     reported and ignored.
//   - grant: a list that permits. The lower layer's list counts; where the
//     operator set the key, entries outside the operator's are reported and
//     ignored.
//   - restrict: a list that forbids. All layers' entries count, the built-in
//     ones included.
//   - rules: an ordered list. The operator's entries come first, then the
//     user's, then the built-in ones; the first that matches decides.
//
// The project's file is written by whoever wrote the project, so it is not
// trusted. It may hold entries of restrict lists, rules that ask or deny,
// values of narrow keys that are narrower than what the layers above came to,
// and nothing else: all else in it is reported as a warning and ignored. Its
// rules are kept apart, in Config.Project, because an ordered list in which a
// stranger's rule came first could hide a stricter rule behind it: a call is
// judged by both and the stricter answer counts.
//
// A project file that cannot be read, is not TOML, or has a value of the wrong
// type in one of the keys that it may hold, is an error of ForProject: what it
// meant to hide is not known, and asking would not protect it. The person
// mends or removes the file; nothing of that project runs before.
//
// Every other *.toml file of the profile directory (/etc/sandboxd/profile.d)
// is an operator's profile; all of them bind, intersected. They are read here
// with the same care and handed on as text.
//
// # Limitations
//
// A layer is read once, by Load. Nothing is watched: a change counts after a
// reload that an approver or the service manager asks for.
package config

import (
	"fmt"
	"path/filepath"
)

// Paths says where the layers lie. An empty field leaves that layer out, as
// does a file that does not exist.
type Paths struct {
	Operator   string // the operator's file
	User       string // the user's file; what --config replaces
	ProfileDir string // folder of operator's profiles, *.toml
}

// ProjectFile is the name of a project's own layer, below its root.
const ProjectFile = ".sandboxd.toml"

// DefaultPaths are the places of a system's installation, for the user whose
// home directory (that of the password database, not $HOME) is home. An empty
// home leaves the user's layer out, as for a system's daemon.
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

// Origin is the place that a value comes from. The zero value is the built-in
// defaults.
type Origin struct {
	File   string
	Line   int // from 1; 0 where the file as a whole is meant
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

// position is the origin with its column, as an error shows it.
func (o Origin) position() string {
	if o.Line == 0 {
		return o.String()
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
}

// Warning is something in a file that was understood and not followed.
type Warning struct {
	Origin Origin
	Text   string
}

func (w Warning) String() string { return w.Origin.position() + ": " + w.Text }

// Error is something in a file that keeps it from being used.
type Error struct {
	Origin Origin
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("configuration %s: %v", e.Origin.position(), e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
