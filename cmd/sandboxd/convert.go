package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/approval"
	"sandboxd/ipc"
	"sandboxd/sandbox"
	"sandboxd/shell"
	"sandboxd/supervisor"
)

func wireEnforcement(r sandbox.Report) ipc.Enforcement {
	e := ipc.Enforcement{Level: ipc.Level(r.Level()), Layers: make([]ipc.Layer, 0, len(r.Layers)),
		Protections: make([]ipc.Protection, 0, len(r.Protections))}
	for _, l := range r.Layers {
		e.Layers = append(e.Layers, ipc.Layer{Name: l.Name, Active: l.Active, Version: l.Version, Why: l.Why})
	}
	for _, p := range r.Protections {
		e.Protections = append(e.Protections, ipc.Protection{Name: p.Name, Level: ipc.Level(p.Level), By: p.By,
			Missing: p.Missing, Why: p.Why, Remedy: p.Remedy})
	}
	return e
}

func wireCounts(s approval.Stats) ipc.Counts {
	return ipc.Counts{Total: int64(s.Total), Approved: int64(s.Approved), Denied: int64(s.Denied),
		AutoApproved:    int64(s.AutoApproved),
		DoubleConfirmed: int64(s.DoubleConfirmed), TimedOut: int64(s.TimedOut), Quit: int64(s.Quit)}
}

func wireMode(session string, m approval.ModeStatus) ipc.Mode {
	w := ipc.Mode{Session: session, Mode: wireModeName(m.Mode)}
	if !m.Until.IsZero() {
		w.Ends, w.By = &m.Until, m.By.String()
	}
	return w
}

func wireTrust(t supervisor.Trust) ipc.Trust {
	return ipc.Trust{Dir: t.Dir, UID: t.UID, Dev: t.Device, Inode: t.Inode, Since: t.At, By: t.By,
		Contained: t.Contained}
}

func wireGrant(g approval.Grant) ipc.Grant {
	w := ipc.Grant{ID: g.ID, Allow: g.Effect == approval.Allow, Scope: string(g.Scope), Tool: g.Match.Tool,
		What:    g.Description,
		Session: g.Session, Project: g.Project, Agent: g.Agent, UID: g.Principal.UID, By: g.By.String(),
		Note: g.Why, Created: g.Created, Uses: int(g.Uses)}
	if !g.Expires.IsZero() {
		w.Expires = &g.Expires
	}
	if !g.LastUsed.IsZero() {
		w.LastUse = &g.LastUsed
	}
	return w
}

func wireDecided(d approval.Decision) ipc.Decided {
	w := ipc.Decided{ID: d.Request, Allowed: d.Approved, Reason: string(d.Reason), Scope: string(d.Scope), Why: d.Why,
		How:  string(d.How),
		Rule: d.Rule, Grant: d.Grant, Note: d.Note, Time: d.At}
	if w.By = string(d.Layer); d.How == approval.HowPerson {
		w.By = d.By.String()
	}
	if !d.Approved {
		w.Mode = string(d.Reject)
	}
	return w
}

// wireRisk uses the wire's words.
func wireRisk(r approval.Risk) string {
	if r == approval.RiskNormal || r == "" {
		return "medium"
	}
	return string(r)
}

// distinct drops empty and repeated strings.
func distinct(list []string) []string {
	var out []string
	for _, s := range list {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (b *backend) wireApproval(e *supervisor.Exec, p approval.Pending) ipc.Approval {
	a := ipc.Approval{ID: p.ID, Rev: p.Rev, Hash: p.Hash, Session: p.Session, Agent: p.AgentShown,
		Claimed: p.Agent.ID == "",
		UID:     p.Principal.UID, CallID: p.CallID, Tool: p.Tool, Description: p.Description, Cwd: p.Cwd,
		Risk:    wireRisk(p.Risk),
		Reasons: p.Reasons, Dangerous: p.Dangerous, Outside: p.Outside, Protected: p.Protected, Delete: p.Delete,
		Confirm: p.Twice, Inline: p.Inline, Client: p.Client, BlockedPath: p.BlockedPath, Notes: p.Notes, GroupID: p.GroupID,
		Count: 1 + len(p.Same), Created: p.Asked}
	a.Reasons = distinct(append([]string{p.Why}, a.Reasons...))
	if !p.Deadline.IsZero() {
		a.Deadline = &p.Deadline
	}
	for _, s := range p.AllowScopes {
		a.Scopes = append(a.Scopes, string(s))
	}
	for i, s := range p.Suggestions {
		a.Suggestions = append(a.Suggestions, ipc.Suggestion{ID: strconv.Itoa(i + 1), Label: s.Label})
	}
	for i, w := range p.Widenings {
		a.Widenings = append(a.Widenings, ipc.Widening{ID: strconv.Itoa(i + 1), Object: w.Value, Label: w.Description})
	}
	a.OnlyWidened, a.Paths = p.OnlyWidened, p.Paths
	for _, p := range p.Presets {
		a.Presets = append(a.Presets, ipc.Preset(p))
	}
	for _, t := range p.Trusts {
		a.Trusts = append(a.Trusts, string(t))
	}
	for _, w := range p.Warnings {
		a.Warnings = append(a.Warnings, ipc.Warning{Message: w})
	}
	if p.Batch.ID != "" {
		a.Batch = &ipc.BatchPlace{ID: p.Batch.ID, Index: p.Batch.Index - 1, Total: p.Batch.Total, GroupID: p.GroupID}
		for _, r := range p.Batch.Remaining {
			a.Batch.Remaining = append(a.Batch.Remaining, wireRemaining(r))
		}
	}
	if raw, err := json.Marshal(p.Input); err == nil && p.Input != nil {
		a.Input = raw
	}
	if e == nil {
		return a
	}
	if e.Runs() {
		a.ExecID = e.ID
	}
	a.PID, a.Exe, a.Root, a.Label = e.Peer.PID, e.Peer.Exe, e.Session.Root, e.Session.Label
	a.Command, a.Argv, a.Claim = e.ShownRequest()
	if p.Tool != supervisor.NetworkTool { // of a host, not of its command
		a.Rule = e.Rule()
	}
	if p, report, ok := e.Shown(); ok {
		enforcement := wireEnforcement(report)
		a.Profile, a.Enforcement = p.Digest().String(), &enforcement
		if e.Runs() { // a file operation names its paths itself
			a.Sandbox = reach(p, e.Session.Root, e.Session.Home)
		}
	}
	return a
}

// wireRemaining is a call that is still to come. Arguments that can't be written
// as JSON are left out; Command describes the call in any case.
func wireRemaining(r approval.Remaining) ipc.NextCall {
	n := ipc.NextCall{Tool: r.Tool, Command: r.Description, Asks: stillAsks(r)}
	if raw, err := json.Marshal(r.Args); err == nil && len(r.Args) > 0 {
		n.Args = raw
	}
	return n
}

// stillAsks says why a yes to the whole batch leaves a call out (R-AP-10).
func stillAsks(r approval.Remaining) string {
	switch {
	case r.Delete:
		return "it deletes"
	case r.Dangerous:
		return "it is dangerous"
	case r.Protected:
		return "it changes what is protected"
	case !r.Viewed():
		return "it can't be judged before its turn"
	}
	return ""
}

func (b *backend) wireEvent(x *supervisor.Exec, e supervisor.Event) ipc.Event {
	w := ipc.Event{Seq: e.Seq, Time: e.Time, Type: ipc.EventType(e.Kind), Data: e.Data}
	switch e.Kind {
	case supervisor.EventAsked:
		w.Type = ipc.EventApproval
		a := b.wireApproval(x, *e.Pending)
		w.Approval = &a
	case supervisor.EventDecided:
		w.Type = ipc.EventApproval
		d := wireDecided(*e.Decision)
		w.Decision = &d
	case supervisor.EventStarted:
		d := ipc.DecisionAuto
		if e.Started.Decision.How == approval.HowPerson {
			d = ipc.DecisionAsk
		}
		w.Started = &ipc.Started{Decision: d, Rule: e.Started.Decision.Rule, Why: e.Started.Decision.Why,
			ProfileDigest: e.Started.Digest, Warm: e.Started.Warm,
			Enforcement: wireEnforcement(e.Started.Report), Warnings: wireTexts(e.Started.Warnings)}
	case supervisor.EventChanges, supervisor.EventLanded:
		w.Change = wireChangeSet(x.Session.ID, e.Change)
	case supervisor.EventCut:
		w.Type = ipc.EventGap
		w.Gap = &ipc.Gap{From: e.Seq, To: e.Seq, Bytes: e.Cut}
	case supervisor.EventEnded:
		w.Type = ipc.EventExit
		w.Exit = wireExit(*e.Result)
	}
	return w
}

func wireTexts(list []string) []ipc.Warning {
	var out []ipc.Warning
	for _, s := range list {
		out = append(out, ipc.Warning{Message: s})
	}
	return out
}

func wireExit(r supervisor.Result) *ipc.Exit {
	x := &ipc.Exit{Code: r.Code, CutBytes: r.Cut, Uncapped: r.Uncapped, DurationMS: r.Exit.Wall.Milliseconds(),
		Enforcement: wireEnforcement(r.Report), Warnings: wireTexts(r.Warnings)}
	for _, v := range r.Violations {
		x.Violations = append(x.Violations, ipc.Violation{Kind: v.Kind, Object: v.Object, Access: v.Op, By: v.By,
			Rule: v.Rule,
			Hint: v.Hint, Count: v.Count, Minor: v.Minor})
	}
	for _, i := range r.Quarantined {
		x.Quarantined = append(x.Quarantined, ipc.Quarantined{Path: i.Path, Why: i.Why, Kept: i.Kept,
			Undo: supervisor.QuarantineID(i)})
	}
	x.Changes, x.Job, x.JobRefused = wireRunChanges(r.Changes), r.Job, r.JobRefused
	switch r.Outcome {
	case supervisor.Ran:
		if sig := r.Exit.Signal; sig != 0 {
			x.Signal, x.SignalNum = unix.SignalName(sig), int(sig)
		}
		switch c := r.Exit.Cause; c {
		case "":
		case sandbox.EndCancelled, sandbox.EndClient, sandbox.EndSession, sandbox.EndShutdown, sandbox.EndServer:
			x.Cancelled = true
			x.Warnings = append(x.Warnings, ipc.Warning{Message: r.Message})
		default:
			x.TimedOut = c == sandbox.EndWall
			x.LimitsHit = []string{string(c)}
			x.Warnings = append(x.Warnings, ipc.Warning{Message: r.Message})
		}
	case supervisor.Refused, supervisor.Blocked, supervisor.NoAnswer, supervisor.Stopped:
		x.Denied = wireDenial(r)
	default:
		x.Error = &ipc.Error{Code: errorCode(r), Message: r.Message}
	}
	return x
}

// maxRunPaths bounds the paths of a run's change set that its result lists.
const maxRunPaths = 100

func wireRunChanges(c *supervisor.Changes) *ipc.RunChanges {
	if c == nil {
		return nil
	}
	paths := slices.Concat(c.Created, c.Modified, c.Deleted)
	var landed *bool
	if c.Kind == supervisor.RunLayered {
		landed = &c.Landed
	}
	return &ipc.RunChanges{
		Kind: string(c.Kind), Direct: c.Direct, Landed: landed, Exit: c.Own, Held: c.Held, HeldID: c.HeldID, Digest: c.Digest,
		Covered: c.Covered, Why: c.Why, LeftOut: c.LeftOut, Skipped: c.Skipped, Undo: c.Undo,
		Created: len(c.Created), Modified: len(c.Modified), Deleted: len(c.Deleted),
		Paths: paths[:min(len(paths), maxRunPaths)], Build: c.Build[:min(len(c.Build), maxRunPaths)],
	}
}

func errorCode(r supervisor.Result) ipc.Code {
	switch {
	case r.Outcome == supervisor.NotFound && r.Code == 127:
		return ipc.CodeNotFound
	case r.Outcome == supervisor.NotFound:
		return ipc.CodeForbidden
	case r.Outcome == supervisor.Unenforced:
		return ipc.CodeUnenforced
	case r.Outcome == supervisor.Unrecorded:
		return ipc.CodeAudit
	}
	return ipc.CodeInternal
}

func wireDenial(r supervisor.Result) *ipc.Denial {
	codes := map[supervisor.Outcome]ipc.Code{supervisor.Refused: ipc.CodeDenied, supervisor.Blocked: ipc.CodeBlocked,
		supervisor.NoAnswer: ipc.CodeTimeout, supervisor.Stopped: ipc.CodeStopped}
	d := wireDecided(r.Decision)
	return &ipc.Denial{Code: codes[r.Outcome], Message: r.Message, Note: r.Decision.Note, By: d.By, Mode: d.Mode}
}

func wireVerdict(v supervisor.Verdict) ipc.Verdict {
	w := ipc.Verdict{ID: v.Decision.Request, Allowed: v.Decision.Approved, Why: v.Why, Rule: v.Rule,
		Risk:    wireRisk(v.Risk),
		Reasons: v.Reasons, Description: v.Description, ProfileDigest: v.Digest, Warnings: wireTexts(v.Warnings),
		Ticket: ipc.Secret(v.Ticket)}
	switch {
	case v.Asks:
		w.Decision = ipc.DecisionAsk
	case v.Refuses:
		w.Decision = ipc.DecisionDeny
	default:
		w.Decision = ipc.DecisionAuto
	}
	for _, p := range v.Parts {
		w.Explain = append(w.Explain, p.Decision.String()+": "+strings.TrimSpace(p.Text)+": "+p.Why+ruleSuffix(p))
	}
	for i, s := range v.Suggestions {
		w.Suggestions = append(w.Suggestions, ipc.Suggestion{ID: strconv.Itoa(i + 1), Label: s.Label})
	}
	if v.Denied != nil {
		w.Denied = wireDenial(*v.Denied)
	}
	if v.Report.Layers != nil {
		e := wireEnforcement(v.Report)
		w.Enforcement = &e
	}
	return w
}

func ruleSuffix(p shell.Part) string {
	if p.Rule == "" {
		return ""
	}
	return " [" + p.Rule + "]"
}

func (b *backend) wireNews(_ context.Context, c ipc.Caller, e approval.Event) ipc.News {
	n := ipc.News{Seq: e.Seq, Time: e.Time, Type: string(e.Kind)}
	switch e.Kind {
	case approval.EventRequested, approval.EventUpdated:
		n.Type = ipc.NewsRequested
		for _, p := range b.approvals.Pending(viewer(c)) {
			if p.ID == e.Request {
				b.saw(c, p)
				a := b.wireApproval(b.execOf(p), p)
				n.Approval = &a
			}
		}
	case approval.EventGranted, approval.EventDenied, approval.EventTimedOut, approval.EventApproveAll, approval.EventQuit:
		d := wireDecided(e.Decision)
		n.Decision = &d
	case approval.EventRemembered, approval.EventRevoked:
		n.Grant = &ipc.Grant{ID: e.Grant, Allow: e.Effect == approval.Allow, Scope: string(e.Scope), Tool: e.Tool,
			What: e.Description, By: e.By.String(), Session: e.Session, UID: e.Principal.UID}
	case approval.EventMode:
		m := wireMode(e.Session, b.approvals.Mode(approval.SessionRef{Principal: e.Principal, ID: e.Session}))
		n.Mode = &m
	case approval.EventChanges, approval.EventLanded:
		n.Change = wireChangeSet(e.Session, e.Change)
	case approval.EventGap:
		n.Gap = &ipc.Gap{From: e.Seq - e.Lost + 1, To: e.Seq}
	}
	return n
}

// decodeArgs reads a tool's arguments; numbers keep their text.
func decodeArgs(raw json.RawMessage) (map[string]any, error) {
	args := map[string]any{}
	if len(raw) == 0 {
		return args, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&args); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errTrailing
	}
	return args, nil
}

// wirePresentation converts a presentation; metadata that is no text becomes JSON.
func wirePresentation(p *approval.Presentation) *ipc.Presentation {
	if p == nil {
		return nil
	}
	w := &ipc.Presentation{Kind: string(p.Kind), Content: p.Content, Language: p.Language}
	for k, v := range p.Metadata {
		text, ok := v.(string)
		if !ok {
			b, err := json.Marshal(v)
			if err != nil {
				continue
			}
			text = string(b)
		}
		if w.Metadata == nil {
			w.Metadata = map[string]string{}
		}
		w.Metadata[k] = text
	}
	return w
}
