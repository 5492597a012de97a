package shell

import (
	"slices"
	"strings"

	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
)

// payload builds the identity of the request (R-AP-05):
//
//	line, argv   the command as requested
//	cwd, env     directory and variables
//	asks         the words of every command that asks, if all are known
//	reads        their names, if each only reads and asks for its path alone
//	paths        the absolute paths that those read
//	elsewhere    the caller runs it, outside the sandbox; no grant for inside covers it
//	files        hashes of the project files that are executed
//	credentials  of a command that is contained but for these files ([LetRead]), as its caller adds it
//	plain        the line has only those commands: no redirection, no doubt
//
// Grants by pattern match asks, reads and paths. A request with any other element lacks
// "plain", so no pattern covers it.
func (j *judging) payload() {
	p := map[string]any{"cwd": j.cmd.Cwd}
	if j.cmd.Line != "" {
		p["line"] = j.cmd.Line
	} else {
		p["argv"] = append([]string{}, j.cmd.Argv...)
	}
	if len(j.cmd.Env) > 0 {
		env := make(map[string]any, len(j.cmd.Env))
		for k, v := range j.cmd.Env {
			env[k] = v
		}
		p["env"] = env
	}
	if j.cmd.TTY {
		p["tty"] = true
	}
	if j.cmd.CallerRuns {
		p["elsewhere"] = true
	}
	if files := j.executedFiles(); len(files) > 0 {
		p["files"] = files
	}
	if asks, reads, plain := j.asking(); plain && len(asks) > 0 {
		list := make([]any, len(asks))
		for i, a := range asks {
			list[i] = a
		}
		p["asks"], p["plain"] = list, true
		if len(reads) > 0 && len(j.seen) > 0 {
			paths := []string{}
			for _, at := range j.askedPaths() {
				paths = append(paths, at.path)
			}
			p["reads"], p["paths"] = reads, paths
		}
	}
	j.verdict.Payload = p
}

// asking returns the words of the commands that ask. plain is false if anything but a literal
// simple command asks.
func (j *judging) asking() (asks [][]string, reads []string, plain bool) {
	if j.tooMany || len(j.cmd.Env) > 0 || j.verdict.Danger || j.verdict.Protected || j.verdict.Hidden ||
		len(j.script.Doubts) > 0 ||
		j.script.Unrolled {
		return nil, nil, false
	}
	for _, r := range j.script.Redirs {
		if r.Kind == analysis.RedirWrite || r.Kind == analysis.RedirSocket ||
			r.Kind == analysis.RedirText && r.Target.Kind != analysis.Literal ||
			r.Kind == analysis.RedirRead {
			return nil, nil, false
		}
	}
	onlyReads := true
	for _, c := range j.script.Calls {
		state := j.calls[c]
		if state.decision == Auto {
			continue
		}
		if state.named || !c.Literal() || len(c.Args) == 0 ||
			len(c.Assigns) > 0 || len(c.Wrapped) > 0 || len(c.Via) > 0 && !state.reads {
			return nil, nil, false
		}
		argv, _ := c.Argv()
		if carried.Carries(argv, carried.Granted) {
			return nil, nil, false
		}
		asks = append(asks, argv)
		onlyReads = onlyReads && state.reads
		if state.reads && !slices.Contains(reads, state.use.Entry.Name) {
			reads = append(reads, state.use.Entry.Name)
		}
	}
	if !onlyReads {
		reads = nil
	}
	return asks, reads, true
}

// askedPaths returns the paths of the commands that ask. For a command on the safe list these
// are the paths that it reads; an argument that only resembles a path is omitted.
func (j *judging) askedPaths() []place {
	var out []place
	for _, c := range j.script.Calls {
		state := j.calls[c]
		if state.decision == Auto {
			continue
		}
		named := state.paths
		if state.reads {
			named = named[state.guessedPaths:]
		}
		for _, p := range named {
			if i := slices.IndexFunc(out, func(q place) bool { return q.path == p.path }); i < 0 {
				out = append(out, p)
			} else {
				out[i].dir = out[i].dir || p.dir
			}
		}
	}
	slices.SortFunc(out, func(a, b place) int { return strings.Compare(a.path, b.path) })
	return out
}
