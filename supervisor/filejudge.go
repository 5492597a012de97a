package supervisor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/config"
	"sandboxd/files"
	"sandboxd/files/worker"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/sandbox"
)

// fileJudgement is everything that is decided about a file operation before
// anyone is asked.
type fileJudgement struct {
	cfg      *config.Config
	rules    *files.Rules
	setup    worker.Setup
	request  files.Request
	facts    files.Facts
	verdict  files.Verdict
	conflict *files.Conflict
	undo     *undoing // of an undo
	// plan is that of the session's worker, which examines. profile is for the
	// effect: with trust, if a yes trusts the project, and with widened,
	// the protected paths that a person's yes lets it change.
	plan     *sandbox.Plan
	profile  profile.Profile
	operator *profile.Profile
	widened  []string
	trusts   bool
	warnings []string
	digest   string
}

// needsPerson: no mode answers for the person.
func (j *fileJudgement) needsPerson() bool {
	return len(j.widened) > 0 || j.undo != nil && j.undo.guarded
}

// judgeFile resolves the real objects of a request, and judges
// it. It changes nothing and asks nobody.
func (s *Supervisor) judgeFile(ctx context.Context, c *fileCall) (*fileJudgement, error) {
	cfg, warnings, err := s.projectConfig(c.sess)
	if err != nil {
		return nil, err
	}
	j := &fileJudgement{cfg: cfg, warnings: warnings, request: c.req.Request}
	if err := s.fileRules(c.sess, j); err != nil {
		return nil, err
	}
	for _, p := range []string{c.req.Path, c.req.To} {
		if p == "" {
			continue
		}
		// A path that can't be meant is no path outside.
		var bad *files.Conflict
		if _, _, err := j.rules.Absolute(p); errors.As(err, &bad) {
			bad.Op = c.req.Op
			return nil, bad
		}
	}
	trusted := s.trusted(c.sess, cfg)
	base, operator, err := s.profiles(cfg, c.sess, trusted, "none")
	if err != nil {
		return nil, err
	}
	j.operator = operator
	if j.plan, err = s.workerPlan(cfg, base, operator); err != nil {
		return nil, err
	}
	if level := j.plan.Report.Level(); level != sandbox.Enforced {
		j.warnings = append(j.warnings, j.plan.Report.Degraded()...)
	}
	if c.req.Op == files.Undo {
		err = s.lookUndo(ctx, c, j)
	} else {
		err = s.lookFile(ctx, c, j)
	}
	if err != nil {
		return nil, err
	}
	s.considerTrust(c, j, trusted)
	if j.profile, err = s.filesProfile(c, j, base); err != nil {
		return nil, err
	}
	j.digest = j.digestOf(c)
	return j, nil
}

// fileRules compiles the rules for a session.
func (s *Supervisor) fileRules(sess *Session, j *fileJudgement) error {
	at := s.linksOf(j.cfg, sess)
	tools, err := s.tools(j.cfg, sess, true, "none", at)
	if err != nil {
		return err
	}
	place := files.Place{Project: sess.Root, Roots: map[string]string{}}
	for _, r := range tools.Roots {
		place.Roots[r.Name] = filepath.Clean(r.Path)
		if real, loose := at.resolve(place.Roots[r.Name]); !loose {
			place.Roots[r.Name] = real
		}
	}
	j.setup = worker.Setup{Config: j.cfg.Files, Place: place}
	j.rules, err = files.NewRules(j.cfg.Files, place)
	return err
}

// workerPlan is how a worker under p is confined on this host. Leases tell it whether another program has a file open
// for writing.
func (s *Supervisor) workerPlan(cfg *config.Config, p profile.Profile,
	operator *profile.Profile) (*sandbox.Plan, error) {
	command, err := s.worker.command()
	if err != nil {
		return nil, err
	}
	return s.Host.Plan(sandbox.Request{Profile: p.WithLeases(), Operator: operator, Command: command,
		Require: Required(cfg.Sandbox.RequireOSSandbox)})
}

// lookFile gets the facts of a request and judges by them.
func (s *Supervisor) lookFile(ctx context.Context, c *fileCall, j *fileJudgement) error {
	look := func() error {
		return c.sess.files.use(ctx, s, j.plan, j.setup, func(client *worker.Client) (err error) {
			j.facts, err = client.Facts(ctx, j.request)
			return err
		})
	}
	if err := look(); err != nil {
		return err
	}
	j.verdict = j.rules.Judge(j.request, j.facts)
	if j.verdict.Quiet && !j.request.Quiet {
		// Reading would ask, so a conflict must not show the file's content.
		j.request.Quiet = true
		if err := look(); err != nil {
			return err
		}
		j.verdict = j.rules.Judge(j.request, j.facts)
	}
	j.conflict = j.facts.Conflict
	return nil
}

// considerTrust lets a yes to the first change of an untrusted project trust it,
// as it does for commands.
func (s *Supervisor) considerTrust(c *fileCall, j *fileJudgement, trusted bool) {
	v := &j.verdict
	changes := []string{v.Path, v.To}
	if c.req.Op == files.Copy {
		changes = changes[1:]
	}
	inside := slices.ContainsFunc(changes, func(p string) bool { return p != "" && abspath.Contains(c.sess.Root, p) })
	if trusted || c.req.Op.Reads() || v.Decision == files.Block || !inside {
		return
	}
	j.trusts = true
	if v.Decision == files.Auto {
		v.Decision, v.Safe, v.Configured = files.Ask, false, false
		v.Why, v.Rule, v.Reasons = "the project is not trusted yet", "trust", nil
	}
	v.Reasons = append(v.Reasons, trustReason(c.sess, false))
}

// filesProfile is the profile for the effect; it notes in j the paths that are widened for it.
func (s *Supervisor) filesProfile(c *fileCall, j *fileJudgement, base profile.Profile) (profile.Profile, error) {
	p := base
	if j.trusts {
		var err error
		if p, _, err = s.profiles(j.cfg, c.sess, true, "none"); err != nil {
			return p, err
		}
	}
	if c.req.Op.Reads() || c.req.Drop || j.verdict.Decision == files.Block {
		return p, nil
	}
	j.widened = protectedPlaces(p, j.changed())
	if v := &j.verdict; len(j.widened) > 0 && !v.Protected {
		// The file rules do not list it, and the sandbox still holds it.
		why := j.widened[0] + " is protected in every sandbox of this session"
		v.Decision, v.Protected, v.Safe, v.Configured, v.Risk = files.Ask, true, false, false, approval.RiskHigh
		v.Why, v.Rule, v.Reasons = why, "sandbox.read_only", append(v.Reasons, why)
	}
	return widenFiles(p, j.operator, j.widened)
}

// changed are the paths that the effect changes.
func (j *fileJudgement) changed() []string {
	if j.undo != nil {
		return stepPaths(j.undo.steps)
	}
	var list []string
	if j.request.Op != files.Copy {
		list = append(list, j.facts.Path.Real)
		for _, name := range j.facts.Path.Holds {
			list = append(list, filepath.Join(j.facts.Path.Real, name))
		}
	}
	if j.facts.To != nil {
		list = append(list, j.facts.To.Real)
	}
	return list
}

func stepPaths(steps []files.Step) []string {
	var list []string
	for _, s := range steps {
		for _, p := range []string{s.Path, s.To} {
			if p != "" && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// protectedPlaces are the grants needed to change paths that p protects:
// the path itself, or where its folder is protected, too, that folder,
// since a file is replaced by another beside it.
func protectedPlaces(p profile.Profile, paths []string) []string {
	protected := func(path string) bool {
		kind, _, _ := p.Effective(path)
		return kind == profile.Protect
	}
	var list []string
	for _, path := range paths {
		if !protected(path) {
			continue
		}
		place := path
		for dir := filepath.Dir(path); protected(dir); dir = filepath.Dir(dir) {
			place = dir
			if _, err := os.Lstat(dir); err == nil {
				break
			}
		}
		if !slices.Contains(list, place) {
			list = append(list, place)
		}
	}
	return list
}

// widenFiles grants places the access of the paths around them, within the
// operator's ceiling.
func widenFiles(p profile.Profile, operator *profile.Profile, places []string) (profile.Profile, error) {
	if len(places) == 0 {
		return p, nil
	}
	for _, place := range places {
		around := filepath.Dir(place)
		kind, access, _ := p.Effective(around)
		for kind == profile.Protect && around != "/" {
			around = filepath.Dir(around)
			kind, access, _ = p.Effective(around)
		}
		var err error
		if p, err = p.With(profile.Grant{Path: place, Access: access, Origin: "this file operation"}); err != nil {
			return p, err
		}
	}
	if operator != nil {
		p = p.Intersect(*operator)
	}
	return p, nil
}

// digestOf binds an answer to the request shown and to the operation that will be done.
func (j *fileJudgement) digestOf(c *fileCall) string {
	undo := ""
	if j.undo != nil {
		undo = fmt.Sprint(j.undo.id, " ", j.undo.digest, " ", c.req.Rest, " ", c.req.Drop, " ", c.req.Paths, j.undo.asks)
	}
	return digestJSON(struct {
		Request                 files.Request
		Content, Facts, Profile string
		Undo                    string
		Force                   bool
		Widened                 []string
	}{j.request, files.Sum(j.request.Content), j.facts.Digest(), j.profile.Digest().String(), undo, c.req.Force,
		j.widened})
}

// digestJSON is a digest of anything that JSON can hold.
func digestJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("supervisor: %T can't be encoded: %v", v, err))
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// setupKey distinguishes rules.
func setupKey(s worker.Setup) string { return digestJSON(s) }

// fileApproval puts a judgement to the approval controller.
func (s *Supervisor) fileApproval(c *fileCall, j *fileJudgement) approval.Call {
	v := j.verdict
	call := approval.Call{
		ID: c.req.CallID, Principal: c.sess.principal(), Session: c.sess.ID, Agent: c.sess.Agent, Batch: c.req.Batch,
		Project: c.sess.Root,
		Tool:    v.Tool, Payload: v.Payload, Digest: j.digest, Cwd: c.sess.Root, Inline: c.req.Inline, Class: v.Class(),
		Present: func(ctx context.Context) (*approval.Presentation, error) { return s.present(ctx, c, j) },
		Asked: func(p approval.Pending) {
			if c.run != nil {
				c.run.log.add(Event{Kind: EventAsked, Pending: &p})
			}
			c.exec.mu.Lock()
			c.exec.digest, c.exec.report = j.profile.Digest().String(), j.plan.Report
			c.exec.mu.Unlock()
		},
	}
	if v.Decision == files.Block {
		call.Blocked = &approval.BlockedError{Reason: v.Why, Rule: v.Rule}
		return call
	}
	call.Request, _ = v.Request() // only a block is an error
	if call.Request == nil {
		return call
	}
	call.Request.GroupID = c.req.Group
	if j.undo != nil {
		call.Paths = j.undo.paths
	}
	if note := j.backupNote(); note != "" {
		call.Request.Notes = append(call.Request.Notes, note)
	}
	for _, path := range j.widened {
		call.Request.Reasons = append(call.Request.Reasons, "may change the protected "+path+", for this once")
	}
	if j.trusts {
		// Trust is more than this one change, so nothing that was granted before
		// may answer for it.
		call.Class.Rule, call.Class.RuleText = approval.RuleAsk, "project not trusted yet"
		call.Trusts = s.trustsFor(j.cfg, false)
	}
	return call
}

// backupNote names the backup in the undo store; empty for a change that loses nothing.
func (j *fileJudgement) backupNote() string {
	lost := j.facts.Path.Kind != files.Absent && j.request.Op != files.Copy ||
		j.facts.To != nil && j.facts.To.Kind != files.Absent
	if j.undo != nil || j.request.Op.Reads() || !lost {
		return ""
	}
	note := "a backup is kept"
	switch d := j.cfg.Files.Undo.KeepFor; {
	case d >= 48*time.Hour:
		note += fmt.Sprintf(" for up to %d days", d/(24*time.Hour))
	case d > 0:
		note += fmt.Sprintf(" for up to %s", config.Duration(d))
	}
	return note + "; sbx undo restores it"
}

// present builds the presentation of the change for a person.
func (s *Supervisor) present(ctx context.Context, c *fileCall, j *fileJudgement) (*approval.Presentation, error) {
	if j.undo != nil {
		return s.presentUndo(ctx, c, j)
	}
	var p files.Preview
	err := c.sess.files.use(ctx, s, j.plan, j.setup, func(client *worker.Client) (err error) {
		p, err = client.Preview(ctx, j.request)
		return err
	})
	if err != nil {
		return nil, err
	}
	return files.Presentation(j.request, j.facts, p), nil
}

// fileRecord has the common fields of the records of a file operation.
func fileRecord(c *fileCall, j *fileJudgement) audit.Record {
	v := j.verdict
	r := audit.Record{
		Category: audit.File, Session: c.sess.ID, Turn: c.sess.Turn(), Agent: c.sess.Agent.String(),
		Claimed: c.sess.Agent.ID == "",
		Peer:    auditPeer(c.exec.Peer), Tool: v.Tool, CallID: c.req.CallID, ExecID: c.exec.ID, Subject: v.Description,
		Risk: string(v.Risk), Reasons: v.Reasons, Rule: v.Rule, Digest: j.digest,
		Profile: j.profile.Digest().String(), Enforcement: string(j.plan.Report.Level()), Gaps: j.plan.Report.Degraded(),
	}
	if b, err := json.Marshal(v.Payload); err == nil {
		r.Input = b
	}
	for _, l := range j.plan.Report.Layers {
		if l.Active {
			r.Layers = append(r.Layers, l.Name)
		}
	}
	return r
}
