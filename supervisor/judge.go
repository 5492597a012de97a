package supervisor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"sandboxd/approval"
	"sandboxd/config"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/profile/document"
	"sandboxd/sandbox"
	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// judge examines a request: the program, whether it asks, and the
// plan. It changes nothing and asks nobody.
func (s *Supervisor) judge(ctx context.Context, e *Exec) (*judgement, error) {
	sess, r := e.Session, e.Request
	compiled, err := s.compile(sess)
	if err != nil {
		return nil, err
	}
	cfg := compiled.cfg
	e.log.keepAtMost(int64(cfg.Sandbox.Limits.Output))
	j := &judgement{warnings: slices.Clone(compiled.warnings), command: shell.Command{
		Line: r.Line, Argv: r.Argv, Cwd: r.shown(), Project: sess.Root, Home: sess.Home,
		Env: r.Env, TTY: r.Terminal, Description: r.Description, CallerRuns: r.callerRuns,
	}}
	if r.Stdin == StdinData {
		sum := sha256.Sum256(r.StdinData)
		j.input = hex.EncodeToString(sum[:])
	}
	trusted := s.trusted(sess, cfg)
	j.verdict = compiled.verdict(ctx, j.command, s.lookUp(cfg, sess, trusted))
	if j.payload, err = json.Marshal(j.verdict.Payload); err != nil {
		return nil, err
	}
	if j.verdict.Decision == shell.Block {
		j.digest = j.digestOf()
		return j, nil
	}
	if why := s.asksHere(j.verdict, trusted || sess.Root == ""); why != "" {
		j.verdict.Decision, j.verdict.Why = shell.Ask, why
	}
	j.trusts = !trusted && j.verdict.Decision == shell.Ask && sess.Root != ""
	agent := agentRunOf(r, cfg, j.verdict)
	j.agentPreset, j.given = agent.preset, r.Profile != nil
	effective, operator, err := s.profilesOf(cfg, sess, trusted || j.trusts, j.verdict.Network, agent)
	if err == nil {
		effective, operator, err = narrowedBy(r.Profile, sess, effective, operator)
	}
	if err != nil {
		return nil, err
	}
	j.names, j.operator, j.trusted = effective, operator, trusted || j.trusts
	j.trustsOffered = s.trustsFor(cfg, true)
	if j.trusts {
		j.fitting = fitting(sess, cfg)
	}
	if j.verdict.Decision == shell.Ask && (trusted || j.trusts) && !r.callerRuns {
		j.widened = widening(j.command, effective, sess.Root)
		if effective, err = widen(effective, operator, j.widened); err != nil {
			return nil, err
		}
	}
	j.lost = j.loses(effective, r)
	if err := s.chooseKind(e, cfg, j); err != nil {
		return nil, err
	}
	if j.reads() && j.kind == RunReads {
		effective = effective.ReadOnly()
	}
	if err := visible(effective, r.Cwd, sess.Root); err != nil {
		return nil, err
	}
	if err := s.planned(e, cfg, j, effective); err != nil {
		return nil, err
	}
	if err := s.contain(ctx, e, cfg, j, effective); err != nil { // the plan may have refused the layer
		return nil, err
	}
	if level := j.plan.Report.Level(); level != sandbox.Enforced {
		j.warnings = append(j.warnings, j.plan.Report.Degraded()...)
	}
	var open profile.Profile
	if j.opens, open, err = s.opening(e, cfg, j, effective); err != nil {
		return nil, err
	}
	j.blockLost()
	j.digest = j.digestOf()
	if e.openedBy != "" && e.openedBy == opened(j.opens) && e.Runs() {
		err = s.planned(e, cfg, j, open)
	}
	return j, err
}

// asksHere returns why a command that the configuration lets run unasked asks on this host or in this project; "": it
// does not.
func (s *Supervisor) asksHere(v shell.Verdict, trusted bool) string {
	switch {
	case v.Decision != shell.Auto:
	case v.Sandboxed && s.Host.Report().Level() == sandbox.Absent:
		return "it is harmless only inside the OS sandbox, which this host does not have in full"
	case v.Writes && !trusted:
		return "it writes to the project, which is not trusted yet"
	}
	return ""
}

// planned plans the run under a profile.
func (s *Supervisor) planned(e *Exec, cfg *config.Config, j *judgement, p profile.Profile) (err error) {
	if j.reach, err = s.reaching(cfg, j.verdict.Network, p, j.operator); err != nil {
		return err
	}
	unheld, err := s.unheld(cfg, e.Session)
	if err != nil {
		return err
	}
	listen, callers := j.reach.ports()
	command := s.commandOf(e.Session, j, p)
	j.plan, err = s.planRun(e, j, sandbox.Request{
		Profile: p, Operator: j.operator, Listen: listen, Dialers: callers,
		Command:  command,
		Files:    s.homeFiles(e.Session, p),
		Terminal: e.Request.Terminal,
		Unheld:   unheld,
		Require:  Required(cfg.Sandbox.RequireOSSandbox),
	})
	if err == nil {
		held := len(j.above) > 0 && strings.Contains(startedAs(e.Request), "/") // a held change set may have it
		// A preset that shows the program of a line is an answer to its question.
		preset := func(u unseenProgram) bool { return u.preset != "" }
		offered := e.Request.Line != "" && slices.ContainsFunc(unseenPrograms(e.Session, e.Request, command.Env), preset)
		j.absent = !held && !offered && absent(e.Request, j.verdict, j.plan.Profile, command.Env)
	}
	return err
}

// agentRunOf returns an agent's part of the profile. Commands that only the safe list or a preset lets run have the
// time of a command: nobody has agreed to more.
func agentRunOf(r ExecRequest, cfg *config.Config, v shell.Verdict) agentRun {
	if !r.Agent && !r.Server {
		return agentRun{}
	}
	reviewed := func(p shell.Part) bool {
		return p.By == shell.BySafeList || p.By == shell.ByPreset
	}
	run := agentRun{
		socket: r.Agent && cfg.Sandbox.AgentSocket,
		long:   v.Decision == shell.Ask || !slices.ContainsFunc(v.Parts, reviewed),
	}
	if run.long && r.Agent && len(r.Argv) > 0 {
		if preset, ok := document.Agent(r.Argv[0]); ok {
			run.preset = preset.Name
		}
	}
	return run
}

// verdict judges by the configuration and, where the project has rules of its
// own, by those too; the stricter answer counts.
func (c *compilation) verdict(ctx context.Context, cmd shell.Command, o facts.Options) shell.Verdict {
	o.Home = cmd.Home
	v, _ := facts.Judge(ctx, c.tool, cmd, o)
	if c.project == nil {
		return v
	}
	p, _ := facts.Judge(ctx, c.project, cmd, o)
	v.Contained, v.InLayer = v.Contained && !p.Objects, v.InLayer && !p.Objects
	v.Objects, v.Configured = v.Objects || p.Objects, v.Configured || p.Configured
	if p.Objects {
		v.Credentials = nil
	}
	if stricter(p.Decision, v.Decision) {
		v.Decision, v.Why, v.Rule = p.Decision, p.Why, p.Rule
		v.Reasons = append(p.Reasons, v.Reasons...)
		v.Parts = p.Parts
	}
	return v
}

// lookUp has a session's commands that run unasked looked up where the PATH that they get looks, so that the way in
// which a line was judged does not choose its programs. A directory that no command can write counts as the system's.
// [shell] search_path replaces it.
func (s *Supervisor) lookUp(cfg *config.Config, sess *Session, trusted bool) (o facts.Options) {
	p, _, err := s.profiles(cfg, sess, trusted, "")
	if dirs := p.Environment().Set["PATH"]; err == nil && dirs != "" && len(cfg.Shell.SearchPath) == 0 {
		o.SearchPath = filepath.SplitList(dirs)
		o.Held = func(abs string) bool {
			_, access, _ := p.Effective(abs)
			return access.Has(profile.Exec) && !access.Has(profile.Write)
		}
	}
	return o
}

// stricter orders Auto < Ask < Block.
func stricter(a, b shell.Decision) bool {
	order := []shell.Decision{shell.Auto, shell.Ask, shell.Block}
	return slices.Index(order, a) > slices.Index(order, b)
}

// Required lists the protections that must hold in full. `true` is all of the
// walls; limits, and names that lie too deep for a mount, may be partial: the scan
// after the run finds entries made there (DESIGN: protected).
func Required(r config.Require) []string {
	if !r.All {
		return r.Protections
	}
	return slices.DeleteFunc(slices.Clone(sandbox.Protections), func(name string) bool {
		return name == sandbox.ProtectLimits || name == sandbox.ProtectProtected
	})
}

// reachOf describes the permissions of an agent's preset to a person.
func reachOf(agent document.Preset, p profile.Profile) string {
	reach := fmt.Sprintf("the preset %s: a directory of its own for its state", agent.Name)
	if n := p.Network(); n.Mode == profile.NetAllowlist {
		reach += ", connections to " + strings.Join(agent.Network.Hosts, ", ")
	}
	return reach
}

// call puts a judgement to the approval controller.
func (s *Supervisor) call(e *Exec, j *judgement) approval.Call {
	c := s.unmasked(e, j)
	mask(&c)
	return c
}

// unmasked is call before secrets are taken out.
func (s *Supervisor) unmasked(e *Exec, j *judgement) approval.Call {
	v := j.verdict
	c := approval.Call{
		ID: e.Request.CallID, Principal: e.Session.principal(), Session: e.Session.ID, Agent: e.Session.Agent,
		Project: e.Session.Root, Batch: e.Request.Batch, Tool: "bash", Payload: v.Payload, Digest: j.digest,
		Cwd: e.Request.shown(), Why: v.Why, Inline: e.Request.Inline,
		Client: e.Request.Client && !j.trusts && len(j.widened) == 0, // a yes to those does more than this
		Class:  approval.Class{RuleText: v.Rule, Dangerous: v.Danger, Protected: v.Protected, Delete: v.Delete},
		Asked:  func(p approval.Pending) { e.ask(p, j) },
	}
	if v.Decision == shell.Block {
		c.Blocked = &approval.BlockedError{Reason: v.Why, Rule: v.Rule}
		return c
	}
	// The request is there too where it runs unasked, so that lists and deny
	// grants see it.
	c.Request = v.Request(j.command)
	c.Request.GroupID = e.Request.Group
	if v.Decision == shell.Auto {
		if onlySafe(v.Parts) {
			c.Class.Safe = true
		} else {
			// A rule, permission or preset of the configuration; only the
			// operator's own lets something dangerous get this far (R-SH-04).
			c.Class.Rule, c.Class.Operator = approval.RuleAllow, v.Danger
		}
		return c
	}
	if v.Configured {
		c.Class.Rule = approval.RuleAsk
	}
	because := func(list ...string) { c.Request.Reasons = append(c.Request.Reasons, list...) }
	if j.uncontained != "" {
		because("the policy contained does not cover it: " + j.uncontained)
	}
	c.Class.Contained = j.contained
	if preset, ok := document.Agent(j.agentPreset); ok {
		because(reachOf(preset, j.names))
	}
	if why := e.Session.beyondSkill(v.Payload); why != "" {
		because(why)
	}
	if e.Request.callerRuns {
		because("the caller runs it, outside the sandbox")
	}
	if e.Request.cwdUnknown {
		because("the caller does not say in which directory it would run")
	}
	if e.Request.Agent {
		because("it may ask sandboxd from inside its sandbox, for no more than it has itself")
	}
	if n := len(e.Request.StdinData); j.input != "" {
		because(fmt.Sprintf("its standard input came with the request: %d bytes, sha256 %.16s…", n, j.input))
	}
	if v.Unseen && !j.contained {
		// Any input would run under the same grant.
		c.Class.Rule, c.Class.RuleText = approval.RuleAsk, "code that is not shown"
	}
	c.Widenings = j.openings(e.Session.Home)
	if c.Unwidened = j.unwidened(); c.Unwidened != "" {
		c.Class.Rule, c.Class.RuleText = approval.RuleAsk, cmp.Or(v.Rule, "path outside")
	}
	for _, path := range j.widened {
		because("may change the protected " + path + ", for this once; what it wrote is checked afterwards")
	}
	if note := timeNote(e, j); note != "" {
		c.Request.Notes = append(c.Request.Notes, note)
	}
	c.Trusts = s.offersAgain(e, j)
	if j.trusts {
		// Trust is more than this one command, so nothing that was granted
		// before may answer for it.
		c.Class.Rule, c.Class.RuleText = approval.RuleAsk, "project not trusted yet"
		c.Trusts = j.trustsOffered
		because(s.trustReasons(e.Session, c.Trusts)...)
	}
	s.hint(e, j, &c)
	return c
}

// timeNote names the time limit of a command; empty without a limit and for a check.
func timeNote(e *Exec, j *judgement) string {
	if !e.Runs() || j.plan == nil {
		return ""
	}
	limit := timeLimit(e.Request.Timeout, j.plan.Profile.Limits().Wall)
	if limit == unlimited {
		return ""
	}
	return fmt.Sprintf("runs for at most %s", config.Duration(limit))
}

// onlySafe reports whether the safe list alone let every part run.
func onlySafe(parts []shell.Part) bool {
	return !slices.ContainsFunc(parts, func(p shell.Part) bool { return p.By != shell.BySafeList })
}

// shown is the directory that is judged and shown; "" is not known.
func (r ExecRequest) shown() string {
	if r.cwdUnknown {
		return ""
	}
	return r.Cwd
}

// resolveCwd returns the real working directory of a request.
func (s *Session) resolveCwd(dir string) (string, error) {
	if dir == "" {
		dir = s.Root
	}
	if dir == "" {
		dir = "/"
	}
	if !filepath.IsAbs(dir) {
		return "", &RequestError{fmt.Sprintf("cwd %q is not an absolute path", dir)}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", &RequestError{fmt.Sprintf("cwd %q: %s", dir, reason(err))}
	}
	if info, err := os.Stat(real); err == nil && !info.IsDir() {
		return "", &RequestError{fmt.Sprintf("cwd %q is no directory", dir)}
	}
	return real, nil
}

// lostRule is the rule by which a command asks, or is blocked, that creates a git worktree outside.
const lostRule = "worktree outside"

// loses returns the place of a git worktree that the command creates where the sandbox does not keep it: the repository
// would have the record of a worktree without its files (R-LY-08). The command asks then. "": there is none.
func (j *judgement) loses(p profile.Profile, r ExecRequest) (lost string) {
	if r.callerRuns {
		return ""
	}
	for _, place := range j.verdict.Worktrees {
		if v := p.Allows(profile.OpCreate, place); v.Allowed && !v.Private {
			continue
		}
		j.verdict.Decision, j.verdict.Contained, j.verdict.InLayer = shell.Ask, false, false
		if lost = cmp.Or(lost, place); lost != place {
			j.verdict.Replaced = true // a yes opens one of them
		}
	}
	return lost
}

// blockLost blocks a command that loses a place which no yes opens.
func (j *judgement) blockLost() {
	if j.lost != "" && j.unwidened() == "" {
		j.verdict.Decision, j.verdict.Rule, j.verdict.Why = shell.Block, lostRule, notWritable(j.lost)
	}
}

// visible refuses a working directory of the project that commands do not have.
func visible(p profile.Profile, cwd, root string) error {
	leads := func(r profile.Rule) bool { return r.Kind == profile.Allow && abspath.Contains(cwd, r.Path) }
	if cwd == root || !unnamed(p, cwd) || slices.ContainsFunc(p.PathRules(), leads) {
		return nil
	}
	return &RequestError{fmt.Sprintf("cwd %q is in none of the sandboxes of [files.paths], "+
		"so commands do not have it: choose another with --cwd, or name it there", cwd)}
}

// checkText refuses text that no command line can hold or that can't be shown
// without loss.
func checkText(r ExecRequest) error {
	check := func(what, text string) error {
		if strings.ContainsRune(text, 0) {
			return &RequestError{what + " holds a NUL byte, which no command can have"}
		}
		if !utf8.ValidString(text) {
			return &RequestError{what + " is not valid UTF-8"}
		}
		return nil
	}
	if err := check("the command", r.Line); err != nil {
		return err
	}
	for i, a := range r.Argv {
		if err := check(fmt.Sprintf("argument %d", i), a); err != nil {
			return err
		}
	}
	for k, v := range r.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") || !utf8.ValidString(k) {
			return &RequestError{fmt.Sprintf("environment variable %q has an impossible name", k)}
		}
		if err := check("environment variable "+k, v); err != nil {
			return err
		}
	}
	return nil
}
