package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// need notes that a fact is missing. Until it is there the line asks; the rest
// is judged as if nothing spoke against it, so that all that is missing is
// asked for at once.
func (j *judging) need(kind FactKind, name string) {
	j.needs[FactQuery{kind, name}] = true
}

// stop makes a finding ask.
func (f *finding) stop(risk Risk, why string) {
	f.decision, f.why = Ask, why
	f.risk = max(f.risk, risk)
}

// at classifies a path, each once.
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

// safe judges a call that the safe list knows: what is left are the files it
// reads, the program it starts, and for git what the repository makes it run.
func (j *judging) safe(c *analysis.Call, state *callState, use *safelist.Use, f *finding) {
	f.decision, f.risk = Auto, RiskLow
	f.rule, f.why = "safe list: "+use.Entry.Name, "it only reads"
	if use.Entry.Typed && j.cmd.TTY {
		f.stop(RiskNormal, "at a terminal, "+use.Entry.Name+" runs what is typed into it")
		return
	}
	dirs := j.dirsOf(c, use)
	if len(use.Paths) > maxPaths || len(j.seen) > 2*maxPaths {
		f.stop(RiskNormal, fmt.Sprintf("more than %d paths, which are not judged one by one", maxPaths))
		return
	}
	if use.Dir != "" {
		j.readPath(state, c.Dirs, safelist.PathArg{Text: use.Dir}, f)
	}
	for _, p := range use.Paths {
		j.readPath(state, dirs, p, f)
	}
	if strings.HasPrefix(use.Entry.Name, "git ") {
		j.git(c, dirs, use, f)
	}
	j.program(c, state, f)
	if f.decision == Auto && (use.Sandboxed || use.Follows && j.directories(dirs, use)) {
		j.verdict.Sandboxed = true
	}
	if f.decision == Auto {
		j.entryEnvironment(use.Entry)
	}
}

// directories says whether there is a directory among the paths that a call reads.
func (j *judging) directories(dirs analysis.Dirs, use *safelist.Use) bool {
	for _, p := range use.Paths {
		paths, _ := dirs.Resolve(p.Text)
		if slices.ContainsFunc(paths, func(abs string) bool { return j.facts.Paths[abs].Dir }) {
			return true
		}
	}
	return false
}

// dirsOf are the directories that a call's relative paths are meant from.
func (j *judging) dirsOf(c *analysis.Call, use *safelist.Use) analysis.Dirs {
	if use.Dir == "" {
		return c.Dirs
	}
	paths, ok := c.Dirs.Resolve(use.Dir)
	return analysis.Dirs{Paths: paths, Unknown: !ok}
}

func (j *judging) entryEnvironment(e *safelist.Entry) {
	for k, v := range e.Env {
		j.setEnv(k, v)
	}
	for _, k := range e.Unset {
		j.unset(k)
	}
}

func (j *judging) setEnv(name, value string) {
	if j.verdict.Env == nil {
		j.verdict.Env = map[string]string{}
	}
	j.verdict.Env[name] = value
}

func (j *judging) unset(name string) {
	for _, have := range j.verdict.Unset {
		if have == name {
			return
		}
	}
	j.verdict.Unset = append(j.verdict.Unset, name)
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
		dirs = j.tops(dirs)
	}
	paths, ok := dirs.Resolve(p.Text)
	if !ok {
		f.stop(RiskNormal, "the directory that "+p.Text+" is meant from is not known")
	}
	for _, abs := range paths {
		at := j.at(abs, p.Glob)
		at.dir = !p.Glob && j.facts.Paths[abs].Dir
		state.paths = append(state.paths, at)
		j.readable(at, f)
		if p.Glob {
			j.globFact(state, abs, f)
		} else {
			j.pathFact(state, abs, f)
		}
	}
}

// readable makes a finding ask where a place must not be read unasked.
func (j *judging) readable(at place, f *finding) {
	switch {
	case at.hidden != "":
		j.verdict.Hidden = true
		j.verdict.Outside = j.verdict.Outside || !at.inside
		j.blocks(blockGuarded, at.path)
		f.stop(RiskHigh, j.cmd.show(at.path)+" holds secrets ("+at.hidden+"), whatever the command")
	case at.sensitive != "":
		j.verdict.Outside = j.verdict.Outside || !at.inside
		j.blocks(blockGuarded, at.path)
		f.stop(RiskHigh, j.cmd.show(at.path)+" usually holds credentials ("+at.sensitive+")")
	case !at.readable:
		j.verdict.Outside = true
		j.blocks(blockOutside, at.path)
		f.stop(RiskNormal, j.cmd.show(at.path)+" is outside the project")
	}
}

// pathFact judges where a path leads. What asks already is looked at as well: a
// grant for reading under a directory is none for what links there lead to.
func (j *judging) pathFact(state *callState, abs string, f *finding) {
	fact, ok := j.facts.Paths[abs]
	switch {
	case !ok:
		j.need(FactPath, abs)
	case fact.Err != "":
		j.doubtful(f, "where "+j.cmd.show(abs)+" leads could not be found out: "+fact.Err)
	case fact.Special && fact.Real != "/dev/null":
		j.doubtful(f, j.cmd.show(abs)+" is a device, pipe or socket")
	default:
		j.realPath(state, abs, fact.Real, f)
	}
}

// doubtful makes a finding ask that does not yet.
func (j *judging) doubtful(f *finding, why string) {
	if f.decision == Auto {
		f.stop(RiskNormal, why)
	}
}

// realPath judges where a path really leads.
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
	j.readable(at, f)
	f.why = j.cmd.show(abs) + " is a link: " + f.why
}

func (j *judging) globFact(state *callState, abs string, f *finding) {
	fact, ok := j.facts.Globs[abs]
	switch {
	case !ok:
		j.need(FactGlob, abs)
	case fact.Err != "":
		j.doubtful(f, "what "+j.cmd.show(abs)+" matches could not be found out: "+fact.Err)
	case fact.Cut:
		j.doubtful(f, j.cmd.show(abs)+" matches more files than are looked at")
	}
	for _, real := range fact.Real {
		at := j.at(real, false)
		state.paths = append(state.paths, at)
		if f.decision == Auto {
			j.readable(at, f)
		}
	}
}

// program judges the file that a command's name means.
func (j *judging) program(c *analysis.Call, state *callState, f *finding) {
	if f.decision != Auto || state.builtin {
		return
	}
	name := c.Name()
	if strings.Contains(name, "/") {
		if !state.preset && !strings.HasPrefix(f.rule, "rule ") && !strings.HasPrefix(f.rule, "permission ") {
			f.stop(RiskNormal, "it is named by a path, not by its name")
		}
		return
	}
	j.binary(name, f)
}

// binary judges what a name means on the search path.
func (j *judging) binary(name string, f *finding) {
	fact, ok := j.facts.Binaries[name]
	switch {
	case !ok:
		j.need(FactBinary, name)
	case fact.Path != "" && fact.Writable:
		f.stop(RiskNormal, name+" means "+fact.Path+", which is not a program of the system")
	case fact.Path != "" && within(fact.Real, j.cmd.project()) && j.cmd.project() != "":
		f.stop(RiskNormal, name+" means "+fact.Path+", a file of the project")
	}
}
