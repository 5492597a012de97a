package analysis

import (
	"path"
	"slices"
	"strings"
)

// maxDirs is the maximum number of possible directories at one point of a line.
const maxDirs = 8

// maxMoves is the maximum number of directory changes that are followed in one text.
const maxMoves = 64

// Dirs are the directories in which a command may run. Unknown is true if it may also run in
// any other.
type Dirs struct {
	Paths   []string
	Unknown bool
}

// Resolve returns the absolute paths that p may refer to. ok is false if the list is
// incomplete. The paths are not cleaned: if a is a link, "a/../b" is not b.
func (d Dirs) Resolve(p string) (paths []string, ok bool) {
	if strings.HasPrefix(p, "/") {
		return []string{p}, true
	}
	for _, dir := range d.Paths {
		paths = append(paths, join(dir, p))
	}
	return paths, !d.Unknown
}

func join(dir, p string) string {
	if p == "" || p == "." {
		return dir
	}
	if strings.HasSuffix(dir, "/") {
		return dir + p
	}
	return dir + "/" + p
}

func (d Dirs) union(e Dirs) Dirs {
	if slices.Equal(d.Paths, e.Paths) {
		return Dirs{Paths: d.Paths, Unknown: d.Unknown || e.Unknown}
	}
	out := Dirs{Paths: slices.Clone(d.Paths), Unknown: d.Unknown || e.Unknown}
	for _, p := range e.Paths {
		if slices.Contains(out.Paths, p) {
			continue
		}
		if len(out.Paths) == maxDirs {
			out.Unknown = true
			break
		}
		out.Paths = append(out.Paths, p)
	}
	return out
}

func (d Dirs) equal(e Dirs) bool {
	return d.Unknown == e.Unknown && slices.Equal(d.Paths, e.Paths)
}

// outcome holds the possible directories after a command that succeeded or failed.
type outcome struct{ ok, fail Dirs }

func same(d Dirs) outcome { return outcome{d, d} }

func (o outcome) either() Dirs { return o.ok.union(o.fail) }

// changeDir returns the outcome of a call. It differs from the start only for commands that
// change the directory.
func (p *reader) changeDir(c *Call) outcome {
	args := c.Args
	for len(args) > 1 && (args[0].is("builtin") || args[0].is("command")) {
		args = args[1:]
	}
	if len(args) == 0 {
		return same(c.Dirs)
	}
	if !args[0].Known() {
		return outcome{ok: Dirs{Paths: c.Dirs.Paths, Unknown: true}, fail: Dirs{Paths: c.Dirs.Paths, Unknown: true}}
	}
	switch args[0].Text {
	case "cd":
		return outcome{ok: p.cdTarget(c, args[1:]), fail: c.Dirs}
	case "pushd":
		if len(args) == 2 && !strings.HasPrefix(args[1].Text, "+") {
			return outcome{ok: p.cdTarget(c, args[1:]), fail: c.Dirs}
		}
		fallthrough
	case "popd", "eval", "source", ".":
		d := Dirs{Paths: c.Dirs.Paths, Unknown: true}
		return outcome{d, d}
	}
	return same(c.Dirs)
}

func (p *reader) cdTarget(c *Call, args []Word) Dirs {
	for _, a := range c.Assigns {
		if a.Name == "CDPATH" || a.Name == "HOME" || a.Name == "PWD" || a.Name == "OLDPWD" {
			return Dirs{Unknown: true}
		}
	}
	for len(args) > 0 && args[0].Known() && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
		switch args[0].Text {
		case "-L", "--":
		default: // after -P a later .. leaves the target of a link
			return Dirs{Unknown: true}
		}
		args = args[1:]
	}
	switch {
	case len(args) == 0 && p.place.Home != "":
		return Dirs{Paths: []string{p.place.Home}}
	case len(args) != 1, !args[0].Known(), args[0].Text == "-", args[0].Text == "":
		return Dirs{Unknown: true}
	}
	if p.moves++; p.moves > maxMoves {
		return Dirs{Unknown: true}
	}
	to := args[0].Text
	if strings.HasPrefix(to, "/") {
		return Dirs{Paths: []string{path.Clean(to)}}
	}
	out := Dirs{Unknown: c.Dirs.Unknown}
	for _, d := range c.Dirs.Paths {
		if len(d)+len(to) > 4096 { // longer than any path (PATH_MAX)
			out.Unknown = true
			continue
		}
		if next := path.Clean(join(d, to)); !slices.Contains(out.Paths, next) {
			out.Paths = append(out.Paths, next)
		}
	}
	return out
}
