package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// need requests a missing fact. The line asks until the fact is known. The rest is judged as if
// the fact were harmless, so that one round requests all missing facts.
func (j *judging) need(kind FactKind, name string) {
	j.needs[FactQuery{kind, name}] = true
}

// ask makes a finding ask.
func (f *finding) ask(risk Risk, why string) {
	f.decision, f.why = Ask, why
	f.risk = max(f.risk, risk)
}

// at classifies a path and caches the result.
func (j *judging) at(abs string, glob bool) place {
	if p, ok := j.seen[abs]; ok && p.glob == glob {
		return p
	}
	p := j.tool.places.at(abs, glob, j.cmd)
	if j.seen == nil {
		j.seen = map[string]place{}
	}
	j.seen[abs] = p
	return p
}

// judgeSafe judges a call on the safe list: the files that it reads, the program that it
// starts, and for git the programs that the repository names.
func (j *judging) judgeSafe(c *analysis.Call, state *callState, use *safelist.Use, f *finding) {
	f.decision, f.risk = Auto, RiskLow
	f.by, f.rule, f.why = BySafeList, "safe list: "+use.Entry.Name, "it only reads"
	if use.Entry.Typed && j.cmd.TTY {
		f.ask(RiskNormal, "at a terminal, "+use.Entry.Name+" runs what is typed into it")
		return
	}
	dirs := j.dirsOf(c, use)
	if len(use.Paths) > maxPaths || len(j.seen) > 2*maxPaths {
		f.ask(RiskNormal, fmt.Sprintf("more than %d paths, which are not judged one by one", maxPaths))
		return
	}
	if use.Dir != "" {
		j.readPath(state, c.Dirs, safelist.PathArg{Text: use.Dir}, f)
	}
	for _, p := range use.Paths {
		j.readPath(state, dirs, p, f)
	}
	for _, name := range namePatterns(use) {
		j.pathspec(safelist.PathArg{Text: name}, f)
	}
	for _, i := range use.Derived {
		j.derivedPath(state, dirs, &c.Args[i], f)
	}
	if len(use.Runs) > 0 && !j.runsReaders(c) {
		f.ask(RiskNormal, "it runs a command that may do more than read")
	}
	if strings.HasPrefix(use.Entry.Name, "git ") {
		j.judgeGit(dirs, use, &state.env, f)
	}
	j.program(c, state, f)
	if f.decision == Auto && (use.Sandboxed || use.Follows && j.directories(dirs, use)) {
		j.verdict.Sandboxed = true
	}
	if state.reader = f.decision == Auto; state.reader {
		for k, v := range use.Entry.Env {
			state.env.put(k, v)
		}
		state.env.drop(use.Entry.Unset...)
	}
}

// directories reports whether a call reads a directory.
func (j *judging) directories(dirs analysis.Dirs, use *safelist.Use) bool {
	for _, p := range use.Paths {
		paths, _ := dirs.Resolve(p.Text)
		if slices.ContainsFunc(paths, func(abs string) bool { return j.facts.Paths[abs].Dir }) {
			return true
		}
	}
	return false
}

// dirsOf returns the base directories of a call's relative paths.
func (j *judging) dirsOf(c *analysis.Call, use *safelist.Use) analysis.Dirs {
	if use.Dir == "" {
		return c.Dirs
	}
	paths, ok := c.Dirs.Resolve(use.Dir)
	return analysis.Dirs{Paths: paths, Unknown: !ok}
}

// readPath judges a path that a command of the safe list reads.
func (j *judging) readPath(state *callState, dirs analysis.Dirs, p safelist.PathArg, f *finding) {
	switch {
	case p.Text == "":
		return
	case p.Spec:
		j.pathspec(p, f)
		return
	case p.Top:
		dirs = j.gitBases(dirs)
	}
	paths, ok := dirs.Resolve(p.Text)
	if !ok {
		f.ask(RiskNormal, "the directory that "+p.Text+" is meant from is not known")
		n := naming{judging: j, dirs: dirs}
		n.name(p.Text, p.Glob)
		n.ask(f)
	}
	for _, abs := range paths {
		at := j.at(abs, p.Glob)
		at.dir = !p.Glob && j.facts.Paths[abs].Dir
		state.paths = append(state.paths, at)
		j.readable(state, at, f)
		if p.Glob {
			j.globFact(state, abs, f)
		} else {
			j.pathFact(state, abs, f)
		}
	}
}

// readable makes a finding ask if reading a place needs approval.
func (j *judging) readable(state *callState, at place, f *finding) {
	switch {
	case at.hidden != "":
		j.verdict.Hidden = true
		j.verdict.Outside = j.verdict.Outside || !at.inside
		j.noteBlockedPath(blockGuarded, at.path)
		f.ask(RiskHigh, j.cmd.show(at.path)+" holds secrets ("+at.hidden+"), whatever the command")
	case at.sensitive != "" && !(state.use != nil && showsNothing(state.use.Entry.Name)):
		j.verdict.Outside = j.verdict.Outside || !at.inside
		j.noteCredential(at.path)
		f.ask(RiskHigh, j.cmd.show(at.path)+" usually holds credentials ("+at.sensitive+")")
	case privateTemporary(at.path, j.cmd.project()) && j.absent(at.path):
		j.verdict.Sandboxed = true
	case j.ownGlob(at):
		j.verdict.Sandboxed = true
	case !at.readable && !ownSource(at.path):
		at.readable = j.shown(at.path) // the words show that it is read, and not written
		j.outside(at, false)
		f.ask(RiskNormal, j.cmd.show(at.path)+" is outside the project")
	}
}

// absent reports whether a path is known not to exist on the host. A command that names one that does exist means that
// one, which its own /tmp does not have.
func (j *judging) absent(abs string) bool {
	fact, ok := j.facts.Paths[abs]
	if !ok {
		j.need(FactPath, abs)
	}
	return ok && fact.Err == "" && !fact.Exists
}

// privateTemporary reports whether a path is below /tmp, of which a sandbox has its own, and
// neither beside the project nor where programs keep sockets and credentials.
func privateTemporary(abs, project string) bool {
	name := firstBelow(abs)
	if !abspath.Contains("/tmp", abs) || abspath.Contains("/tmp", project) && name == firstBelow(project) {
		return false
	}
	return !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "krb5cc") && !strings.HasPrefix(name, "ssh-") &&
		!strings.ContainsAny(name, "*?[")
}

// firstBelow returns the name of the entry of /tmp that a path leads to, or "".
func firstBelow(abs string) string {
	below := strings.TrimPrefix(strings.TrimPrefix(abs, "/tmp"), "/")
	name, _, _ := strings.Cut(below, "/")
	return name
}

// pathFact judges the target of a path. It also runs for a finding that already asks, because a
// grant for reading under a directory does not cover the targets of links there.
func (j *judging) pathFact(state *callState, abs string, f *finding) {
	fact, ok := j.facts.Paths[abs]
	switch {
	case ownSource(path.Clean(abs)): // another process would find another one there
	case !ok:
		j.need(FactPath, abs)
	case fact.Err != "":
		j.askOnce(f, "where "+j.cmd.show(abs)+" leads could not be found out: "+fact.Err)
	case fact.Special && fact.Real != "/dev/null":
		j.askOnce(f, j.cmd.show(abs)+" is a device, pipe or socket")
	default:
		j.realPath(state, abs, fact.Real, f)
	}
}

// askOnce makes a finding ask unless it already asks.
func (j *judging) askOnce(f *finding, why string) {
	if f.decision == Auto {
		f.ask(RiskNormal, why)
	}
}

// realPath judges the target of a link.
func (j *judging) realPath(state *callState, abs, real string, f *finding) {
	if real == path.Clean(abs) {
		return
	}
	at := j.at(real, false)
	at.dir = j.facts.Paths[abs].Dir
	state.paths = append(state.paths, at)
	if at.readable && at.hidden == "" && at.sensitive == "" {
		return
	}
	before := f.why
	if j.readable(state, at, f); f.why != before {
		f.why = j.cmd.show(abs) + " is a link: " + f.why
	}
}

func (j *judging) globFact(state *callState, abs string, f *finding) {
	fact, ok := j.facts.Globs[abs]
	switch {
	case !ok:
		j.need(FactGlob, abs)
	case fact.Err != "":
		j.askOnce(f, "what "+j.cmd.show(abs)+" matches could not be found out: "+fact.Err)
	case fact.Cut:
		j.askOnce(f, j.cmd.show(abs)+" matches more files than are looked at")
	}
	for _, real := range fact.Real {
		at := j.at(real, false)
		state.paths = append(state.paths, at)
		if f.decision == Auto {
			j.readable(state, at, f)
		}
	}
}

// program judges the file that a command's name resolves to.
func (j *judging) program(c *analysis.Call, state *callState, f *finding) {
	if f.decision != Auto || state.builtin {
		return
	}
	name := c.Name()
	if strings.Contains(name, "/") {
		if !state.preset && f.by != ByAllow {
			f.ask(RiskNormal, "it is named by a path, not by its name")
		}
		return
	}
	j.binary(name, f)
}

// binary judges the file that a name resolves to on the search path.
func (j *judging) binary(name string, f *finding) {
	fact, ok := j.facts.Binaries[name]
	switch {
	case !ok:
		j.need(FactBinary, name)
	case fact.Path != "" && fact.Writable:
		f.ask(RiskNormal, name+" means "+fact.Path+", which is not a program of the system")
	case fact.Path != "" && abspath.Contains(j.cmd.project(), fact.Real) && j.cmd.project() != "":
		f.ask(RiskNormal, name+" means "+fact.Path+", a file of the project")
	}
}
