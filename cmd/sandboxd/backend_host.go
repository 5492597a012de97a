package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/approval"
	"sandboxd/ipc"
	"sandboxd/profile"
	"sandboxd/shell"
	"sandboxd/supervisor"
)

func (b *backend) Version(context.Context, ipc.Caller) (ipc.Version, error) {
	return ipc.Version{Product: ipc.Product, Version: ipc.Release, Protocol: ipc.Protocol, PID: os.Getpid(),
		UID: os.Geteuid(), Features: b.features()}, nil
}

func (b *backend) Status(ctx context.Context, c ipc.Caller) (ipc.Status, error) {
	v, err := b.Version(ctx, c)
	report := b.sup.Host.Report()
	st := ipc.Status{Version: v, Started: b.started, Mode: wireModeName(b.approvals.Mode(approval.SessionRef{}).Mode),
		Scope:       "user",
		Enforcement: wireEnforcement(report), Degraded: report.Degraded(), Sessions: len(b.sup.Sessions(servedUser())),
		Running: b.sup.Running(), Pending: len(b.approvals.Pending(viewer(c))), Config: b.configFiles(),
		Warnings: append(b.wireWarnings(), b.waitingForRestart()...), StateDir: b.dirs.state}
	st.Idle = b.leaves()
	return st, err
}

// configFiles says which layers there are and which were read.
func (b *backend) configFiles() []ipc.ConfigFile {
	paths := b.sup.Paths()
	list := []ipc.ConfigFile{}
	for _, l := range []struct{ path, layer string }{{paths.Operator, "operator"}, {paths.User, "user"}} {
		if l.path == "" {
			continue
		}
		_, err := os.Stat(l.path)
		list = append(list, ipc.ConfigFile{Path: l.path, Layer: l.layer, Loaded: err == nil})
	}
	for _, p := range b.sup.Config().Profiles {
		list = append(list, ipc.ConfigFile{Path: p.File, Layer: "profile", Loaded: true})
	}
	return list
}

func (b *backend) wireWarnings() []ipc.Warning {
	b.mu.Lock()
	list := []ipc.Warning{}
	for _, w := range b.warnings {
		list = append(list, ipc.Warning{Where: w.Origin.String(), Message: w.Text})
	}
	b.mu.Unlock()
	list = append(list, b.conditions()...)
	for _, d := range b.sup.Host.Report().Degraded() {
		list = append(list, ipc.Warning{Where: "this host", Message: d, Hint: "sbx doctor"})
	}
	return list
}

// Doctor reports the host's layers and, where asked, attempts each forbidden
// act for real inside a sandbox.
func (b *backend) Doctor(ctx context.Context, c ipc.Caller, r ipc.DoctorRequest) (ipc.Doctor, error) {
	unheld, err := b.sup.UnheldOf(nil)
	if err != nil {
		return ipc.Doctor{}, wireError(err)
	}
	report := b.sup.Host.Report().With(unheld)
	d := ipc.Doctor{Enforcement: wireEnforcement(report), Findings: []ipc.Finding{}}
	for _, l := range report.Layers {
		d.Findings = append(d.Findings, ipc.Finding{Name: "layer " + l.Name, OK: l.Active, Proved: l.Active,
			Detail: strings.TrimSpace(l.Version + " " + l.Why), Remedy: l.Remedy})
	}
	if !r.Prove {
		return d, nil
	}
	findings, err := b.sup.Prove(ctx, peerOf(c.Peer))
	if err != nil {
		return d, wireError(err)
	}
	for _, f := range findings {
		d.Findings = append(d.Findings, ipc.Finding{Name: f.Name, OK: f.OK, Proved: f.Proved, Detail: f.Detail,
			Remedy: f.Remedy, TookMS: f.Took.Milliseconds()})
	}
	return d, nil
}

func (b *backend) Profile(_ context.Context, c ipc.Caller, r ipc.ProfileRequest) (ipc.Profile, error) {
	p, err := b.profileOf(c, r.Session)
	if err != nil {
		return ipc.Profile{}, err
	}
	answer := ipc.Profile{Digest: p.Digest().String()}
	switch {
	case r.Path != "":
		if !filepath.IsAbs(r.Path) {
			return ipc.Profile{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("path %q is not absolute", r.Path)}
		}
		path := supervisor.RealPath(r.Path)
		answer.Explain = append(strings.Split(strings.TrimSpace(p.Explain(path)), "\n"), permit(p, path)...)
		answer.Explain = append(answer.Explain, linked(p, filepath.Clean(r.Path), path)...)
		answer.Explain = append(answer.Explain, b.unheld(c, r.Session, path)...)
	case r.Against != "":
		q, err := b.profileOf(c, r.Against)
		if err != nil {
			return ipc.Profile{}, err
		}
		answer.Diff = diffLines(q.String(), p.String())
	default:
		answer.Text = p.String()
		if s, err := b.anySession(c, r.Session); r.Session != "" && err == nil {
			answer.Text += fmt.Sprintf("environment always=%v\n", s.Always(p))
		}
	}
	return answer, nil
}

// permit says how to show commands the host's entry at path, if it is hidden from them.
func permit(p profile.Profile, path string) []string {
	how := fmt.Sprintf("  to show it: [sandbox] read = [%q], then sbx config reload", path)
	switch kind, _, rule := p.Effective(path); {
	case strings.HasPrefix(path+"/", "/proc/") || strings.HasPrefix(path+"/", "/dev/"):
		return nil
	case kind == profile.Private:
		return []string{"  commands can't see what this host has there: they find an empty place of their own", how}
	case kind == profile.Hide && rule == (profile.Rule{}):
		return []string{how}
	}
	return nil
}

// unheld reports the limits of the file tool at path that commands do not have.
func (b *backend) unheld(c ipc.Caller, session, path string) (lines []string) {
	s, err := b.anySession(c, session)
	if err != nil {
		return nil // without a session there is no project to look in
	}
	gaps, err := b.sup.UnheldOf(s)
	if err != nil {
		return []string{"  " + err.Error()}
	}
	for _, g := range gaps {
		if path == g.Object || strings.HasPrefix(path, g.Object+"/") {
			lines = append(lines, fmt.Sprintf("  not held: %s: %s (%s)", g.Protection, g.Why, g.Remedy))
		}
	}
	return lines
}

// linked warns that the symlink path → real does not exist inside the sandbox, where path is private.
func linked(p profile.Profile, path, real string) []string {
	at, _, _ := p.Effective(path)
	to, _, _ := p.Effective(real)
	if path == real || at != profile.Private && at != profile.Hide || to != profile.Allow && to != profile.Protect {
		return nil
	}
	return []string{fmt.Sprintf("  %s leads there by a symbolic link that commands do not have: they find it under the "+
		"name above", path)}
}

func (b *backend) profileOf(c ipc.Caller, session string) (profile.Profile, error) {
	if session == "" {
		p, err := b.sup.OperatorProfile(servedUser())
		return p, wireError(err)
	}
	s, err := b.anySession(c, session)
	if err != nil {
		return profile.Profile{}, err
	}
	p, err := b.sup.ProfileOf(s)
	return p, wireError(err)
}

// diffLines lists the lines that only one of two sorted listings has.
func diffLines(old, new string) []string {
	had := map[string]bool{}
	for _, l := range strings.Split(old, "\n") {
		had[l] = true
	}
	has := map[string]bool{}
	var diff []string
	for _, l := range strings.Split(new, "\n") {
		has[l] = true
		if !had[l] {
			diff = append(diff, "+"+l)
		}
	}
	for _, l := range strings.Split(old, "\n") {
		if !has[l] {
			diff = append(diff, "-"+l)
		}
	}
	return diff
}

func (b *backend) Sessions(_ context.Context, c ipc.Caller) (ipc.SessionList, error) {
	list := ipc.SessionList{Sessions: []ipc.SessionInfo{}}
	all := b.sup.Sessions(servedUser())
	if outer := b.sup.SandboxOf(peerOf(c.Peer)); outer != nil {
		all = slices.DeleteFunc(all, func(s *supervisor.Session) bool { return s.Outer() != outer })
	}
	asking := map[*supervisor.Exec]bool{}
	for _, p := range b.approvals.Pending(viewer(c)) {
		asking[b.execOf(p)] = true
	}
	for _, s := range all {
		mode := b.approvals.Mode(s.Ref())
		info := ipc.SessionInfo{ID: s.ID, Kind: string(s.Kind), Agent: s.Agent.Name, Claimed: s.Agent.Name != "",
			Label: s.Label,
			Root:  s.Root, Trusted: b.sup.Trusted(s), Contained: b.sup.ContainedPolicy(s),
			Mode: wireModeName(mode.Mode), UID: s.Peer.UID, PID: s.Peer.PID,
			Opened: s.Opened, LastUsed: s.LastUsed(), Turn: s.Turn()}
		for _, e := range s.Unfinished() {
			info.Running = append(info.Running, e.ID)
			line, argv, _ := e.ShownRequest()
			if line == "" {
				line = shell.Quote(argv)
			}
			info.Commands = append(info.Commands, ipc.SessionCommand{ID: e.ID, Command: line, Waiting: asking[e]})
		}
		if !mode.Until.IsZero() {
			info.ModeEnds = &mode.Until
		}
		if b.approvals.Stopped(s.Ref()) {
			info.Stopped = "stopped by a person"
		}
		for _, o := range all {
			if o != s && supervisor.Overlap(o.Root, s.Root) {
				info.Overlaps = append(info.Overlaps, o.ID)
			}
		}
		list.Sessions = append(list.Sessions, info)
	}
	return list, nil
}

// jobs are those that a caller may see.
func (b *backend) jobs(c ipc.Caller) (list []*supervisor.Job) {
	outer := b.sup.SandboxOf(peerOf(c.Peer))
	for _, s := range b.sup.Sessions(servedUser()) {
		if outer == nil || s.Outer() == outer {
			list = append(list, s.Jobs()...)
		}
	}
	return list
}

// job finds a job for a caller: on agent.sock with the session's secret.
func (b *backend) job(c ipc.Caller, id string) (*supervisor.Job, error) {
	all := b.jobs(c)
	i := slices.IndexFunc(all, func(j *supervisor.Job) bool { return j.ID == id })
	if i < 0 {
		return nil, &ipc.Error{Code: ipc.CodeNotFound, Message: fmt.Sprintf("there is no job %q", id), Hint: "sbx jobs"}
	}
	if c.Role != ipc.RoleApprover {
		if _, err := b.session(c, all[i].Session.ID); err != nil {
			return nil, err
		}
	}
	return all[i], nil
}

func (b *backend) Jobs(_ context.Context, c ipc.Caller) (ipc.JobList, error) {
	list := ipc.JobList{Jobs: []ipc.Job{}}
	for _, j := range b.jobs(c) {
		list.Jobs = append(list.Jobs, wireJob(j))
	}
	return list, nil
}

func (b *backend) Job(_ context.Context, c ipc.Caller, r ipc.JobRequest) (ipc.Job, error) {
	j, err := b.job(c, r.ID)
	if err != nil {
		return ipc.Job{}, err
	}
	w := wireJob(j)
	w.Log, w.CutBytes = j.Log()
	return w, nil
}

func (b *backend) StopJob(ctx context.Context, c ipc.Caller, r ipc.JobRequest) (ipc.Job, error) {
	j, err := b.job(c, r.ID)
	if err != nil {
		return ipc.Job{}, err
	}
	by := "its session's program"
	if c.Role == ipc.RoleApprover {
		by = "a person"
	}
	j.Stop(by)
	select {
	case <-j.Done():
		return wireJob(j), nil
	case <-ctx.Done():
		return ipc.Job{}, context.Cause(ctx)
	}
}

func wireJob(j *supervisor.Job) ipc.Job {
	w := ipc.Job{ID: j.ID, Session: j.Session.ID, Command: j.Command, Started: j.Started}
	if ended, why := j.State(); !ended.IsZero() {
		w.Ended, w.Why = &ended, why
	}
	return w
}

// checkTool decides a call of a tool that the agent runs itself (R-AP-24).
func (b *backend) checkTool(ctx context.Context, c ipc.Caller, s *supervisor.Session, r ipc.CheckRequest,
	place place) (ipc.Verdict, error) {
	args, err := decodeArgs(r.Args)
	if err != nil {
		return ipc.Verdict{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: "args: " + err.Error()}
	}
	v, err := b.sup.CheckTool(ctx, s, peerOf(c.Peer), supervisor.ToolRequest{CallID: r.CallID, Tool: r.Tool, Args: args,
		Cwd: r.Cwd, DryRun: r.DryRun, Inline: b.inline(c, s, r.Inline), Description: r.Description,
		Batch: place.batch, Group: place.group, Next: place.next, Contained: r.Sandboxed || fromOurServer(c.Peer, r.Tool)})
	if err != nil {
		return ipc.Verdict{}, wireError(err)
	}
	return wireVerdict(v), nil
}

var errTrailing = errors.New("more than one JSON value")

// features lists the features that the configuration enables.
func (b *backend) features() []string {
	if b.sup.Config().Sandbox.AgentSocket {
		return []string{ipc.FeatureAgentSocket}
	}
	return []string{}
}
