package shell

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sandboxd/shell/safelist"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

func pathArg(text string) safelist.PathArg { return safelist.PathArg{Text: text} }

// decide combines all findings into one verdict.
func (j *judging) decide() {
	v := &j.verdict
	slices.SortStableFunc(j.findings, func(a, b finding) int { return cmp.Compare(a.offset, b.offset) })
	for q := range j.needs {
		v.NeedsFacts = append(v.NeedsFacts, q)
	}
	slices.SortFunc(v.NeedsFacts, func(a, b FactQuery) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	v.Decision = Auto
	worst := -1
	for i, f := range j.findings {
		if f.decision == Auto {
			continue
		}
		if worst < 0 || heavier(f, j.findings[worst]) {
			worst = i
		}
	}
	if worst >= 0 {
		v.Decision = j.findings[worst].decision
		v.Why, v.Rule = j.findings[worst].why, j.findings[worst].rule
	}
	if v.Decision == Auto && len(v.NeedsFacts) > 0 {
		v.Decision, v.Rule = Ask, "facts"
		v.Why = "it depends on things that have not been looked at yet"
	}
	if v.Decision == Auto {
		if j.readersEnvironment(); !j.execution() {
			v.Decision, v.Rule = Ask, "not literal"
			v.Why = "it cannot be written in words that are all known before it runs"
			v.Run = Execution{}
		}
	}
	if v.Decision == Auto && (v.Sandboxed || j.guarded) && j.cmd.CallerRuns {
		v.Decision, v.Rule = Ask, "outside the sandbox"
		v.Why = "it is harmless only inside the sandbox, and the caller runs it outside"
	}
	v.Network = j.network()
	v.Services = slices.ContainsFunc(j.script.Calls, changesServices)
	v.Objects = j.objects()
	confined := j.contained()
	v.InLayer = confined && len(j.credential) == 0
	if confined && !v.Services && !slices.ContainsFunc(j.script.Calls, namesURL) {
		v.Credentials = slices.Sorted(slices.Values(j.credential))
	}
	v.Contained = v.InLayer && !j.landed && j.blocking < blockProtected
	v.Worktrees = j.worktrees()
	j.paths()
	j.parts()
	j.risk()
	j.reasons(worst)
	switch v.Decision {
	case Auto:
		v.Why, v.Rule = j.autoWhy()
	default:
		v.Env, v.Unset, v.Sandboxed = nil, nil, false
	}
	j.describe()
	j.payload()
	if v.Decision == Ask {
		j.suggest()
	}
}

func rank(d Decision) int {
	switch d {
	case Block:
		return 2
	case Ask:
		return 1
	}
	return 0
}

func heavier(a, b finding) bool {
	if r := cmp.Compare(rank(a.decision), rank(b.decision)); r != 0 {
		return r > 0
	}
	return a.risk > b.risk
}

// network returns the widest network of the rules that match, of all parts.
func (j *judging) network() string {
	order := []string{"none", "loopback", "allowlist", "full"}
	if len(j.networks) == 0 {
		return orElse(j.tool.config.Network, "none")
	}
	networks := j.networks
	if len(j.networks) < len(j.script.Calls) {
		networks = append(networks, orElse(j.tool.config.Network, "none"))
	}
	best := 0
	for _, n := range networks {
		best = max(best, slices.Index(order, n))
	}
	return order[best]
}

func (j *judging) paths() {
	for _, p := range j.seen {
		j.verdict.Paths = append(j.verdict.Paths, p.path)
	}
	slices.Sort(j.verdict.Paths)
	j.verdict.Paths = slices.Compact(j.verdict.Paths)
}

// duplicate reports whether f repeats an earlier finding about the same text. The body of an
// unrolled loop is judged several times.
func duplicate(before []finding, f finding) bool {
	for i := len(before) - 1; i >= 0 && before[i].offset == f.offset; i-- {
		if before[i] == f {
			return true
		}
	}
	return false
}

// parts lists the findings of the line in order, with their positions.
func (j *judging) parts() {
	line, start, at := 1, 0, 0 // the findings are sorted by offset
	for i, f := range j.findings {
		if duplicate(j.findings[:i], f) {
			continue
		}
		for ; at < min(f.offset, len(j.script.Text)); at++ {
			if j.script.Text[at] == '\n' {
				line, start = line+1, at+1
			}
		}
		col := f.offset - start + 1
		j.verdict.Parts = append(
			j.verdict.Parts,
			Part{Text: f.text, Offset: f.offset, Line: line, Col: col, Decision: f.decision, By: f.by, Why: f.why,
				Rule: f.rule},
		)
	}
}

func (j *judging) risk() {
	v := &j.verdict
	v.Risk = RiskLow
	if v.Decision == Auto {
		return
	}
	for _, f := range j.findings {
		if f.decision != Auto {
			v.Risk = max(v.Risk, f.risk)
		}
	}
	if v.Danger || v.Protected || v.Hidden {
		v.Risk = RiskHigh
	}
	if v.Delete || v.Outside || len(v.NeedsFacts) > 0 {
		v.Risk = max(v.Risk, RiskNormal)
	}
}

// reasons lists the distinct reasons to ask, worst first.
func (j *judging) reasons(worst int) {
	type reason struct {
		text string
		risk Risk
		rank int
	}
	var list []reason
	seen := map[string]bool{}
	for i, f := range j.findings {
		if f.decision == Auto || seen[f.why] {
			continue
		}
		seen[f.why] = true
		r := reason{f.why, f.risk, rank(f.decision)}
		if i == worst {
			r.rank = 3
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b reason) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.risk, a.risk))
	})
	for _, r := range list {
		longer := func(o reason) bool { return strings.HasPrefix(o.text, r.text+" ") } // says the same and more
		if !slices.ContainsFunc(list, longer) {
			j.verdict.Reasons = append(j.verdict.Reasons, r.text)
		}
	}
	if j.verdict.Decision == Ask && len(j.verdict.Reasons) == 0 {
		j.verdict.Reasons = []string{j.verdict.Why}
	}
}

func (j *judging) autoWhy() (why, rule string) {
	var rules []string
	for _, f := range j.findings {
		if f.rule == "" || f.rule == "wrapper" || f.rule == "redirection" || slices.Contains(rules, f.rule) {
			continue
		}
		rules = append(rules, f.rule)
		why = orElse(why, f.why)
	}
	if len(rules) > 1 {
		why = "every command of it may run unasked"
	}
	return orElse(why, "it only reads"), strings.Join(rules, "; ")
}
