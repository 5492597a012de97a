package shell

import (
	"path"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
	"sandboxd/shell/analysis"
	"sandboxd/shell/danger"
)

// writers lists the commands that write, create or remove their operands.
var writers = []string{
	"rm",
	"rmdir",
	"unlink",
	"touch",
	"mkdir",
	"chmod",
	"chown",
	"chgrp",
	"tee",
	"truncate",
	"shred",
	"ln",
	"mv",
	"mkfifo",
	"mknod",
	"setfacl",
	"chattr",
	"patch",
	"ed",
	"ex",
	"vi",
	"vim",
	"nvim",
	"nano",
	"emacs",
	"code",
}

// writeLast lists the commands that write their last operand.
var writeLast = []string{"cp", "install", "rsync", "scp"}

// commandPaths finds the paths among the words of a command. It records paths that are outside
// or hidden, and protected paths that are written. listed is true if the safe list judges the
// call's paths more exactly.
func (j *judging) commandPaths(c *analysis.Call, state *callState, listed bool) {
	name := base(c.Name())
	j.programPath(c)
	operands := linkTargets(c, j.operands(c))
	for i, op := range operands {
		if i > maxPaths || len(j.seen) > 2*maxPaths {
			j.verdict.Outside, j.beyond = true, true // the remaining paths are not checked
			break
		}
		written := slices.Contains(writers, name) || slices.Contains(writeLast, name) && i == len(operands)-1 ||
			(name == "sed" || name == "perl") && inPlace(c) && op.path
		written = written && !op.read
		if !op.path && !written {
			continue
		}
		for _, at := range j.resolve(c, op) {
			state.paths = append(state.paths, at)
			if !at.inside && at.path != "/dev/null" && !listed && (written || !ownSource(at.path)) {
				j.outside(at, written)
				j.writtenOutside(at, written, slices.Contains(inPlaceWriters, name))
				if name == "mv" && i == len(operands)-1 && len(operands) > 1 && !at.glob { // a directory, maybe
					j.verdict.WrittenIn = append(j.verdict.WrittenIn, at.path)
				}
			}
			if at.hidden != "" && !listed {
				j.verdict.Hidden = true
				j.noteBlockedPath(blockGuarded, at.path)
			}
			if !written {
				continue
			}
			if protected, held := j.protectedMatch(&at); protected != "" {
				j.verdict.Protected = true
				j.noteBlockedPath(guard(held), at.path)
				j.add(
					finding{decision: Ask, risk: RiskHigh, rule: "protected path", offset: c.Offset, end: c.End, text: callText(c),
						why: j.cmd.show(at.path) + " is protected (" + protected + "): other programs run or trust it"},
				)
			}
		}
	}
}

// protectedMatch is [places.protects] for a place that is written; a glob is looked up, and at becomes the match that
// is protected. A glob that could not be looked up counts as all that it may match.
func (j *judging) protectedMatch(at *place) (protected string, held bool) {
	matches, known := []string(nil), false
	if at.glob {
		matches, known = j.matches(at.path)
	}
	if !known {
		return j.tool.places.protects(*at, j.cmd)
	}
	for _, real := range matches {
		match := j.at(real, false)
		if p, h := j.tool.places.protects(match, j.cmd); p != "" && (protected == "" || h) {
			protected, held, *at = p, h, match
		}
	}
	return protected, held
}

// matches returns the real paths of a glob's matches, where they are known.
func (j *judging) matches(abs string) (real []string, known bool) {
	fact, ok := j.facts.Globs[abs]
	if !ok {
		j.need(FactGlob, abs)
	}
	return fact.Real, ok && fact.Err == "" && !fact.Cut
}

// linkTargets replaces the relative targets of "ln -s" by the paths that they mean: from the directory of the link,
// which the last operand is or is in.
func linkTargets(c *analysis.Call, operands []operand) []operand {
	last := len(operands) - 1
	symbolic := func(w analysis.Word) bool {
		return w.Text == "--symbolic" || strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") &&
			strings.Contains(w.Text, "s")
	}
	if base(c.Name()) != "ln" || last < 1 || !c.Literal() || !slices.ContainsFunc(c.Args[1:], symbolic) {
		return operands
	}
	out := []operand{operands[last]}
	for _, op := range operands[:last] {
		if op.home || strings.HasPrefix(op.text, "/") {
			out = append(out, op)
			continue
		}
		for _, dir := range []string{path.Dir(operands[last].text), operands[last].text} {
			at := op
			at.text = path.Join(dir, op.text)
			out = append(out, at)
		}
	}
	return out
}

func inPlace(c *analysis.Call) bool {
	return slices.ContainsFunc(c.Args[1:], func(w analysis.Word) bool {
		return strings.HasPrefix(w.Text, "-i") || strings.HasPrefix(w.Text, "--in-place") ||
			strings.HasPrefix(w.Text, "-pi") ||
			strings.HasPrefix(w.Text, "-ni")
	})
}

// outside records a place outside the project. The policy contained covers it where the command has a directory of its
// own there, or does not write what every command may read.
func (j *judging) outside(at place, written bool) {
	j.verdict.Outside = true
	j.noteBlockedPath(blockOutside, at.path)
	own := privateTemporary(at.path, j.cmd.project()) && (at.path == "/tmp" || j.absent("/tmp/"+firstBelow(at.path))) ||
		j.ownGlob(at)
	j.beyond = j.beyond || !own && (written || !at.readable)
}

// inPlaceWriters are those of the writers that open the file that they write under its own name.
var inPlaceWriters = []string{"cp", "tee", "touch"}

// writtenOutside records a place outside the project that is written.
func (j *judging) writtenOutside(at place, written, inPlace bool) {
	switch v := &j.verdict; {
	case !written:
	case at.glob:
		v.Replaced = true
	case !inPlace:
		if dir := path.Dir(at.path); !slices.Contains(v.WrittenIn, dir) {
			v.WrittenIn = append(v.WrittenIn, dir)
		}
	case !slices.Contains(v.Written, at.path):
		v.Written = append(v.Written, at.path)
	}
}

// programPath records a program that is named by a path outside the project.
func (j *judging) programPath(c *analysis.Call) {
	name := c.Name()
	if !strings.Contains(name, "/") {
		return
	}
	paths, _ := c.Dirs.Resolve(name)
	for _, abs := range paths {
		at := j.at(abs, false)
		if !at.readable {
			j.outside(at, false)
		}
	}
}

// operand is a word that may be a path.
type operand struct {
	text string
	glob bool
	path bool // it looks like a path
	home bool // it begins with an unknown home directory
	read bool // it is not written, whatever the command
}

// operands returns the words after a command's name that are not options, and the values joined
// to options.
func (j *judging) operands(c *analysis.Call) []operand {
	var out []operand
	if use := editInPlace(c.Args); use != nil {
		for _, p := range use.Paths {
			out = append(out, operand{text: p.Text, path: true, glob: p.Glob})
		}
		return out
	}
	ended := false
	argv, _ := c.Argv()
	scripts := sedScripts(argv)
	for i, a := range c.Args[1:] {
		if _, script := scripts[i+1]; script {
			continue // no path, whatever it looks like
		}
		t := a.Text
		unresolved := a.Kind <= analysis.Derived &&
			(strings.HasPrefix(a.Source, "~") || strings.HasPrefix(a.Source, "$HOME") || strings.HasPrefix(a.Source, `"$HOME`) ||
				strings.HasPrefix(a.Source, "${HOME") || strings.HasPrefix(a.Source, `"${HOME`))
		switch {
		case unresolved:
			out = append(out, operand{text: t, home: true, path: true})
			continue
		case t == "--" && !ended:
			ended = true
			continue
		case !ended && len(t) > 1 && t[0] == '-':
			if _, value, ok := strings.Cut(t, "="); ok {
				t = value
			} else if len(t) > 3 && t[1] != '-' && (t[2] == '/' || strings.HasPrefix(t[2:], "../")) {
				t = t[2:]
			} else {
				continue
			}
			if looksLikePath(t) {
				out = append(out, operand{text: t, path: true, glob: a.Kind == analysis.Glob})
			}
			continue
		}
		key, value, ok := strings.Cut(t, "=")
		if ok && !strings.ContainsAny(key, "/.") && looksLikePath(value) {
			t = value
		}
		out = append(out, operand{
			text: t,
			glob: a.Kind == analysis.Glob,
			path: looksLikePath(t) && a.Kind > analysis.Derived || strings.HasPrefix(t, "/"),
			read: key == "if" && base(c.Name()) == "dd",
		})
	}
	return out
}

// looksLikePath reports whether a word is likely to be a path.
func looksLikePath(s string) bool {
	switch {
	case s == "" || strings.Contains(s, "://") || strings.ContainsAny(s, "\n"):
		return false
	case s == ".." || strings.HasPrefix(s, "/") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "./") ||
		strings.Contains(s, "/../"):
		return true
	}
	return strings.Contains(s, "/") && !strings.ContainsAny(s, " |;&()<>")
}

// resolve classifies the paths that an operand may refer to.
func (j *judging) resolve(c *analysis.Call, op operand) []place {
	if op.home {
		home := orElse(j.cmd.Home, "/home/?")
		return []place{j.at(home, false)}
	}
	if op.text == "" || len(op.text) > 4096 {
		return nil
	}
	paths, _ := c.Dirs.Resolve(op.text)
	var out []place
	for _, p := range paths {
		out = append(out, j.at(p, op.glob))
	}
	return out
}

// redirection judges one redirection.
func (j *judging) redirection(r *analysis.Redir) {
	f := finding{offset: r.Offset, end: r.End, text: j.source(r.Offset, r.End), rule: "redirection"}
	if f.text == "" {
		f.text = r.FD + r.Op + " " + r.Target.Source
	}
	switch r.Kind {
	case analysis.RedirNull, analysis.RedirDup:
		return
	case analysis.RedirText:
		if r.Target.Kind != analysis.Literal {
			f.why = "text for its input that is not known before it runs"
			j.add(f)
		}
		return
	case analysis.RedirSocket:
		f.why, f.risk = "it opens a network connection", RiskHigh
		j.add(f)
		return
	case analysis.RedirRead:
		j.redirRead(r, &f)
		return
	}
	j.redirWrite(r, &f)
}

func (j *judging) redirRead(r *analysis.Redir, f *finding) {
	if r.Target.Kind == analysis.Derived {
		f.decision, f.rule, f.why = Auto, "redirection", "it reads a file"
		j.derivedPath(&callState{}, r.Dirs, &r.Target, f)
		j.namedBy(r.Dirs, f, r.Target)
		j.add(*f)
		return
	}
	if r.Target.Kind != analysis.Literal {
		f.why = "which file it reads is not known before it runs"
		j.namedBy(r.Dirs, f, r.Target)
		j.flagUnknown(r)
		j.add(*f)
		return
	}
	f.decision, f.rule, f.why = Auto, "redirection", "it reads a file"
	state := &callState{}
	j.readPath(state, r.Dirs, pathArg(r.Target.Text), f)
	j.add(*f)
}

// redirWrite asks, unless a preset permits to write ordinary files of the project.
func (j *judging) redirWrite(r *analysis.Redir, f *finding) {
	f.why = "it writes to " + orElse(r.Target.Source, "a file")
	if !r.Target.Known() {
		f.why = "it writes to a file that is not known before it runs"
		j.flagUnknown(r)
		j.add(*f)
		return
	}
	paths, ok := r.Dirs.Resolve(r.Target.Text)
	if !ok {
		f.why += ", in a directory that is not known"
	}
	edits := ok && len(paths) > 0 && r.Target.Kind == analysis.Literal && j.tool.edits()
	for _, p := range paths {
		at := j.at(p, false)
		edits = edits && j.ordinary(p)
		protected, held := j.tool.places.protects(at, j.cmd)
		switch {
		case strings.HasPrefix(at.path, "/dev/") && !danger.Device(at.path):
		case at.hidden != "":
			j.noteBlockedPath(blockGuarded, at.path)
			j.verdict.Hidden, j.verdict.Outside, f.risk = true, j.verdict.Outside || !at.inside, RiskHigh
			f.why = "it writes to " + j.cmd.show(at.path) + ", which holds secrets"
		case protected != "":
			j.noteBlockedPath(guard(held), at.path)
			j.verdict.Protected, f.risk = true, RiskHigh
			f.rule = "protected path"
			f.why = "it writes to " + j.cmd.show(
				at.path,
			) + ", which is protected (" + protected + "): other programs run or trust it"
		default:
			j.noteBlockedPath(blockWritten, at.path)
		}
		if !at.inside && !strings.HasPrefix(at.path, "/dev/") {
			j.outside(at, true)
			j.writtenOutside(at, true, true)
		}
	}
	if edits {
		f.decision, f.by, f.rule, j.verdict.Sandboxed = Auto, ByPreset, "preset edits: redirection", true
		j.verdict.Writes = true
	}
	j.add(*f)
}

// flagUnknown sets Outside for an unknown target that begins outside the project.
func (j *judging) flagUnknown(r *analysis.Redir) {
	if strings.HasPrefix(r.Target.Source, "~") || strings.Contains(r.Target.Source, "HOME") ||
		strings.HasPrefix(r.Target.Text, "/") && !abspath.Contains(j.cmd.project(), path.Clean(r.Target.Text)) {
		j.verdict.Outside, j.beyond = true, true
	}
}

// inSandboxes reports whether a call has path arguments and each is in one of the sandboxes
// that its rule names. Any operand may be a path, so each counts as one. A word that the rule's
// pattern spells out ("status" of "git status") is not an argument.
func (j *judging) inSandboxes(c *analysis.Call, r *rule) bool {
	if len(r.Paths) == 0 {
		return true
	}
	operands := j.operands(c)
	spelled := 0
	for i, w := range r.words.First() {
		if i > 0 && !strings.HasPrefix(w, "-") && !looksLikePath(w) {
			spelled++
		}
	}
	if len(operands) <= spelled {
		return false
	}
	known := true
	for _, op := range operands {
		if op.home {
			return false
		}
		paths, ok := c.Dirs.Resolve(op.text)
		if !ok || op.glob || op.text == "" {
			return false
		}
		for _, p := range paths {
			fact, ok := j.facts.Paths[p]
			if !ok {
				j.need(FactPath, p)
				known = false
				continue
			}
			if fact.Err != "" || !j.inSandbox(path.Clean(p), r.Paths) || !j.inSandbox(fact.Real, r.Paths) {
				return false
			}
		}
	}
	return known
}

// joinedInSandboxes is inSandboxes for values joined to options. The option letters are
// unknown, so in "-xcf" both "cf" and "f" may be a value. A value counts if it looks like a
// path or exists.
func (j *judging) joinedInSandboxes(c *analysis.Call, names []string) bool {
	if len(names) == 0 {
		return true
	}
	all := true
	for _, a := range c.Args[1:] {
		if a.Text == "--" {
			break
		}
		if !strings.HasPrefix(a.Text, "-") {
			continue
		}
		if _, value, ok := strings.Cut(a.Text, "="); ok {
			in, _ := j.valueInSandboxes(c, value, names)
			all = all && in
			continue
		}
		for k := 2; k < len(a.Text) && a.Text[1] != '-'; k++ {
			in, exists := j.valueInSandboxes(c, a.Text[k:], names)
			all = all && in && k <= maxCluster
			if exists && k == 2 || k > maxCluster {
				break
			}
		}
	}
	return all
}

// maxCluster is the maximum number of one-letter options in one word.
const maxCluster = 100

// valueInSandboxes reports whether a value is not a path, or is in the named sandboxes. exists
// reports whether a file of that name exists.
func (j *judging) valueInSandboxes(c *analysis.Call, value string, names []string) (in, exists bool) {
	if value == "" {
		return true, false
	}
	paths, ok := c.Dirs.Resolve(value)
	if !ok {
		return false, false
	}
	for _, p := range paths {
		fact, known := j.facts.Paths[p]
		if !known {
			j.need(FactPath, p)
			return false, false
		}
		exists = exists || fact.Exists
		if isPath := fact.Exists || strings.Contains(value, "/") || strings.HasPrefix(value, ".."); fact.Err != "" ||
			isPath && !(j.inSandbox(path.Clean(p), names) && j.inSandbox(fact.Real, names)) {
			return false, exists
		}
	}
	return true, exists
}

func (j *judging) inSandbox(p string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		root, ok := j.tool.config.Paths[name]
		return ok && abspath.Contains(path.Clean(root), p)
	})
}
