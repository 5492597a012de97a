package files

import (
	"fmt"
	"path"
	"strings"

	"sandboxd/approval"
)

// Judge decides a request by the table of operations, the sandboxes and the
// lists. It is pure: all it knows of the world is in the facts.
//
//	read, list, stat, grep          run
//	create, edit, append, insert    ask; run for a safe path
//	overwrite                       asks
//	delete, rmdir                   ask twice
//	move                            as a delete of its source and a create or overwrite of its destination
//	copy                            as a read of its source and a create or overwrite of its destination
//	mkdir                           runs; asks twice for a protected name
func (r *Rules) Judge(req Request, facts Facts) Verdict {
	parts := r.parts(req, facts)
	v := r.judgePart(parts[0])
	for _, p := range parts[1:] {
		v = v.and(r.judgePart(p))
	}
	target := facts.target(req)
	v.Tool = req.toolName(target.Kind != Absent)
	v.Path = facts.Path.Real
	if facts.To != nil {
		v.To = facts.To.Real
	}
	root, rel, _ := r.Locate(target.Real)
	v.Sandbox = root.Name
	v.Risk = approval.RiskNormal
	if v.Protected || v.Delete || v.Outside {
		v.Risk = approval.RiskHigh
	}
	v.Description = describe(req, facts)
	if root.Name != "" && root.Name != projectRoot {
		v.Description += fmt.Sprintf(" (%s:%s)", root.Name, rel)
	}
	v.Payload = payload(req, v)
	v.Suggestions = r.suggestions(req, v)
	return v
}

// target returns the fact that decides between creating and overwriting.
func (f Facts) target(req Request) Fact {
	if req.Op.hasTo() && f.To != nil {
		return *f.To
	}
	return f.Path
}

// effect is an elementary thing that happens to one path.
type effect uint8

const (
	reads effect = iota
	creates
	edits
	overwrites
	deletes
	makesDir
)

// part is one effect of a request.
type part struct {
	what effect
	op   Op // as the request names it
	fact Fact
}

// parts takes a request apart.
func (r *Rules) parts(req Request, f Facts) []part {
	dest := func(fact Fact) part {
		if fact.Kind == Absent {
			return part{creates, req.Op, fact}
		}
		return part{overwrites, req.Op, fact}
	}
	switch req.Op {
	case Read, List, Stat, Grep:
		return []part{{reads, req.Op, f.Path}}
	case Create:
		return []part{{creates, req.Op, f.Path}}
	case Write:
		return []part{dest(f.Path)}
	case Edit, MultiEdit, Append, Insert:
		return []part{{edits, req.Op, f.Path}}
	case Mkdir:
		return []part{{makesDir, req.Op, f.Path}}
	case Copy, Move:
		to := Fact{}
		if f.To != nil {
			to = *f.To
		}
		if req.Op == Copy {
			return []part{{reads, req.Op, f.Path}, dest(to)}
		}
		return []part{{deletes, req.Op, f.Path}, dest(to)}
	}
	return []part{{deletes, req.Op, f.Path}}
}

// judgePart decides one part. Everything but the decision and its reasons is
// Judge's.
func (r *Rules) judgePart(p part) Verdict {
	if v, blocked := r.blocked(p); blocked {
		return v
	}
	root, rel, _ := r.Locate(p.fact.Real)
	v := Verdict{Outside: !below(r.project, p.fact.Real)}
	if root.ReadApproval != nil && *root.ReadApproval {
		v.Quiet = true
	}
	if p.what == reads {
		return r.reading(v, root)
	}
	if pattern, ok := r.isProtected(p.fact); ok {
		v.Protected, v.Delete = true, p.what == deletes
		return v.because(Ask, "files.protected "+quote(pattern),
			"%s is protected: other programs execute or trust it, or it holds secrets", p.fact.Real)
	}
	if len(p.fact.Holds) > 0 {
		v.Protected, v.Delete = true, p.what == deletes
		return v.because(Ask, "files.protected", "%s holds what is protected or may not be touched: %s", p.fact.Real,
			strings.Join(p.fact.Holds, ", "))
	}
	return r.changing(v, p, root, rel)
}

// reading decides a part that leaves its path as it is.
func (r *Rules) reading(v Verdict, root Root) Verdict {
	if v.Quiet {
		v.Configured = true
		return v.because(Ask, "files.paths."+root.Name+".read_approval", "reading in %q asks", root.Name)
	}
	v.Safe = true
	return v.because(Auto, "files.paths."+root.Name, "reading in %q runs", root.Name)
}

// changing decides a change of a path that is neither blocked nor protected.
func (r *Rules) changing(v Verdict, p part, root Root, rel string) Verdict {
	asks, set := false, root.WriteApproval != nil
	if set {
		asks = *root.WriteApproval
	}
	setting := "files.paths." + root.Name + ".write_approval"
	switch {
	case p.what == deletes:
		v.Delete = true
		return v.because(Ask, "files", "removing asks twice")
	case set && asks:
		v.Configured = true
		return v.because(Ask, setting, "every change in %q asks", root.Name)
	case p.what == makesDir:
		v.Safe = true
		return v.because(Auto, "files", "making a folder runs")
	case set:
		v.Configured = true
		return v.because(Auto, setting, "changes in %q are permitted beforehand", root.Name)
	case p.what == overwrites:
		return v.because(Ask, "files", "overwriting %s loses what it held", p.fact.Real)
	}
	if pattern, ok := r.isSafe(p.fact, rel); ok {
		v.Safe = true
		return v.because(Auto, "files.safe "+quote(pattern), "%s is a safe path", p.fact.Real)
	}
	return v.because(Ask, "files", "changing files asks")
}

// blocked reports a refusal that no answer overrides.
func (r *Rules) blocked(p part) (Verdict, bool) {
	no := func(rule, format string, args ...any) (Verdict, bool) {
		return Verdict{}.because(Block, rule, format, args...), true
	}
	root, _, ok := r.Locate(p.fact.Real)
	if _, _, asked := r.Locate(p.fact.Asked); !ok || !asked {
		return no("files.paths", "%s is in none of the sandboxes (%s)", p.fact.Asked, r.rootList())
	}
	for _, spelling := range []string{p.fact.Real, p.fact.Asked} {
		if pattern, ok := r.matches(r.hidden, spelling); ok {
			return no("files.hidden "+quote(pattern), "%s is hidden", p.fact.Asked)
		}
	}
	if needsSuffix(p) && !root.hasSuffix(path.Base(p.fact.Real)) {
		return no("files.paths."+root.Name+".suffixes", "%s: in %q only names ending in %s may be touched", p.fact.Asked,
			root.Name, strings.Join(root.Suffixes, ", "))
	}
	if p.what == reads {
		return Verdict{}, false
	}
	if p.fact.Real == root.Path && p.what != makesDir {
		return no("files.paths."+root.Name, "%s is the sandbox %q itself", p.fact.Asked, root.Name)
	}
	if !root.Writable {
		return no("files.paths."+root.Name+".mode", "the sandbox %q is read-only", root.Name)
	}
	for _, spelling := range []string{p.fact.Real, p.fact.Asked} {
		if pattern, ok := r.matches(r.readOnly, spelling); ok {
			return no("files.read_only "+quote(pattern), "%s is read-only", p.fact.Asked)
		}
	}
	return Verdict{}, false
}

// needsSuffix: folders have no suffix.
func needsSuffix(p part) bool {
	if p.what == makesDir || p.op == List || p.op == Rmdir {
		return false
	}
	return p.fact.Kind != Dir
}

// isProtected looks at both spellings of a path.
func (r *Rules) isProtected(f Fact) (string, bool) {
	if pattern, ok := r.matches(r.protected, f.Real); ok {
		return pattern, true
	}
	return r.matches(r.protected, f.Asked)
}

// isSafe wants a safe real path; protected and watched names are none.
func (r *Rules) isSafe(f Fact, rel string) (string, bool) {
	if !r.autoSafe {
		return "", false
	}
	if _, ok := r.matches(r.watched, f.Real); ok {
		return "", false
	}
	for _, p := range r.safe {
		if p.Matches(rel) {
			return p.String(), true
		}
	}
	return "", false
}

func (r *Rules) rootList() string {
	var out []string
	for _, root := range r.roots {
		out = append(out, root.Name+" = "+root.Path)
	}
	if len(out) == 0 {
		return "there are none"
	}
	return strings.Join(out, ", ")
}

func (v Verdict) because(d Decision, rule, format string, args ...any) Verdict {
	v.Decision, v.Rule, v.Why = d, rule, fmt.Sprintf(format, args...)
	v.Reasons = []string{v.Why}
	return v
}

// and joins the verdicts on two parts: the stricter one decides, and every reason to ask is
// included.
func (v Verdict) and(w Verdict) Verdict {
	out := v
	switch {
	case severity(w.Decision) > severity(v.Decision):
		out = w
	case severity(w.Decision) == severity(v.Decision):
		out.Configured = v.Configured || w.Configured
	}
	if v.Decision != Auto && w.Decision != Auto {
		out.Reasons = append(append([]string(nil), v.Reasons...), w.Reasons...)
	}
	out.Safe = v.Safe && w.Safe
	out.Protected = v.Protected || w.Protected
	out.Delete = v.Delete || w.Delete
	out.Quiet = v.Quiet || w.Quiet
	out.Outside = v.Outside || w.Outside
	return out
}

func severity(d Decision) int {
	return map[Decision]int{Auto: 0, Ask: 1, Block: 2}[d]
}

func quote(s string) string { return fmt.Sprintf("%q", s) }
