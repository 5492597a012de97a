package shell

import (
	"slices"
	"strings"

	"sandboxd/pattern"
	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
	"sandboxd/shell/danger"
	"sandboxd/shell/safelist"
)

// maxTails bounds the commands that are looked for among the words of one call. A call with more of them asks.
const maxTails = 500

// candidates judges the commands that a call may start though the analysis does not know its program: at each of its
// words one may begin, and a word with blanks may be a script. One that is denied, asked about or dangerous makes the
// line ask; that the call starts it is a guess, so that nothing is denied for it.
func (j *judging) candidates(c *analysis.Call, state *callState, f *finding) {
	if len(c.Args) == 0 || len(c.Wrapped) > 0 || c.Binds || state.reads || f.decision == Block {
		return
	}
	_, refusal := safelist.Match(c.Args)
	name := base(c.Name())
	text := name == "git" || refusal != nil && refusal.Known || carried.Plain(name) // their words are files and texts
	listed := carried.Listed(name)
	limits, starts := j.tool.restricts(), !text && (!listed || startsOthers[name])
	if !limits && !starts {
		return
	}
	var tails []*analysis.Call
	if !text {
		tails = j.tails(c, listed)
	}
	scripts, behind := j.scripts(c, text)
	if limits && len(tails) == maxTails {
		j.add(finding{decision: Ask, by: ByLimit,
			why:  "it has more words than are looked through for commands that are denied",
			rule: "too long", offset: c.Offset, end: c.End, text: f.text})
	}
	if limits {
		for _, in := range slices.Concat(tails, scripts, behind) {
			j.limited(in, f)
		}
	}
	if !starts {
		return
	}
	for _, in := range slices.Concat(tails, scripts) {
		if credible(in) {
			state.sends = state.sends || sendsAway(base(in.Name()), in.Args)
			for _, d := range danger.Call(in) {
				j.verdict.Danger, j.beyond = true, true
				j.add(finding{decision: Ask, why: d.Why, rule: "dangerous: " + d.Name, risk: RiskHigh, offset: c.Offset,
					end: c.End, text: f.text})
			}
		}
	}
}

// startsOthers are the programs of tools.txt that start commands of a person's, in a word with blanks.
var startsOthers = map[string]bool{"npm": true, "pnpm": true, "yarn": true, "npx": true, "bunx": true, "cargo": true}

// everydayWords are programs whose names are common operands and sub-commands of others: they say nothing there.
var everydayWords = strings.Fields(`at batch mail mount umount service np sg snap apk init format kill passwd install
	halt find adduser test`)

// credible reports whether words are likely to be a command where they may also be operands: a program of a name that
// is no everyday word, with words of its own.
func credible(c *analysis.Call) bool {
	return len(c.Args) > 1 && !slices.Contains(everydayWords, base(c.Name()))
}

// tails returns the commands that begin at a word of a call. The second word of a program that is listed is its own.
func (j *judging) tails(c *analysis.Call, listed bool) (out []*analysis.Call) {
	from := 1
	if listed {
		from = 2
	}
	for at := from; at < len(c.Args) && len(out) < maxTails; at++ {
		w := c.Args[at]
		if w.Known() && w.Text != "" && !strings.HasPrefix(w.Text, "-") && !strings.ContainsAny(w.Text, " \t\n") {
			out = append(out, &analysis.Call{Args: c.Args[at:], Dirs: c.Dirs, Offset: c.Offset, End: c.End})
		}
	}
	return out
}

// scripts returns the commands of the words of a call that may be scripts: those with blanks, and with text those
// alone that options for code or programs bring along. behind are those that these may start: a text may well have
// their words, so they count for what is denied alone.
func (j *judging) scripts(c *analysis.Call, text bool) (out, behind []*analysis.Call) {
	words := c.Args
	if text {
		words = nil
		argv, _ := c.Argv()
		for _, w := range carried.Find(argv, carried.Reviewed, func(int) bool { return false }) {
			words = append(words, c.Args[w.At:min(w.At+2, len(c.Args))]...)
		}
	}
	place := analysis.Place{Home: j.cmd.Home}
	if !c.Dirs.Unknown && len(c.Dirs.Paths) == 1 {
		place.Cwd = c.Dirs.Paths[0]
	}
	for _, w := range words {
		line := w.Text
		if _, value, joined := strings.Cut(line, "="); joined && strings.HasPrefix(line, "-") {
			line = value
		}
		if !w.Known() || !strings.ContainsAny(line, " \t\n;") || len(out)+len(behind) > maxTails {
			continue
		}
		for _, in := range analysis.Line(line, place).Calls {
			in.Offset, in.End = c.Offset, c.End
			if out = append(out, in); len(in.Wrapped) == 0 && len(in.Args) > 0 && !carried.Plain(base(in.Name())) {
				behind = append(behind, j.tails(in, carried.Listed(base(in.Name())))...)
			}
		}
	}
	return out, behind
}

// limited asks about a command that a call may start, where a permission or a rule asks or denies.
func (j *judging) limited(in *analysis.Call, f *finding) {
	ask := func(name, text string) {
		j.add(finding{decision: Ask, by: ByLimit, why: "it may start what " + text + " is about", rule: name, risk: RiskHigh,
			offset: in.Offset, end: in.End, text: f.text})
	}
	for _, p := range slices.Concat(j.tool.deny, j.tool.ask) {
		if !p.Any && p.names(j.cmd, in) != pattern.No {
			ask(p.name, p.String())
			return
		}
	}
	for _, r := range j.tool.rules {
		if !r.permissive() && names(r.words, in.Args) != pattern.No {
			ask(r.name, r.Pattern)
			return
		}
	}
}
