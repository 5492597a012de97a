package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/profile/document"
	"sandboxd/sandbox"
	"sandboxd/shell"
	"sandboxd/supervisor/aftermath"
)

// Violation is something that the sandbox did not let a command do (R-OS-11).
type Violation struct {
	Kind   string // "path", "network" or "syscall"
	Op     string // "write", "connect", "call", …
	Object string // the path, the address or host, the call
	Rule   string // the deciding rule
	By     string // the mechanism
	Hint   string // how to permit it, or that nothing does
	Count  int
	// Minor: it changes nothing for the command, and no output for people names it.
	Minor bool
}

// String is one line of the audit log.
func (v Violation) String() string {
	s := v.Op + " " + v.Object
	if v.Rule != "" {
		s += " [" + v.Rule + "]"
	}
	if v.Count > 1 {
		s += fmt.Sprintf(" (%d times)", v.Count)
	}
	return s
}

// listenerLayer is the layer of a report that sees refusals.
const listenerLayer = "seccomp listener"

// tellRefusals adds the sandbox's refusals to the result.
func (s *Supervisor) tellRefusals(e *Exec, j *judgement, p *sandbox.Process, r *Result) {
	list, more := p.Refused()
	for _, n := range list {
		v := Violation{Kind: n.Kind, Op: n.Op, Object: n.Object, Rule: n.Rule, By: n.By, Count: n.Count, Minor: minor(n)}
		v.Minor = v.Minor || n.By == sandbox.ByLayer && p.Wait().Code == 0 // mv copies instead
		if n.Kind == sandbox.RefusedNetwork {
			v.Hint = s.networkHint(n, j, e.Session)
		} else {
			v.Hint = hint(n, j, e.Session.Root)
		}
		r.Violations = append(r.Violations, v)
	}
	tellHidden(e, j, r)
	if more > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the sandbox refused %d more things than are listed", more))
	}
	e.reportUnkept(j, p, r)
	e.tellUnsigned(j, r)
}

// tellHidden adds the files and directories outside the project that the command's words name and its sandbox hides,
// from an approved command too: to the command they do not exist, and whoever reads its output would believe that.
func tellHidden(e *Exec, j *judgement, r *Result) {
	p, root := j.plan.Profile, e.Session.Root
	for _, at := range j.verdict.Paths {
		if !j.verdict.Outside || len(r.Violations) > maxLeftBehind || abspath.Contains(at, root) || at == e.Session.Home ||
			root != "" && abspath.Contains(root, at) || abspath.Contains("/tmp", at) || shows(p, at) ||
			slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Object == at }) {
			continue
		}
		if info, err := os.Lstat(at); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
			continue
		}
		n := sandbox.Refusal{Kind: sandbox.RefusedPath, Op: "read", Object: at, Access: profile.OpRead, Path: true}
		r.Violations = append(r.Violations, Violation{Kind: n.Kind, Op: n.Op, Object: at, By: "mounts", Count: 1,
			Rule: "the sandbox hides it, from approved commands too", Hint: hint(n, j, root)})
	}
}

// minor reports whether a refusal changes nothing for the command that met it.
func minor(n sandbox.Refusal) bool {
	if n.Kind != sandbox.RefusedPath {
		return false
	}
	switch filepath.Base(n.Object) {
	case "oom_score_adj", "oom_adj", "clear_refs":
		return abspath.Contains("/proc", n.Object)
	}
	sample := strings.HasSuffix(n.Object, ".sample") && filepath.Base(filepath.Dir(n.Object)) == "hooks"
	return sample || ofSystem(filepath.Dir(n.Object)) && strings.Contains(n.Object, "/__pycache__") ||
		strings.Contains(n.Object, "/go/telemetry/") ||
		strings.Contains(n.Object, "/pkg/mod/cache/") && strings.HasSuffix(n.Object, ".lock")
}

// tellDeaf says why this host does not report the sandbox's refusals. People read it after
// a command that failed, once in their session; it is among the layers of each result.
func (e *Exec) tellDeaf(j *judgement, r *Result) {
	l := j.plan.Report.Layer(listenerLayer)
	if l.Active || e.Session.Kind != KindAPI && r.Exit.Code != 0 && !e.Session.first(listenerLayer) {
		return
	}
	r.Warnings = append(r.Warnings, "what the sandbox refuses is not available on this host: "+l.Why)
}

// first reports whether the session has not had this warning yet.
func (s *Session) first(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reported[what] {
		return false
	}
	if s.reported == nil {
		s.reported = map[string]bool{}
	}
	s.reported[what] = true
	return true
}

// tellUntrusted says that the project is read-only, where that may be why a command
// of the terminal's did not do well: once in a session. Where a refusal shows that
// it is, that says so each time. Programs see it when they open their session.
func (e *Exec) tellUntrusted(j *judgement, r *Result) {
	s := e.Session
	if j.trusted || r.Exit.Code == 0 || s.Kind == KindAPI ||
		slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Hint == hintUntrusted }) {
		return
	}
	if s.first(Untrusted) {
		r.Warnings = append(r.Warnings, Untrusted+"; next: sbx trust "+s.Root)
	}
}

// warnExternalGitDir reports, once in a session, that commands can only read the git directory outside of the project,
// where refusals, whose hints say so, are not known; or that they do not see one to which a link leads.
func (e *Exec) warnExternalGitDir(j *judgement, r *Result) {
	dir, _ := gitOf(e.Session.Root)
	link := filepath.Join(e.Session.Root, ".git")
	real, err := filepath.EvalSymlinks(link)
	var text string
	switch {
	case r.Exit.Code == 0:
	case dir != "" && !j.plan.Report.Layer(listenerLayer).Active:
		if _, access, _ := j.plan.Profile.Effective(dir); !access.Has(profile.Write) {
			text = fmt.Sprintf("git writes to %s, which is outside of the project: commands can only read it; to permit it: "+
				"sbx allow --write %s", dir, shell.Quote([]string{dir}))
		}
	case dir == "" && err == nil && real != link && strings.Contains(j.command.Text(), "git") &&
		!shows(j.plan.Profile, real):
		text = fmt.Sprintf("the project's .git is a link to %s, which commands do not see; to show it: sbx allow %s, with "+
			"--write for commits", real, shell.Quote([]string{real}))
	}
	if text != "" && e.Session.first("elsewhere") {
		r.Warnings = append(r.Warnings, text)
	}
}

// tellUnnamed says that commands see only the named sandboxes of the project, where that may be why a command did not
// do well: once in a session.
func (e *Exec) tellUnnamed(j *judgement, r *Result) {
	if r.Exit.Code != 0 && unnamed(j.plan.Profile, e.Session.Root) && e.Session.first("unnamed") {
		r.Warnings = append(r.Warnings, fmt.Sprintf("commands see of %s "+
			"only the sandboxes of [files.paths], "+
			"git's directory included; to show the rest: "+
			"a sandbox with root = \".\" and mode = \"ro\", then sbx config reload", e.Session.Root))
	}
}

// unnamed reports whether no named sandbox holds a path of the project.
func unnamed(p profile.Profile, path string) bool {
	_, _, r := p.Effective(path)
	return r.Origin == document.OriginUnnamed
}

// Untrusted explains an untrusted project.
const Untrusted = "the project is not trusted: commands may read it and not write"

const (
	hintUntrusted = "the project is not trusted, so it is read-only: sbx trust"
	hintOperator  = "the operator's profile forbids it: only the administrator can permit it"
	hintGiven     = "the profile that its run was given forbids it"
	hintContained = "no undo covers it, so that what runs unasked under the policy contained can't change it: name the " +
		"path in the command, or permit the command by a rule"
)

// notTaken leaves out violations that the profile refuses and no mechanism could: the file was
// made, and then removed, which is reported already.
func notTaken(list []Violation, taken []aftermath.Item) []Violation {
	return slices.DeleteFunc(list, func(v Violation) bool {
		return v.Kind == sandbox.RefusedPath &&
			slices.ContainsFunc(taken, func(t aftermath.Item) bool { return !t.Kept && abspath.Contains(t.Path, v.Object) })
	})
}

// forbids names the author of the configuration's bound.
func (j *judgement) forbids() string {
	if j.given {
		return hintGiven
	}
	return hintOperator
}

// ofSystem reports whether a directory is the system's, so that no setting should let every command write to it.
func ofSystem(dir string) bool {
	return dir == "/" || slices.ContainsFunc(profile.SystemOf(runtime.GOOS).Trees, func(tree string) bool {
		return abspath.Contains(tree, dir)
	})
}

// hint says how to permit a path that was refused, or that no setting permits a system call.
func hint(n sandbox.Refusal, j *judgement, root string) string {
	if n.By == sandbox.ByLayer && n.Access == profile.OpConnect {
		return "no sandbox reaches it: have its server listen on localhost, and in the same session"
	}
	if n.By == sandbox.ByLayer {
		return "to do it in the project itself: sbx run --direct (\"direct\": true in a request)"
	}
	if !n.Path {
		return "no setting permits this call in a sandbox"
	}
	_, _, decided := j.plan.Profile.Effective(n.Object)
	op := "write"
	if n.Access == profile.OpRead || n.Access == profile.OpList || n.Access == profile.OpConnect ||
		n.Access == profile.OpExec {
		op = "read"
	}
	if j.operator != nil && !j.operator.Allows(n.Access, n.Object).Allowed {
		return j.forbids()
	}
	if j.contained && j.names.Allows(n.Access, n.Object).Allowed {
		return hintContained
	}
	switch inside := root != "" && abspath.Contains(root, n.Object); {
	case n.Access == profile.OpConnect:
		return "no setting opens this socket; make " + n.Object + " writable ([sandbox] write) if the command must talk to it"
	case inside && unnamed(j.plan.Profile, n.Object):
		return "to permit it: name its folder in [files.paths], with mode = \"rw\""
	case inside && op == "write" && !j.trusted:
		return hintUntrusted
	case decided.Kind == profile.Protect && decided.Origin == "built-in":
		return "it is protected because other programs execute or trust it: change it yourself, outside the sandbox"
	case decided.Kind == profile.Hide && decided.Origin == "built-in":
		return "no setting permits it: it is one of the system's secrets"
	case decided.Kind == profile.Hide && decided.Origin == document.OriginDaemon:
		return "no setting permits it: it is the daemon's own"
	case decided.Kind >= profile.Protect && !strings.HasPrefix(decided.Origin, "built-in"):
		return "the configuration says so (" + decided.Origin + "): take it out there"
	}
	object := n.Object
	if n.Access == profile.OpCreate || n.Access == profile.OpRemove {
		object = filepath.Dir(object)
	}
	if dir, _ := gitOf(root); dir != "" && op == "write" && abspath.Contains(dir, object) {
		object = dir // git writes to several places there
	}
	if op == "write" && ofSystem(object) {
		return "no command changes the system: have it write to the project, or to its own home or /tmp"
	}
	return fmt.Sprintf("to permit it: sbx allow %s%s", map[string]string{"write": "--write "}[op],
		shell.Quote([]string{object}))
}
