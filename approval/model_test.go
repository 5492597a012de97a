package approval_test

import (
	"slices"
	"time"

	"sandboxd/approval"
)

// model is the reference that the controller is compared with: no locks, no
// indexes, no goroutines; everything is a list that is searched from the
// front.
type model struct {
	now        time.Time
	mode       approval.Mode
	policy     approval.Policy
	approveAll time.Time // end of approve-all for every session
	sessions   map[string]*modelSession
	grants     []*modelGrant
	open       []*modelCall
	closed     map[string]modelResult
	stats      approval.Stats
	terminals  int
	remotes    int
}

type modelSession struct {
	turn       int
	stopped    bool
	approveAll time.Time
	batch      string
	listed     []string
	stats      approval.Stats
}

type modelGrant struct {
	id      string
	effect  approval.Effect
	scope   approval.Scope
	session string
	turn    int
	project string
	agent   string
	payload int // 0: any
	expires time.Time
}

type modelCall struct {
	id, session, project, agent, check string
	payload                            int
	batch                              string
	digest                             string
	rest                               []string // digests listed as remaining
	started                            time.Time
	limit                              time.Duration
	again                              bool
}

type modelResult struct {
	approved bool
	layer    approval.Layer
	reason   approval.Reason
}

func (m *model) session(name string) *modelSession {
	s := m.sessions[name]
	if s == nil {
		s = &modelSession{turn: 1}
		m.sessions[name] = s
	}
	return s
}

func (c *modelCall) twice() bool {
	return c.check == "dangerous" || c.check == "protected" || c.check == "delete"
}

// forced: asks whatever was allowed before.
func (c *modelCall) forced() bool {
	return c.check == "cfg-ask" || c.check == "dangerous" || c.check == "protected"
}

// narrowest finds the scope and effect that decide.
func (m *model) narrowest(c *modelCall) (approval.Scope, approval.Effect) {
	for _, scope := range []approval.Scope{approval.ScopeTurn, approval.ScopeSession, approval.ScopeProject,
		approval.ScopeAgent, approval.ScopeGlobal} {
		allow := false
		for _, g := range m.grants {
			if g.scope != scope || g.payload != 0 && g.payload != c.payload ||
				g.session != "" && g.session != c.session ||
				scope == approval.ScopeTurn && g.turn != m.session(c.session).turn ||
				scope == approval.ScopeProject && g.project != c.project ||
				scope == approval.ScopeAgent && g.agent != c.agent ||
				!g.expires.IsZero() && !m.now.Before(g.expires) {
				continue
			}
			if g.effect == approval.Deny {
				return scope, approval.Deny
			}
			allow = true
		}
		if allow {
			return scope, approval.Allow
		}
	}
	return "", ""
}

// judge is the order of R-AP-09; ok is false where a person is to be asked.
func (m *model) judge(c *modelCall) (r modelResult, ok bool) {
	no := func(l approval.Layer, r approval.Reason) (modelResult, bool) { return modelResult{false, l, r}, true }
	yes := func(l approval.Layer, r approval.Reason) (modelResult, bool) { return modelResult{true, l, r}, true }
	s := m.session(c.session)
	if s.stopped {
		return no("stop", "stopped")
	}
	if c.check == "block" {
		return no("block", "blocked")
	}
	scope, effect := m.narrowest(c)
	if effect == approval.Deny {
		return no("deny_grant", "grant")
	}
	explicit := c.check == "run" || c.check == "safe" || c.check == "allow"
	if m.policy == approval.PolicyWhitelist && !explicit && effect == "" {
		return no("policy", "whitelist")
	}
	if !c.forced() {
		switch {
		case c.check == "run":
			return yes("check", "no_check")
		case c.check == "safe":
			return yes("safe", "safe")
		case c.check == "allow":
			return yes("configured", "configured")
		case m.policy == approval.PolicyBlacklist && c.check != "delete":
			return yes("policy", "blacklist")
		case effect == approval.Allow:
			return yes(approval.Layer(scope), "grant")
		case c.check != "delete" && c.batch != "" && c.batch == s.batch && slices.Contains(s.listed, c.digest):
			i := slices.Index(s.listed, c.digest)
			s.listed = slices.Delete(s.listed, i, i+1)
			return yes("batch", "batch")
		}
	}
	if m.now.Before(m.approveAll) || m.now.Before(s.approveAll) {
		return yes("mode", "approve_all")
	}
	if m.mode == approval.ModeStrict {
		return no("mode", "strict")
	}
	return modelResult{}, false
}

func (m *model) decide(c *modelCall) {
	s := m.session(c.session)
	if c.batch != "" && c.batch != s.batch {
		s.batch, s.listed = c.batch, nil
	}
	if r, ok := m.judge(c); ok {
		m.finish(c, r, false)
		return
	}
	c.started, c.limit = m.now, m.patience()
	m.open = append(m.open, c)
}

func (m *model) patience() time.Duration {
	if m.terminals == 0 && m.remotes > 0 {
		return 5 * time.Minute
	}
	return 10 * time.Minute
}

// finish counts a decision. person is whether a person gave it.
func (m *model) finish(c *modelCall, r modelResult, person bool) {
	m.open = slices.DeleteFunc(m.open, func(o *modelCall) bool { return o == c })
	m.closed[c.id] = r
	for _, s := range []*approval.Stats{&m.stats, &m.session(c.session).stats} {
		s.Total++
		switch {
		case r.approved && person:
			s.Approved++
			if c.twice() {
				s.DoubleConfirmed++
			}
		case r.approved:
			s.AutoApproved++
		default:
			s.Denied++
		}
		switch r.reason {
		case approval.ReasonTimeout:
			s.TimedOut++
		case approval.ReasonQuit:
			s.Quit++
		}
	}
}

// reconsider judges open calls again, oldest first.
func (m *model) reconsider(in func(*modelCall) bool) {
	for _, c := range slices.Clone(m.open) {
		if in(c) {
			if r, ok := m.judge(c); ok {
				m.finish(c, r, false)
			}
		}
	}
}

func everywhere(*modelCall) bool { return true }

func inSession(name string) func(*modelCall) bool {
	return func(c *modelCall) bool { return c.session == name }
}

func (m *model) pass(d time.Duration) {
	m.now = m.now.Add(d)
	m.expire()
}

func (m *model) expire() {
	for _, c := range slices.Clone(m.open) {
		if !m.now.Before(c.started.Add(c.limit)) {
			m.finish(c, modelResult{false, "system", "timeout"}, false)
		}
	}
}

func (m *model) connected(terminals, remotes int) {
	m.terminals, m.remotes = m.terminals+terminals, m.remotes+remotes
	for _, c := range m.open {
		c.limit = max(c.limit, m.patience())
	}
	m.expire()
}

// offered is whether a scope can go with an answer.
func (m *model) offered(c *modelCall, scope approval.Scope, allow bool) bool {
	if scope == approval.ScopeOnce {
		return true
	}
	if allow && c.forced() {
		return false
	}
	if scope == approval.ScopeProject {
		return c.project != ""
	}
	return scope != approval.ScopeAgent || c.agent != ""
}

// answer is what a person's decisive answer does. grant is the id of the
// grant that the controller reported.
func (m *model) answer(c *modelCall, a approval.Answer, whole bool, grant string) {
	allow := a.Verb == approval.VerbAllow || a.Verb == approval.VerbAllowAll
	s := m.session(c.session)
	if a.Scope != "" && a.Scope != approval.ScopeOnce {
		g := &modelGrant{id: grant, effect: approval.Deny, scope: a.Scope, payload: c.payload}
		if allow {
			g.effect = approval.Allow
		}
		if whole {
			g.payload = 0
		}
		if a.For > 0 {
			g.expires = m.now.Add(a.For)
		}
		switch a.Scope {
		case approval.ScopeTurn:
			g.session, g.turn = c.session, s.turn
		case approval.ScopeSession:
			g.session = c.session
		case approval.ScopeProject:
			g.project = c.project
		case approval.ScopeAgent:
			g.agent = c.agent
		}
		m.grants = slices.DeleteFunc(m.grants, func(o *modelGrant) bool {
			return o.effect == g.effect && o.scope == g.scope && o.session == g.session && o.turn == g.turn &&
				o.project == g.project && o.agent == g.agent && o.payload == g.payload
		})
		m.grants = append(m.grants, g)
	}
	r := modelResult{allow, "person", "person"}
	if a.Verb == approval.VerbQuit {
		r.reason = approval.ReasonQuit
	}
	m.finish(c, r, true)
	if a.Verb == approval.VerbAllowAll && c.batch == s.batch {
		s.listed = slices.Clone(c.rest)
	}
	if a.Verb == approval.VerbQuit || a.Verb == approval.VerbDeny && a.Mode != approval.RejectSoft {
		s.stopped = true
	}
	if a.Scope == approval.ScopeProject || a.Scope == approval.ScopeAgent || a.Scope == approval.ScopeGlobal {
		m.reconsider(everywhere)
	} else {
		m.reconsider(inSession(c.session))
	}
}

func (m *model) newTurn(name string) {
	s := m.session(name)
	s.turn++
	s.stopped, s.batch, s.listed = false, "", nil
	m.grants = slices.DeleteFunc(m.grants, func(g *modelGrant) bool {
		return g.scope == approval.ScopeTurn &&
			g.session == name
	})
}

func (m *model) closeSession(name string) approval.Stats {
	for _, c := range slices.Clone(m.open) {
		if c.session == name {
			m.finish(c, modelResult{false, "system", "cancelled"}, false)
		}
	}
	stats := m.session(name).stats
	delete(m.sessions, name)
	m.grants = slices.DeleteFunc(m.grants, func(g *modelGrant) bool { return g.session == name })
	return stats
}
