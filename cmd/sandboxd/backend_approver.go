package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/answerer"
	"sandboxd/audit"
	"sandboxd/ipc"
	"sandboxd/supervisor"
)

// identity is the answerer, as the kernel reported it.
func identity(c ipc.Caller, via approval.Via) approval.Identity {
	if c.Front != "" {
		name := "front end " + c.Front
		if c.Front == "web" {
			name = fmt.Sprintf("web, opened by pid %d", c.Peer.PID)
		}
		return approval.Identity{Principal: approval.Principal{UID: c.Peer.UID}, Name: name, Via: approval.ViaRemote}
	}
	name := "pid " + strconv.Itoa(c.Peer.PID)
	if c.Peer.TTY != 0 {
		name += " at " + ttyName(c.Peer.TTY)
	}
	return approval.Identity{Principal: approval.Principal{UID: c.Peer.UID}, Name: name, Via: via,
		Operator: c.Peer.UID != os.Geteuid()}
}

// ttyName is the usual name of a terminal's device number.
func ttyName(dev uint64) string {
	major, minor := dev>>8&0xfff, dev&0xff|dev>>12&0xfff00
	if major >= 136 && major <= 143 {
		return fmt.Sprintf("pts/%d", (major-136)<<8|minor)
	}
	return fmt.Sprintf("tty %d:%d", major, minor)
}

// servedUser is the user whose sessions and trusts all are here: Admit lets no
// others ask.
func servedUser() int { return os.Geteuid() }

// viewer is the same person in every process. Another user than
// the daemon's own was let in to answer for others (Admit), and sees all.
func viewer(c ipc.Caller) approval.Identity {
	return approval.Identity{Principal: approval.Principal{UID: c.Peer.UID}, Operator: c.Peer.UID != os.Geteuid()}
}

func (b *backend) Approvals(_ context.Context, c ipc.Caller) (ipc.ApprovalList, error) {
	list := ipc.ApprovalList{Approvals: []ipc.Approval{}}
	for _, p := range b.approvals.Pending(viewer(c)) {
		b.saw(c, p)
		list.Approvals = append(list.Approvals, b.wireApproval(b.execOf(p), p))
	}
	return list, nil
}

// saw records that the caller was shown p: an answer for a group decides only members that could be viewed (R-AP-11).
func (b *backend) saw(c ipc.Caller, p approval.Pending) { b.approvals.MarkViewed(viewer(c), p.Ref()) }

func (b *backend) Approval(ctx context.Context, c ipc.Caller, r ipc.ApprovalRequest) (ipc.Approval, error) {
	if r.Typing {
		b.approvals.Attend(viewer(c), r.ID)
	}
	p, err := b.approvals.View(ctx, viewer(c), r.ID)
	if err != nil {
		return ipc.Approval{}, wireError(err)
	}
	b.saw(c, p)
	a := b.wireApproval(b.execOf(p), p)
	b.addPast(p, &a)
	a.Presentation = wirePresentation(p.Presentation)
	return a, nil
}

// execOf is the execution that a question is about, nil for another call.
func (b *backend) execOf(p approval.Pending) *supervisor.Exec { return b.sup.ExecAsking(p.ID) }

func (b *backend) Decide(ctx context.Context, c ipc.Caller, a ipc.Answer) (ipc.Decided, error) {
	p, err := b.approvals.View(ctx, viewer(c), a.ID)
	var decided *approval.DecidedError
	if errors.As(err, &decided) {
		return b.repeated(ctx, c, a)
	}
	if err != nil {
		return ipc.Decided{}, wireError(err)
	}
	via, err := b.mayAnswer(c.Peer, p)
	if err != nil {
		return ipc.Decided{}, err
	}
	by := identity(c, via)
	answer := answerOf(a, by)
	if a.Presets {
		return b.addPresets(ctx, c, a, answer)
	}
	if a.Scope == "group" {
		answer.Also = slices.DeleteFunc(b.approvals.Viewed(viewer(c), slices.Concat(p.Same, p.Group)),
			func(r approval.Ref) bool { return !b.mayAnswerToo(c, r, via) })
	}
	if answer.Suggestion, err = pick("suggestion", a.Suggestion, len(p.Suggestions)); err != nil {
		return ipc.Decided{}, err
	}
	if answer.Widening, err = pick("widening", a.Widening, len(p.Widenings)); err != nil {
		return ipc.Decided{}, err
	}
	receipt, err := b.approvals.Answer(ctx, a.ID, answer)
	if err != nil {
		return ipc.Decided{}, wireError(err)
	}
	if !receipt.Decided {
		return ipc.Decided{ID: a.ID, By: by.String(), How: string(approval.HowPerson), ConfirmAgain: true, Rev: a.Rev,
			Time: time.Now()}, nil
	}
	d := wireDecided(receipt.Decision)
	d.ID = a.ID
	return d, nil
}

// answerOf converts an answer, without the fields that depend on the question.
func answerOf(a ipc.Answer, by approval.Identity) approval.Answer {
	answer := approval.Answer{Verb: approval.VerbDeny, By: by, Rev: a.Rev, Hash: a.Hash, Scope: approval.Scope(a.Scope),
		For: time.Duration(a.ForMS) * time.Millisecond, Note: a.Note, Key: a.Key, Mode: approval.RejectMode(a.Mode),
		Confirm: a.Confirm, Together: a.Scope == "group",
		Trust: approval.Trust(a.Trust), Paths: a.Paths}
	if a.Allow {
		answer.Verb, answer.Mode = approval.VerbAllow, ""
	}
	switch a.Scope {
	case "batch":
		answer.Scope = ""
		if answer.Verb = approval.VerbQuit; a.Allow {
			answer.Verb = approval.VerbAllowAll
		}
	case "group":
		answer.Scope = ""
	}
	return answer
}

// repeated handles an answer to a question that is decided: a caller that gave the same
// answer before gets the same receipt, any other the name of the first answerer (R-AP-15).
func (b *backend) repeated(ctx context.Context, c ipc.Caller, a ipc.Answer) (ipc.Decided, error) {
	by := identity(c, answerer.Via(memberOf(peerOf(c.Peer))))
	answer := answerOf(a, by)
	answer.Suggestion, _ = strconv.Atoi(a.Suggestion)
	answer.Widening, _ = strconv.Atoi(a.Widening)
	receipt, err := b.approvals.Answer(ctx, a.ID, answer)
	if err != nil {
		return ipc.Decided{}, wireError(err)
	}
	d := wireDecided(receipt.Decision)
	d.ID = a.ID
	return d, nil
}

// pick reads the id of a choice on offer: its number from 1.
func pick(what, id string, n int) (int, error) {
	if id == "" {
		return 0, nil
	}
	i, err := strconv.Atoi(id)
	if err != nil || i < 1 || i > n {
		return 0, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("%s %q is not on offer", what, id),
			Hint: "look at the request again: it lists what is"}
	}
	return i, nil
}

// mayAnswer returns the way of a connection's answer to a question, or an error where the process tree that asked
// would answer itself (R-IP-01).
func (b *backend) mayAnswer(p ipc.Peer, q approval.Pending) (approval.Via, error) {
	e := b.sup.ExecAsking(q.ID)
	if e == nil {
		return "", &ipc.Error{Code: ipc.CodeStale,
			Message: "request " + q.ID + ": the requester has exited; nothing to answer", Hint: "look at the request again"}
	}
	via, err := answerer.May(treeOf(p), answerer.Question{
		Requester: observed(e.Peer), Opener: observed(e.Session.Peer), Inline: q.Inline, Client: q.Client,
	})
	var related *answerer.RelatedError
	if errors.As(err, &related) {
		return via, selfApproval(related.Relation)
	}
	return via, err
}

// mayAnswerToo reports whether an answer that comes this way may decide another
// question of the session besides its own: that may have another asker.
func (b *backend) mayAnswerToo(c ipc.Caller, r approval.Ref, via approval.Via) bool {
	for _, q := range b.approvals.Pending(viewer(c)) {
		if q.Ref() == r {
			too, err := b.mayAnswer(c.Peer, q)
			return err == nil && too == via
		}
	}
	return false
}

func selfApproval(r answerer.Relation) error {
	return &ipc.Error{Code: ipc.CodeSelfApproval, Message: (&answerer.RelatedError{Relation: r}).Error(),
		Hint: "answer from another terminal: sbx approve"}
}

func (b *backend) News(_ context.Context, c ipc.Caller, r ipc.NewsRequest) (ipc.Stream[ipc.News], error) {
	who := viewer(c)
	sub := b.approvals.Subscribe(who)
	if r.After > 0 {
		sub = b.approvals.SubscribeAfter(who, r.After)
	}
	by := identity(c, answerer.Via(memberOf(peerOf(c.Peer))))
	b.watchers.Add(1)
	s := &newsStream{b: b, caller: c, sub: sub, disconnect: b.approvals.Connect(by)}
	if r.After == 0 || sub.Seq() < r.After { // the latter counts in the stream of an earlier daemon
		s.first = b.approvals.Pending(who)
	}
	return s, nil
}

// newsStream is one watcher; while it is open its person counts as connected.
type newsStream struct {
	b          *backend
	caller     ipc.Caller
	sub        *approval.Subscription
	first      []approval.Pending
	disconnect func()
}

func (s *newsStream) Next(ctx context.Context) (ipc.News, error) {
	if len(s.first) > 0 {
		p := s.first[0]
		s.first = s.first[1:]
		s.b.saw(s.caller, p)
		a := s.b.wireApproval(s.b.execOf(p), p)
		return ipc.News{Time: p.Asked, Type: ipc.NewsRequested, Approval: &a}, nil
	}
	e, err := s.sub.Next(ctx)
	if err != nil {
		return ipc.News{}, err
	}
	if e.Kind == approval.EventGap { // the missed events may include questions
		s.first = s.b.approvals.Pending(viewer(s.caller))
	}
	return s.b.wireNews(ctx, s.caller, e), nil
}

func (s *newsStream) Close() error {
	s.disconnect()
	s.b.watchers.Add(-1)
	return nil
}

func (b *backend) Grants(_ context.Context, c ipc.Caller) (ipc.GrantList, error) {
	list := ipc.GrantList{Grants: []ipc.Grant{}}
	for _, g := range b.approvals.Grants(viewer(c)) {
		list.Grants = append(list.Grants, wireGrant(g))
	}
	return list, nil
}

func (b *backend) Grant(_ context.Context, c ipc.Caller, r ipc.GrantRequest) (ipc.Grant, error) {
	for _, g := range b.approvals.Grants(viewer(c)) {
		if g.ID == r.ID {
			w := wireGrant(g)
			w.Explain = []string{g.String()}
			return w, nil
		}
	}
	return ipc.Grant{}, &ipc.Error{Code: ipc.CodeNotFound, Message: fmt.Sprintf("there is no grant %q", r.ID),
		Hint: "sbx grants ls"}
}

func (b *backend) Revoke(_ context.Context, c ipc.Caller, r ipc.GrantRequest) error {
	by := identity(c, approval.ViaRemote)
	if err := b.sup.RevokeGrant(by, r.ID); err != nil {
		return wireError(err)
	}
	return wireError(b.sup.Record(audit.Record{Category: audit.Grant, Operation: "revoke", Grant: r.ID, By: by.String()}))
}

func (b *backend) Stats(_ context.Context, c ipc.Caller) (ipc.Stats, error) {
	st := ipc.Stats{Since: b.started, Overall: wireCounts(b.approvals.Stats(viewer(c))), Sessions: map[string]ipc.Counts{}}
	for _, s := range b.sup.Sessions(servedUser()) {
		st.Sessions[s.ID] = wireCounts(b.approvals.SessionStats(s.Ref()))
	}
	return st, nil
}

func (b *backend) ResetStats(_ context.Context, c ipc.Caller) error {
	b.approvals.ResetStats(viewer(c))
	return nil
}

func (b *backend) Advice(ctx context.Context, c ipc.Caller) (ipc.Advice, error) {
	found, err := b.sup.Advise(ctx, supervisor.Peer{UID: servedUser(), PID: c.Peer.PID})
	a := ipc.Advice{Decisions: found.Decisions, Asked: found.Asked, Refused: found.Refused, Proposals: []ipc.Proposal{}}
	for _, p := range found.Proposals {
		a.Proposals = append(a.Proposals, ipc.Proposal(p))
	}
	return a, wireError(err)
}

// grepOf is nil for an empty pattern.
func grepOf(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	return regexp.Compile("(?m)" + pattern)
}

func (b *backend) Mode(_ context.Context, c ipc.Caller, r ipc.ModeRequest) (ipc.Mode, error) {
	ref := approval.SessionRef{}
	if r.Session != "" {
		s, err := b.anySession(c, r.Session)
		if err != nil {
			return ipc.Mode{}, err
		}
		ref = s.Ref()
	}
	return wireMode(r.Session, b.approvals.Mode(ref)), nil
}

// wireModeName uses the wire's words.
func wireModeName(m approval.Mode) string { return strings.ReplaceAll(string(m), "-", "_") }

// SetMode switches approve-all on or off for one session (R-AP-18). The
// daemon's own mode comes from its configuration and command line.
func (b *backend) SetMode(_ context.Context, c ipc.Caller, m ipc.Mode) (ipc.Mode, error) {
	if m.Session == "" {
		return ipc.Mode{}, &ipc.Error{Code: ipc.CodeBadRequest,
			Message: "the daemon's mode is set in [approval] mode or by --mode",
			Hint:    "name a session to switch approve-all on for it"}
	}
	s, err := b.anySession(c, m.Session)
	if err != nil {
		return ipc.Mode{}, err
	}
	if related := relatedToSession(c.Peer, s); related != answerer.Unrelated && !b.ownTerminal(c.Peer, s) {
		return ipc.Mode{}, selfApproval(related)
	}
	was := wireModeName(b.approvals.Mode(s.Ref()).Mode)
	var d time.Duration
	switch m.Mode {
	case "approve_all":
		if d = approval.MaxApproveAllSession; m.ForMS > d.Milliseconds() {
			return ipc.Mode{}, &ipc.Error{Code: ipc.CodeBadRequest, Hint: "switch it on again when it has ended",
				Message: fmt.Sprintf("for_ms %d is too long: approve-all holds for a session for at most %d ms (%s)",
					m.ForMS, d.Milliseconds(), d)}
		} else if m.ForMS > 0 {
			d = time.Duration(m.ForMS) * time.Millisecond
		}
	case "interactive":
	default:
		return ipc.Mode{}, &ipc.Error{Code: ipc.CodeBadRequest,
			Message: fmt.Sprintf("mode %q can't be set for a session", m.Mode), Hint: "use approve-all or interactive"}
	}
	by := identity(c, approval.ViaTerminal)
	rec := audit.Record{Category: audit.Mode, Operation: m.Mode, Session: s.ID, By: by.String(),
		DurationMS: d.Milliseconds()}
	if err := b.sup.Carry(rec, func() error { return b.approvals.ApproveAllSession(by, s.Ref(), d) }); err != nil {
		return ipc.Mode{}, wireError(err)
	}
	answer := wireMode(s.ID, b.approvals.Mode(s.Ref()))
	answer.Was = was
	if d > 0 {
		answer.Warning = "every call of this session is approved until then; blocks and the OS sandbox stay in force"
	}
	return answer, nil
}

// ownTerminal reports whether p is at the terminal of a command-line session in which inline answers are permitted.
func (b *backend) ownTerminal(p ipc.Peer, s *supervisor.Session) bool {
	return s.Kind == supervisor.KindCLI && b.sup.Config().Approval.Inline &&
		answerer.OwnTerminal(memberOf(peerOf(p)), memberOf(s.Peer))
}

func (b *backend) Trusted(_ context.Context, c ipc.Caller) (ipc.TrustList, error) {
	list := ipc.TrustList{Trusted: []ipc.Trust{}}
	for _, t := range b.sup.Trust.List(servedUser()) {
		w := wireTrust(t)
		if !b.sup.Trust.Trusted(servedUser(), t.Dir) {
			w.Stale = "the directory was moved or replaced; trust it again"
		}
		list.Trusted = append(list.Trusted, w)
	}
	return list, nil
}

func (b *backend) Trust(_ context.Context, c ipc.Caller, r ipc.TrustRequest) (ipc.Trust, error) {
	if err := b.mayTrust(c.Peer, r.Dir); err != nil {
		return ipc.Trust{}, err
	}
	t, err := b.sup.TrustDir(servedUser(), r.Dir, identity(c, approval.ViaTerminal).String(), r.Contained)
	w := wireTrust(t)
	w.Caches = supervisor.Toolchains(t.Dir)
	return w, wireError(err)
}

// mayTrust keeps those who have a session in a directory from trusting it themselves,
// as far as the kernel reports (R-IP-01). The exception is the person at the very terminal.
func (b *backend) mayTrust(p ipc.Peer, dir string) error {
	there, err := os.Stat(dir)
	if err != nil {
		return nil // said by the trusting itself
	}
	for _, s := range b.sup.Sessions(servedUser()) {
		if root, err := os.Stat(s.Root); err != nil || !os.SameFile(there, root) || b.ownTerminal(p, s) {
			continue
		}
		if related := relatedToSession(p, s); related != answerer.Unrelated {
			return &ipc.Error{Code: ipc.CodeSelfApproval, Hint: "in another terminal: sbx trust " + s.Root,
				Message: string(related) + " can't trust the project of its session"}
		}
	}
	return nil
}

func (b *backend) Distrust(_ context.Context, c ipc.Caller, r ipc.TrustRequest) error {
	removed, err := b.sup.DistrustDir(servedUser(), r.Dir, identity(c, approval.ViaTerminal).String())
	if err == nil && !removed {
		return &ipc.Error{Code: ipc.CodeNotFound, Message: fmt.Sprintf("%q is not trusted", r.Dir), Hint: "sbx trust --list"}
	}
	return wireError(err)
}

func (b *backend) Reload(context.Context, ipc.Caller) (ipc.Reloaded, error) {
	if err := b.reload(); err != nil {
		refusal := wireError(err)
		var e *ipc.Error
		if b.flags.config != "" && errors.As(refusal, &e) && e.Code == ipc.CodeConflict { // the check reads the usual file
			e.Hint = fmt.Sprintf("fix the file; sandboxd config check --config %q shows the same", b.flags.config)
		}
		return ipc.Reloaded{}, refusal
	}
	return ipc.Reloaded{Config: b.configFiles(), Warnings: append(b.wireWarnings(), b.waitingForRestart()...)}, nil
}

// waitingForRestart lists the settings of the files that the running daemon does not have yet.
func (b *backend) waitingForRestart() (list []ipc.Warning) {
	for _, name := range b.began.WaitsForRestart(b.sup.Config()) {
		list = append(list, ipc.Warning{Where: name, Message: "in force once the daemon starts again", Hint: "sbx stop"})
	}
	return list
}

func (b *backend) Shutdown(_ context.Context, _ ipc.Caller, r ipc.ShutdownRequest) error {
	b.mu.Lock()
	switch {
	case r.Now:
		b.drain = 0
	case r.DrainMS > 0:
		b.drain = time.Duration(r.DrainMS) * time.Millisecond
	}
	b.mu.Unlock()
	b.shutdown()
	if r.Now { // also where an earlier stop waits for commands
		b.endNow()
	}
	return nil
}
