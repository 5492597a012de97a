package approval

import (
	"fmt"
	"slices"
)

// verdict is the result of the decision order for a call at one moment.
type verdict struct {
	outcome Outcome
	layer   Layer
	reason  Reason
	why     string
	rule    string
	grant   *Grant
}

// ruling is the strictest result of the added rules (R-AP-22).
type ruling struct {
	effect RuleEffect // RuleNone, RuleAllow (run), RuleAsk, RuleDeny (block)
	rule   string
	reason string
}

// standing is everything the order looks at besides the call.
type standing struct {
	cfg        *Config
	ruling     ruling
	stop       *stop  // the session's stop signal
	grant      *Grant // the narrowest that matches, see lookup
	listed     bool   // the batch's "approve all" lists this digest
	approveAll bool   // approve-all mode holds for the session
}

// order is R-AP-09, step by step. It is pure: everything that may change is
// in st. The comments name the step.
func order(call *Call, st standing) verdict {
	class, cfg := &call.Class, st.cfg

	// Stop signal.
	if st.stop != nil {
		return verdict{Denied, LayerStop, ReasonStopped, st.stop.text(), "", nil}
	}
	// Blocked by tool or operator.
	switch {
	case call.Blocked != nil:
		return verdict{Denied, LayerBlock, ReasonBlocked, call.Blocked.Reason, call.Blocked.Rule, nil}
	case class.Rule == RuleDeny:
		return verdict{Denied, LayerBlock, ReasonBlocked, "a configured rule forbids it", class.RuleText, nil}
	case st.ruling.effect == RuleDeny:
		return verdict{Denied, LayerBlock, ReasonBlocked, st.ruling.reason, st.ruling.rule, nil}
	}
	// A grant whose narrowest match is a deny.
	g := st.grant
	if g != nil && g.Effect == Deny {
		return verdict{Denied, LayerDenyGrant, ReasonGrant, g.why, g.rule, g}
	}
	// Whitelist or safe-only refusal. An ask rule is no permission: projects
	// may add ask rules, and must not open a whitelist with them.
	allowed := class.Rule == RuleAllow || st.ruling.effect == RuleAllow
	if cfg.Policy == PolicyWhitelist && !(call.Request == nil || class.Safe || allowed || g != nil) {
		return verdict{Denied, LayerPolicy, ReasonWhitelist, "only what is explicitly permitted runs, and this is not", "",
			nil}
	}
	if cfg.SafeCommandsOnly && !class.Safe && (call.Request != nil || allowed) {
		return verdict{Denied, LayerPolicy, ReasonSafeOnly, "only commands of the safe list run", "", nil}
	}
	// Contained takes precedence over dangerous, protected and deletes: what it covers can be undone.
	if class.Contained && class.Rule != RuleAsk && st.ruling.effect != RuleAsk {
		const why = "contained: it stays in the project and can be undone"
		return verdict{Approved, LayerPolicy, ReasonContained, why, "", nil}
	}
	// Configured ask, dangerous, protected: these ask, although they were allowed
	// before, unless an operator rule names them.
	if !forced(call, st.ruling) {
		if v, ok := permitted(call, st, g, allowed); ok {
			return v
		}
	}
	// Mode, then ask.
	switch {
	case st.approveAll:
		return verdict{Approved, LayerMode, ReasonApproveAll, "approve-all is on", "", nil}
	case cfg.Mode == ModeStrict:
		return verdict{Denied, LayerMode, ReasonStrict, "strict mode: it would need approval", "", nil}
	}
	return verdict{WouldAsk, LayerPerson, ReasonPerson, "", class.RuleText, nil}
}

// forced reports whether no grant or list may answer for the person.
func forced(call *Call, r ruling) bool {
	if r.effect == RuleAsk {
		return true
	}
	named := call.Class.Operator && call.Class.Rule == RuleAllow
	return !named && (call.Class.Rule == RuleAsk || call.dangerous() || call.protected())
}

// permitted are the steps from "safe" to "batch approve-all".
func permitted(call *Call, st standing, g *Grant, allowed bool) (verdict, bool) {
	yes := func(l Layer, r Reason, why, rule string) (verdict, bool) {
		return verdict{Approved, l, r, why, rule, nil}, true
	}
	class := &call.Class
	switch {
	case call.Request == nil:
		return yes(LayerCheck, ReasonNoCheck, "the tool needs no approval", class.RuleText)
	case class.Safe:
		return yes(LayerSafe, ReasonSafe, "it is on the safe list", class.RuleText)
	case class.Rule == RuleAllow:
		return yes(LayerConfigured, ReasonConfigured, "a configured rule allows it", class.RuleText)
	case allowed:
		return yes(LayerConfigured, ReasonConfigured, st.ruling.reason, st.ruling.rule)
	case st.cfg.Policy == PolicyBlacklist && !call.delete():
		return yes(LayerPolicy, ReasonBlacklist, "no list names it", "")
	case g != nil:
		return verdict{Approved, Layer(g.Scope), ReasonGrant, g.why, g.rule, g}, true
	case st.listed && !call.delete():
		return yes(LayerBatch, ReasonBatch, "it was listed when all were approved", "")
	}
	return verdict{}, false
}

// scopes lists the scopes that an answer to q may carry. Where a call asks although it was
// allowed before, remembering a yes would be a lie.
func (c *Controller) scopes(q *question) (allow, deny []Scope) {
	deny = []Scope{ScopeOnce}
	if !q.known {
		return []Scope{ScopeOnce}, deny
	}
	deny = append(deny, ScopeTurn, ScopeSession)
	if c.store != nil && q.call.Project != "" {
		deny = append(deny, ScopeProject)
	}
	if c.store != nil && q.call.Agent.ID != "" {
		deny = append(deny, ScopeAgent)
	}
	if c.store != nil {
		deny = append(deny, ScopeGlobal)
	}
	if forced(&q.call, q.ruling) || q.broken {
		return []Scope{ScopeOnce}, deny
	}
	return slices.Clone(deny), deny
}

func (s *stop) text() string {
	t := fmt.Sprintf("the session was stopped by %s", s.By)
	if s.Note != "" {
		t += ": " + s.Note
	}
	return t + "; nothing runs until the next user turn"
}
