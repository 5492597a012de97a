package shell

import (
	"fmt"
	"slices"

	"sandboxd/shell/analysis"
	"sandboxd/shell/danger"
)

// judgeBriefly checks one call of a line with too many calls, for denials and dangers only.
func (j *judging) judgeBriefly(c *analysis.Call) {
	state := &callState{}
	j.calls[c] = state
	f := finding{decision: Ask, offset: c.Offset, end: c.End}
	if len(c.Args) == 0 {
		return
	}
	if len(j.tool.deny)+len(j.tool.ask) > 0 && j.forbidden(c, &f) || len(j.tool.rules) > 0 && j.firstRule(c, &f) {
		if state.decision = f.decision; f.decision != Auto {
			f.text = j.source(c.Offset, c.End)
			j.add(f)
		}
	}
	if !j.verdict.Danger {
		j.dangers(c, &f)
	}
	state.decision = Ask
}

// dangers adds the dangers of a call. An operator's rule that spells the command out word for
// word overrides them.
func (j *judging) dangers(c *analysis.Call, f *finding) {
	if danger.Deletes(c) {
		j.verdict.Delete = true
		j.landed = j.landed || slices.ContainsFunc(c.Args[1:], func(w analysis.Word) bool {
			return w.Kind == analysis.Glob && !j.fewMatches(c, w)
		})
	}
	if f.decision != Auto && danger.CodeFromInput(c) && !inputInLine(c) {
		j.verdict.Unseen = true
		j.add(finding{
			decision: Ask,
			why:      "what it runs comes from its input, which is not shown here",
			rule:     "code from its input",
			offset:   c.Offset,
			end:      c.End,
			text:     f.text,
		})
	}
	found := danger.Call(c)
	if len(found) == 0 || f.decision == Block {
		if len(found) > 0 {
			j.verdict.Danger = true
		}
		return
	}
	if f.decision == Auto && j.spelledOut(c) {
		return
	}
	j.verdict.Danger = true
	for _, d := range found {
		if !j.containedDanger(c, d.Name) {
			landed := j.landedDanger(c, d.Name)
			j.landed, j.beyond = j.landed || landed, j.beyond || !landed
		}
		j.add(finding{
			decision: Ask,
			why:      d.Why,
			rule:     "dangerous: " + d.Name,
			risk:     RiskHigh,
			offset:   c.Offset,
			end:      c.End,
			text:     f.text,
		})
	}
	if f.decision == Auto {
		f.decision = Ask
	}
}

// inputInLine reports whether the input of a call is a literal here-document or here-string of
// the line.
func inputInLine(c *analysis.Call) bool {
	return len(c.Redirs) > 0 && c.Redirs[len(c.Redirs)-1].Kind == analysis.RedirText &&
		c.Redirs[len(c.Redirs)-1].Target.Kind == analysis.Literal
}

// spelledOut reports whether an operator's rule or permission names a dangerous command word
// for word.
func (j *judging) spelledOut(c *analysis.Call) bool {
	for _, r := range j.tool.rules {
		if r.Operator && r.permissive() && r.words.Spells(analysis.Plain(c.Args)) {
			return true
		}
	}
	for _, p := range j.tool.allow {
		if p.Operator && !p.Any && p.line == "" && p.allowsHere(c) && p.words.Spells(analysis.Plain(c.Args)) {
			return true
		}
	}
	return false
}

// wholeLine checks the dangers that no single command shows.
func (j *judging) wholeLine() {
	if j.script.Cut {
		j.verdict.Danger = true // the rest is unknown
	}
	if j.tooMany {
		j.add(finding{
			decision: Ask,
			why:      fmt.Sprintf("more than %d commands, which are not judged one by one", maxCalls),
			rule:     "too long",
			end:      len(j.script.Text),
			text:     oneLine(j.script.Text),
		})
	}
	for _, d := range danger.Line(j.script) {
		j.verdict.Danger, j.beyond = true, true
		j.add(finding{
			decision: Ask,
			why:      d.Why,
			rule:     "dangerous: " + d.Name,
			risk:     RiskHigh,
			end:      len(j.script.Text),
			text:     j.source(0, len(j.script.Text)),
		})
	}
}
