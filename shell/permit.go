package shell

import (
	"path"
	"strings"

	"sandboxd/pattern"
	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// forbidden reports whether a permission denies a call, or asks for it.
func (j *judging) forbidden(c *analysis.Call, f *finding) bool {
	for _, p := range j.tool.deny {
		switch p.names(j.cmd, c) {
		case pattern.Yes:
			f.decision, f.by, f.why, f.rule, f.risk = Block, ByLimit, "it is denied by "+p.String(), p.name, RiskHigh
			return true
		case pattern.Maybe:
			j.add(finding{
				decision: Ask,
				by:       ByLimit,
				why:      "it may be what " + p.String() + " denies: a word is not known before, or may be an option's value",
				rule:     p.name,
				offset:   c.Offset,
				end:      c.End,
				text:     f.text,
				risk:     RiskHigh,
			})
		}
	}
	for _, p := range j.tool.ask {
		if p.names(j.cmd, c) != pattern.No {
			f.decision, f.by, f.why, f.rule = Ask, ByLimit, "a permission says to ask for "+p.String(), p.name
			j.verdict.Configured = true
			return true
		}
	}
	return false
}

// firstRule finds the rule that decides a call. If that rule allows, f is Auto and the caller
// checks further.
func (j *judging) firstRule(c *analysis.Call, f *finding) bool {
	for _, r := range j.tool.rules {
		if r.permissive() {
			if !r.words.Permits(analysis.Plain(c.Args)) {
				continue
			}
			operands, joined := j.inSandboxes(c, &r), j.joinedInSandboxes(c, r.Paths)
			if !operands || !joined || !j.covers(c, r.words, r.name, r.Paths, false) {
				continue
			}
		} else {
			answer := names(r.words, c.Args)
			if answer == pattern.Maybe {
				j.add(finding{decision: Ask, by: ByLimit,
					why:  "it may be what " + r.Pattern + " is about: a word is not known before, or may be an option's value",
					rule: r.name, offset: c.Offset, end: c.End, text: f.text})
				continue
			}
			if answer == pattern.No || !j.inSandboxes(c, &r) {
				continue
			}
		}
		if r.Network != "" {
			j.networks = append(j.networks, r.Network)
		}
		f.by, f.rule = ByLimit, r.name
		switch {
		case !r.allowed:
			f.decision, f.why, f.risk = Block, orElse(r.Description, "a rule forbids "+r.Pattern), RiskHigh
		case r.asks:
			f.decision, f.why = Ask, orElse(r.Description, "a rule says to ask for "+r.Pattern)
			j.verdict.Configured = true
			if st := j.calls[c]; st != nil {
				st.description = r.Description
			}
		default:
			f.decision, f.by, f.why = Auto, ByAllow, orElse(r.Description, "a rule allows "+r.Pattern)
		}
		return true
	}
	return false
}

// permitted judges a call that a rule, permission or preset allows. It asks unless the words
// are literal and none of the paths is hidden.
func (j *judging) permitted(c *analysis.Call, state *callState, f *finding) {
	f.decision = Auto
	if !c.Literal() && !(state.preset && globsOnly(c)) {
		f.decision, f.why = Ask, f.rule+" allows it, but not all of its words are known before it runs"
		return
	}
	for _, p := range append(j.hiddenOperands(c), state.paths...) {
		if p.hidden != "" {
			f.decision, f.risk = Ask, RiskHigh
			f.why = j.cmd.show(p.path) + " is hidden (" + p.hidden + "), whatever the command"
			j.verdict.Hidden = true
			j.noteBlockedPath(blockGuarded, p.path)
			return
		}
	}
	j.program(c, state, f)
}

// hiddenOperands returns the hidden files among the words of a call and the values after their
// "=", resolved in the call's directories. It includes words that do not look like paths.
func (j *judging) hiddenOperands(c *analysis.Call) []place {
	var out []place
	for _, a := range c.Args[1:] {
		_, value, _ := strings.Cut(a.Text, "=")
		for _, name := range []string{a.Text, value} {
			if name == "" || len(name) > 4096 || strings.Contains(name, "\n") {
				continue
			}
			paths, _ := c.Dirs.Resolve(name)
			for _, abs := range paths {
				if p := j.tool.places.at(abs, a.Kind == analysis.Glob, j.cmd); p.hidden != "" {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

func globsOnly(c *analysis.Call) bool {
	for i, a := range c.Args {
		if a.Kind != analysis.Literal && (a.Kind != analysis.Glob || i == 0) {
			return false
		}
	}
	return true
}

// permittedByList reports whether a permission, a preset or the list of safe commands names a
// call. If so, it judges the call.
func (j *judging) permittedByList(c *analysis.Call, state *callState, refusal *safelist.Refusal, f *finding) bool {
	for _, p := range j.tool.allow {
		if p.permits(j.cmd, c) && j.permissionCovers(p, c) {
			f.by, f.rule, f.why = ByAllow, p.name, "it is allowed by "+p.String()
			j.permitted(c, state, f)
			return true
		}
	}
	for _, p := range j.tool.presets {
		if r, ok := p.Match(c.Args); ok {
			f.by, f.rule, f.why = ByPreset, "preset "+p.Name+": "+r.Pattern, r.Why+"; harmless inside the sandbox"
			state.preset = true
			j.verdict.Writes = j.verdict.Writes || p.Writes
			j.presetCall(c, state, f)
			if r.Edits && f.decision == Auto {
				j.editsOrdinary(c, f)
			}
			return true
		}
	}
	if refusal == nil || refusal.Known {
		return false // the safe-list entry has decided
	}
	for _, w := range j.tool.safe {
		if w.Permits(analysis.Plain(c.Args)) && j.covers(c, w, "safe_commands: "+w.String(), nil, false) {
			f.by, f.rule, f.why = ByListed, "safe_commands: "+w.String(), "it is listed as safe"
			j.permitted(c, state, f)
			return true
		}
	}
	return false
}

// permissionCovers applies covers to a permission. A permission with a cwd condition applies to
// that directory; one without words applies to every command.
func (j *judging) permissionCovers(p permission, c *analysis.Call) bool {
	_, cwdGiven := p.When["cwd"]
	_, commandGiven := p.When["command"]
	switch {
	case p.line != "":
		return cwdGiven || path.Clean(j.cmd.Cwd) == path.Clean(j.cmd.project())
	case p.Any && !commandGiven:
		return true
	case p.Any:
		return j.covers(c, p.command, p.name, nil, cwdGiven)
	}
	return j.covers(c, p.words, p.name, nil, cwdGiven)
}

// presetCall applies permitted and asks for paths outside the project.
func (j *judging) presetCall(c *analysis.Call, state *callState, f *finding) {
	j.permitted(c, state, f)
	if f.decision != Auto {
		return
	}
	for _, p := range state.paths {
		if !p.readable && !privateTemporary(p.path, j.cmd.project()) && p.path != "/dev/null" {
			f.decision, f.why = Ask, "it names "+j.cmd.show(p.path)+", outside the project"
			return
		}
	}
	if p := j.writesProtected(c); p != "" {
		f.decision, f.why = Ask, j.cmd.show(p)+" is not an ordinary file of the project"
		return
	}
	j.verdict.Sandboxed = true
	for _, w := range c.Wrapped { // npx eslint is allowed as a whole
		if j.presetCovers == nil {
			j.presetCovers = map[*analysis.Call]bool{}
		}
		j.presetCovers[w] = true
	}
}

// unlisted applies the default.
func (j *judging) unlisted(c *analysis.Call, state *callState, refusal *safelist.Refusal, f *finding) {
	t := j.tool
	f.by = ByDefault
	switch {
	case !t.defAllowed:
		f.decision, f.why, f.rule = Block, "commands that no rule allows are refused here", "default"
	case !t.defAsks:
		f.rule, f.why = "default", "commands that no rule names are allowed here"
		j.permitted(c, state, f)
	default:
		f.decision, f.rule = Ask, "default"
		f.why = "no rule permits it"
		switch {
		case state.uncoveredWhy != "":
			f.why = state.uncoveredWhy
		case !t.autoSafe && state.use != nil:
			f.why, f.risk = "the safe list is switched off", RiskLow
		case knownReason(c) != "" && (refusal == nil || !strings.Contains(refusal.Why, "the option")):
			f.why = knownReason(c)
		case refusal != nil && refusal.Known:
			f.why, f.rule = refusal.Why, "safe list: "+refusal.Name
		case refusal != nil && refusal.Name != "":
			f.why = refusal.Name + " is not on the safe list, and no rule permits it"
		case refusal != nil:
			f.why, f.rule = refusal.Why, "not understood"
			f.risk = RiskHigh
		}
	}
}
