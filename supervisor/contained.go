package supervisor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"sandboxd/approval"
	"sandboxd/config"
	"sandboxd/sandbox"
	"sandboxd/shell"
)

// ContainedPolicy reports whether the policy "contained" holds for a session: by the
// configuration, or because a person trusted its project so. An operator can forbid it, and
// whitelist and safe-only win.
func (s *Supervisor) ContainedPolicy(sess *Session) bool { return s.containedPolicy(sess, s.Config()) }

func (s *Supervisor) containedPolicy(sess *Session, cfg *config.Config) bool {
	a := cfg.Approval
	return permitsContained(a) && sess.Root != "" && s.trusted(sess, cfg) &&
		(a.Policy == approval.PolicyContained || sess.contained.Load() || s.Trust.contained(sess.Peer.UID, sess.Root))
}

// permitsContained reports whether the policy "contained" can hold beside the others of a configuration.
func permitsContained(a approval.Config) bool {
	return a.Contained && !a.SafeCommandsOnly &&
		(a.Policy == approval.PolicyNormal || a.Policy == approval.PolicyContained)
}

// uncontainable returns why no command is contained on this host under network modes; "": some are.
func (s *Supervisor) uncontainable(modes ...string) string {
	switch {
	case slices.Contains(modes, "full"):
		return "it reaches the whole network"
	case s.Host.Report().Level() == sandbox.Absent:
		return "this host has no OS sandbox in full"
	}
	return ""
}

// contain decides whether a command that asks is contained (DESIGN §14): its words show no effect
// outside the project, it runs inside the sandbox, and its run can be undone as a whole. Otherwise
// the judgement says why it asks in spite of the policy.
func (s *Supervisor) contain(ctx context.Context, e *Exec, cfg *config.Config, j *judgement) {
	if j.verdict.Decision != shell.Ask || j.trusts || e.trustAnswered || !s.containedPolicy(e.Session, cfg) {
		return
	}
	r := e.Request
	switch {
	case !j.verdict.InLayer:
		j.uncontained = "its effects may not stay in the project"
	case !j.verdict.Contained && j.kind != RunLayered:
		j.uncontained = "only a landing asks about what it deletes or protected paths, and it has no layer: " + j.direct
	case r.callerRuns || r.cwdUnknown:
		j.uncontained = "it runs outside the sandbox"
	case r.Agent || r.Server:
		j.uncontained = "the run of an agent or a server is more than one command"
	case slices.ContainsFunc(j.widened, func(p string) bool {
		return !slices.Contains([]string{"config", "config.worktree"}, path.Base(p)) // aftermath compares those of git
	}):
		j.uncontained = "it moves protected files"
	default:
		j.uncontained = s.uncontainable(cfg.Network.Mode, j.verdict.Network)
	}
	switch {
	case j.uncontained != "":
	case j.kind == RunLayered:
		j.contained = true
	default:
		c := s.coverage(ctx, e.Session)
		j.contained, j.uncontained = c.Covered, c.Why
	}
}

// holds returns an error where a contained run is not covered by its snapshot after all; it does not start then.
func (r *runSnapshot) holds(j *judgement) error {
	if !j.contained || j.kind == RunLayered {
		return nil
	}
	if r == nil {
		return errors.New("the run can't be undone, and nobody was asked: it has no snapshot; run it again")
	}
	if c := r.coverage; !c.Covered {
		return fmt.Errorf("the run can't be undone, and nobody was asked: %s; run it again", c.Why)
	}
	return nil
}
