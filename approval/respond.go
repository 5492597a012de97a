package approval

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// same reports whether two answers say the same.
func (a *Answer) same(b *Answer) bool {
	return a.Verb == b.Verb && a.By == b.By && a.Scope == b.Scope && a.For == b.For && a.Note == b.Note &&
		a.Mode == b.Mode && a.Suggestion == b.Suggestion && a.Widening == b.Widening && a.Trust == b.Trust &&
		slices.Equal(a.Paths, b.Paths) && (slices.Equal(a.Also, b.Also) || a.Together && b.Together)
}

func (a *Answer) allows() bool { return a.Verb == VerbAllow || a.Verb == VerbAllowAll }

// readable checks the answer without the question, and fills in defaults.
func (a *Answer) readable() error {
	bad := func(format string, args ...any) error {
		return &AnswerError{Code: "unreadable", Why: fmt.Sprintf(format, args...)}
	}
	switch a.Verb {
	case VerbAllow, VerbDeny:
	case VerbPresets:
		if a.Scope != "" && a.Scope != ScopeOnce || len(a.Also) > 0 || a.Mode != "" {
			return bad("%q takes no scope, mode or further requests", a.Verb)
		}
	case VerbAllowAll, VerbQuit:
		if a.Scope != "" && a.Scope != ScopeOnce || len(a.Also) > 0 || a.Suggestion != 0 {
			return bad("%q decides one batch and takes no scope, suggestion or further requests", a.Verb)
		}
	default:
		return bad("unknown verb %q", a.Verb)
	}
	if !a.Scope.valid() {
		return bad("unknown scope %q", a.Scope)
	}
	if len(a.Key) > maxKey {
		return bad("the key has %d bytes; at most %d are recorded", len(a.Key), maxKey)
	}
	if a.Scope == "" {
		a.Scope = ScopeOnce
	}
	switch a.Mode {
	case RejectSoft, RejectHard:
		if a.allows() {
			return bad("a yes has no rejection mode")
		}
	case "":
		if !a.allows() && a.Verb != VerbPresets {
			a.Mode = RejectHard
		}
	default:
		return bad("unknown rejection mode %q", a.Mode)
	}
	if a.Verb == VerbQuit {
		a.Mode = RejectHard
	}
	switch {
	case a.For < 0 || a.For > 0 && a.Scope == ScopeOnce:
		return &AnswerError{Code: "lifetime", Why: fmt.Sprintf("a lifetime of %s goes with a scope wider than once", a.For)}
	case a.Suggestion < 0 || a.Suggestion > 0 && (a.Scope == ScopeOnce || len(a.Also) > 0):
		return &AnswerError{Code: "suggestion", Why: "a suggestion goes with one request and a scope wider than once"}
	case a.Widening < 0 || a.Widening > 0 && !a.allows():
		return &AnswerError{Code: "widening", Why: "a widening goes with a yes"}
	case a.Trust != "" && !a.allows():
		return &AnswerError{Code: "trust", Why: "trust goes with a yes"}
	case len(a.Paths) > 0 && (a.Verb != VerbAllow || a.Scope != ScopeOnce || len(a.Also) > 0):
		return &AnswerError{Code: "paths", Why: "some of the paths go with a yes to one request, for this once"}
	}
	return nil
}

// Answer takes an approver's answer to an open question. The first valid one
// decides; a repetition of it gets the same receipt, any other a
// *DecidedError. Every error leaves the question as it was. Where a second
// yes is wanted the receipt is not Decided.
func (c *Controller) Answer(ctx context.Context, id string, a Answer) (Receipt, error) {
	if a.Verb == VerbPresets {
		return Receipt{}, &AnswerError{Code: "unreadable", Why: "presets are switched on by SwitchOn"}
	}
	return c.answer(ctx, id, a, c.take)
}

// answer has take decide an open question, with the lock held and while no other answer to it is being stored.
func (c *Controller) answer(ctx context.Context, id string, a Answer,
	take func(*question, Answer) (Receipt, error)) (Receipt, error) {
	c.mu.Lock()
	q, err := c.find(a.By, id)
	if err != nil {
		defer c.mu.Unlock()
		return c.repeated(id, a, err)
	}
	shown := c.show(q)
	c.mu.Unlock()
	if err := a.readable(); err != nil {
		return Receipt{}, err
	}
	if c.authorize != nil {
		if err := guard(func() error { return c.authorize(a.By, shown) }); err != nil {
			return Receipt{}, &AnswerError{Code: "refused", Why: "this approver may not answer", Err: err}
		}
	}
	for {
		c.mu.Lock()
		q, err := c.find(a.By, id)
		if err != nil {
			defer c.mu.Unlock()
			return c.repeated(id, a, err)
		}
		busy := q.claim
		if busy == nil {
			defer c.tidy()
			defer c.mu.Unlock()
			return take(q, a)
		}
		c.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return Receipt{}, context.Cause(ctx)
		}
	}
}

// repeated makes answering idempotent: the same answer again gets the
// same receipt.
func (c *Controller) repeated(id string, a Answer, err error) (Receipt, error) {
	o := c.outcome(a.By, id)
	if o == nil || a.readable() != nil || !a.same(&o.answer) {
		return Receipt{}, err
	}
	return Receipt{Decided: true, Decision: o.decision}, nil
}

// take decides q and the questions answered with it. The lock is held, and given up
// only while a persistent grant is written.
func (c *Controller) take(q *question, a Answer) (Receipt, error) {
	members, err := c.members(q, &a)
	if err != nil {
		return Receipt{}, err
	}
	for _, m := range members {
		if err := c.takeable(m, &a); err != nil {
			return Receipt{}, err
		}
	}
	if a.Verb == VerbAllowAll && q.call.Batch.ID == "" {
		return Receipt{}, &AnswerError{Code: "batch", Why: "the request is not part of a batch"}
	}
	if q.Twice && a.allows() {
		if second, err := q.confirmed(&a); !second || err != nil {
			return Receipt{}, err
		}
	}
	made, warning, err := c.remember(members, &a)
	if err != nil {
		return Receipt{}, err
	}
	receipt, err := c.decide(q, members, &a, made)
	receipt.Warning = warning
	return receipt, err
}

// members are the questions that a answers, q first.
func (c *Controller) members(q *question, a *Answer) ([]*question, error) {
	members := []*question{q}
	for _, r := range a.Also {
		m := c.questions[r.ID]
		if m == nil || m == q || m.sess != q.sess || m.claim != nil {
			return nil, &AnswerError{Code: "together", Why: fmt.Sprintf("request %q is not open beside this one", r.ID),
				Err: ErrStale}
		}
		group := q.call.Request.GroupID
		if !q.identical(m) && (group == "" || m.call.Request.GroupID != group) {
			return nil, &AnswerError{Code: "together",
				Why: fmt.Sprintf("request %q is neither identical nor of the same group", r.ID)}
		}
		if r != m.Ref() {
			return nil, &AnswerError{Code: "together", Why: fmt.Sprintf("request %q has changed", r.ID), Err: ErrStale}
		}
		if !slices.Contains(members, m) { // it may be both identical and of the group
			members = append(members, m)
		}
	}
	return members, nil
}

// takeable checks an answer against one question.
func (c *Controller) takeable(q *question, a *Answer) error {
	together := len(a.Also) > 0
	main := !slices.ContainsFunc(a.Also, func(r Ref) bool { return r.ID == q.ID })
	seen := a.Rev != 0 || a.Hash != ""
	plain := !a.allows() && a.Verb != VerbPresets && a.Scope == ScopeOnce
	if main && (a.Rev != q.Rev || a.Hash != q.Hash) && (seen || !plain) {
		return ErrStale
	}
	shown := c.shown(q)
	offered := shown.DenyScopes
	if a.allows() {
		offered = shown.AllowScopes
	}
	if a.Verb == VerbPresets && len(shown.Presets) == 0 {
		return &AnswerError{Code: "presets", Why: "the request names no preset that can be switched on"}
	}
	if !slices.Contains(offered, a.Scope) {
		return &ScopeError{Scope: a.Scope, Why: "not on offer for this request", Offered: offered}
	}
	if a.Suggestion > len(shown.Suggestions) {
		return &AnswerError{Code: "suggestion", Why: fmt.Sprintf("there are %d suggestions", len(shown.Suggestions))}
	}
	if a.Scope.persistent() && !c.pattern(q, a).writable() {
		return &ScopeError{Scope: a.Scope, Why: "its text cannot be kept in a file",
			Offered: []Scope{ScopeOnce, ScopeTurn, ScopeSession}}
	}
	if a.By.Via == ViaClient {
		switch {
		case !shown.Client:
			return &AnswerError{Code: "client", Why: "the agent's own client can't answer this: answer with `sbx approve`"}
		case a.Scope != ScopeOnce || a.Verb != VerbAllow && a.Verb != VerbDeny || together || a.Widening > 0 ||
			len(a.Paths) > 0:
			return &ScopeError{Scope: a.Scope, Why: "the agent's own client answers for this once, and nothing else",
				Offered: []Scope{ScopeOnce}}
		}
	}
	if !a.allows() && a.Verb != VerbPresets {
		return nil
	}
	if a.Trust != "" && !slices.Contains(shown.Trusts, a.Trust) {
		return &AnswerError{Code: "trust", Why: fmt.Sprintf("trust %q is not on offer for this request", a.Trust)}
	}
	switch {
	case q.Building:
		return fmt.Errorf("what would happen is still being prepared: %w", ErrStale)
	case together && q.Twice:
		return &AnswerError{Code: "together", Why: fmt.Sprintf("request %q wants a yes of its own, twice", q.ID)}
	case a.Widening > len(shown.Widenings):
		return &AnswerError{Code: "widening", Why: fmt.Sprintf("there are %d widenings on offer", len(shown.Widenings))}
	case shown.OnlyWidened && a.allows() && a.Widening == 0:
		return &AnswerError{Code: "widening", Why: "a yes to this takes one of the paths or hosts on offer"}
	case together && a.Widening > 0:
		return &AnswerError{Code: "widening", Why: "a widening goes with one request"}
	}
	if p, bad := notOffered(shown.Paths, a.Paths); bad {
		return &AnswerError{Code: "paths", Why: fmt.Sprintf("%q is none of the paths of the request, nor above one", p)}
	}
	if a.By.Via == ViaInline {
		switch {
		case !c.cfg.Inline || !q.call.Inline:
			return &AnswerError{Code: "inline", Why: "this request cannot be answered where it was made"}
		case shown.Risk == RiskHigh:
			return &AnswerError{Code: "inline", Why: "a high risk wants an approver: answer with `sbx approve` in another " +
				"terminal"}
		case a.Scope != ScopeOnce && a.Scope != ScopeSession:
			return &ScopeError{Scope: a.Scope, Why: "not where the request was made", Offered: []Scope{ScopeOnce, ScopeSession}}
		}
	}
	return nil
}

// notOffered returns the first of an answer's paths that is none of those on offer and above none of them.
func notOffered(offered, paths []string) (path string, bad bool) {
	for _, p := range paths {
		if !slices.ContainsFunc(offered, func(o string) bool { return o == p || strings.HasPrefix(o, p+"/") }) {
			return p, true
		}
	}
	return "", false
}

// confirmed reports whether a is the second yes. A first one is kept, and the question waits once more for its time.
func (q *question) confirmed(a *Answer) (bool, error) {
	if a.Confirm {
		first, ok := q.first[a.By]
		delete(q.first, a.By)
		if !ok || !a.same(&first) {
			return false, ErrConfirm
		}
		return true, nil
	}
	q.first[a.By] = *a
	if !q.again { // somebody is there: the second yes gets the same time, once
		q.again = true
		q.extra += time.Since(q.started)
		q.started = time.Now()
		q.poke()
	}
	return false, nil
}

// decide finishes the members. While a persistent grant was written the lock
// was given up; where the order says no by now (a stop came), the no wins.
func (c *Controller) decide(q *question, members []*question, a *Answer, made []*Grant) (Receipt, error) {
	var receipt Receipt
	for i, m := range members {
		d := c.spoken(m, a, len(members))
		if d.Approved && a.Scope.persistent() {
			if v := c.weigh(m.weighed(), m.sess, d.At); v.outcome == Denied {
				d = c.decision(&m.call, m.sess, v, d.At)
				d.Request = m.ID
			}
		}
		if i == 0 && len(made) > 0 {
			m.made = made
			if d.Approved || a.Verb == VerbDeny {
				d.Grant = made[0].ID
			}
		}
		if !c.finish(m, d) && i == 0 {
			c.withdraw(made)
			return Receipt{}, &DecidedError{Decision: m.final}
		}
		if o := c.tenant(m.call.Principal).decided[m.ID]; o != nil {
			o.answer = *a
			o.answer.Together = a.Together && i == 0 // a repetition names the same request
		}
		if i == 0 {
			receipt = Receipt{Decided: true, Decision: m.final}
		}
	}
	c.effects(q, a)
	return receipt, nil
}

// effects carries out an answer's effects beyond its own questions.
func (c *Controller) effects(q *question, a *Answer) {
	switch {
	case a.Verb == VerbAllowAll && q.final.Approved:
		n := q.sess.batch.list(&q.call)
		c.publish(Event{Kind: EventApproveAll, Principal: q.call.Principal, Session: q.call.Session, Agent: q.call.Agent,
			Request: q.ID, By: a.By, Note: fmt.Sprintf("%d remaining operations approved", n)})
	case !a.allows() && a.Mode == RejectHard:
		c.halt(q.sess, a.By, a.Note)
	}
	if a.Scope.persistent() {
		c.reconsider(func(o *question) bool { return o.call.Principal == q.call.Principal })
	} else {
		c.reconsider(func(o *question) bool { return o.sess == q.sess })
	}
}

// list registers the calls that the call announced of its batch: those that could be viewed and
// do not ask in any case. It returns their number.
func (b *batch) list(call *Call) (n int) {
	if b.id != call.Batch.ID {
		return 0
	}
	b.listed = map[string]*int{}
	for _, r := range call.Batch.Remaining {
		if !r.Viewed() || r.Delete || r.Dangerous || r.Protected {
			continue
		}
		digests := slices.DeleteFunc([]string{r.Digest, r.Own}, func(d string) bool { return d == "" })
		count := new(int)
		for _, d := range digests {
			if known := b.listed[d]; known != nil {
				count = known
			}
		}
		*count++
		for _, d := range digests {
			b.listed[d] = count
		}
		n++
	}
	return n
}

// spoken returns the decision of a person.
func (c *Controller) spoken(q *question, a *Answer, together int) Decision {
	d := Decision{Scope: a.Scope, Reason: ReasonPerson, Layer: LayerPerson, How: HowPerson,
		By: a.By, Note: a.Note, Key: a.Key, Rule: q.call.Class.RuleText, Digest: q.call.Digest, Request: q.ID,
		At: c.now(), Warnings: c.warnings(q.sess, c.now())}
	if together > 1 {
		d.Together = together
	}
	if a.allows() {
		d.Outcome, d.Approved, d.Confirmed = Approved, true, q.Twice
		d.Why = "approved by " + a.By.String()
		d.Trust, d.Paths = a.Trust, slices.Clone(a.Paths)
		if a.Widening > 0 {
			d.Widening = q.call.Widenings[a.Widening-1].Value
		}
		return d
	}
	d.Outcome, d.Reject = Denied, a.Mode
	d.Why = "rejected by " + a.By.String()
	if a.Verb == VerbQuit {
		d.Reason = ReasonQuit
		d.Why = "stopped by " + a.By.String()
		if b := q.call.Batch; b.ID != "" {
			d.Why += fmt.Sprintf("; completed %d of %d operations, cancelled %d", q.sess.batch.ran, b.Total, b.Total-b.Index+1)
		}
	}
	return d
}
