package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"

	"sandboxd/approval"
	"sandboxd/config"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
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
// outside the project, it runs inside the sandbox, and its run under p can be undone as a whole.
// Otherwise the judgement says why it asks in spite of the policy. It fails as the plan of such a run does.
func (s *Supervisor) contain(ctx context.Context, e *Exec, cfg *config.Config, j *judgement, p profile.Profile) error {
	if j.verdict.Decision != shell.Ask || j.trusts || e.trustAnswered || !s.containedPolicy(e.Session, cfg) {
		return nil
	}
	read, err := s.readsCredentials(ctx, e, cfg, j)
	if err != nil {
		return err
	}
	r := e.Request
	switch {
	case !j.verdict.InLayer && !read:
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
	case j.verdict.Services && reachesServices(cfg, j.verdict.Network):
		j.uncontained = "it may change what a service holds that the configuration opens ([network] host_ports, allow)"
	default:
		j.uncontained = s.uncontainable(cfg.Network.Mode, j.verdict.Network)
		if dir := s.needsBesides(e, cfg, j, p); dir != "" && j.uncontained == "" {
			j.uncontained = "it could write to " + dir + ", which no undo covers"
		}
	}
	switch {
	case j.uncontained != "":
	case j.kind == RunLayered:
		j.contained = true
	default:
		c := s.coverage(ctx, e.Session)
		j.contained, j.uncontained = c.Covered, c.Why
	}
	return s.confine(e, cfg, j, p)
}

// reachesServices reports whether commands reach services besides the reviewed hosts of presets: ports of this machine,
// or listed hosts and addresses of other services. mode is that of the rule which decides, or "".
func reachesServices(cfg *config.Config, mode string) bool {
	n := cfg.Network
	switch cmp.Or(mode, n.Mode) {
	case "loopback":
		return len(n.HostPorts) > 0
	case "allowlist":
		return len(n.HostPorts) > 0 || n.BeyondPresets()
	}
	return false
}

// ownPlaces are the directories that a contained run may write to: those that an undo covers, or that hold caches.
func (s *Supervisor) ownPlaces(e *Exec, cfg *config.Config, j *judgement) []string {
	return slices.DeleteFunc([]string{e.Session.Root, s.cacheOf(cfg, e.Session, s.trusted(e.Session, cfg), j.agentPreset)},
		func(dir string) bool { return dir == "" })
}

// needsBesides returns a directory of the host besides a project's own that p lets commands write to and that they
// can't do without: the home directory, one for temporary files, or that of the repository for git. "": there is none.
func (s *Supervisor) needsBesides(e *Exec, cfg *config.Config, j *judgement, p profile.Profile) string {
	needed := append(profile.SystemOf(runtime.GOOS).Private, e.Session.Home)
	if dir, _ := gitOf(e.Session.Root); dir != "" && strings.Contains(j.command.Text(), "git") {
		needed = append(needed, dir)
	}
	for _, open := range writable(p, s.ownPlaces(e, cfg, j)) {
		holds := func(dir string) bool { return dir != "" && abspath.Contains(open, dir) }
		if slices.ContainsFunc(needed, holds) {
			return open
		}
	}
	return ""
}

// writable returns the directories besides a project's own that a profile lets commands write to.
func writable(p profile.Profile, own []string) (list []string) {
	own = append(own, "/dev")
	for _, r := range p.PathRules() {
		within := func(dir string) bool { return abspath.Contains(dir, r.Path) }
		if r.Kind == profile.Allow && r.Access.Has(profile.Write) && !slices.ContainsFunc(own, within) {
			list = append(list, r.Path)
		}
	}
	return list
}

// confine plans a run that nobody is asked about again where p has further directories to write to, with these
// read-only: no undo covers them.
func (s *Supervisor) confine(e *Exec, cfg *config.Config, j *judgement, p profile.Profile) error {
	own := s.ownPlaces(e, cfg, j)
	if !j.contained || j.verdict.Configured || len(writable(p, own)) == 0 {
		return nil
	}
	return s.planned(e, cfg, j, p.ReadOnlyBut(own...))
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
