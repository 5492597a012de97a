package approval_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

// TestModel is acceptance 1's state machine: random calls, answers, turns,
// modes, grants, approvers and passing time, after each of which the
// controller and a small reference model agree on what is open, what was
// decided by which step, and on the statistics. R-AP-04, R-AP-05, R-AP-08 to
// R-AP-10, R-AP-12 to R-AP-15, R-AP-17 to R-AP-19, R-AP-21.
func TestModel(t *testing.T) {
	set(t, "rapid.checks", fmt.Sprint(machineRuns))
	set(t, "rapid.steps", "16")
	rapid.Check(t, func(rt *rapid.T) {
		// A bubble of its own for every run: time is faked, and every
		// goroutine must be gone at the end.
		var panicked any
		synctest.Test(t, func(t *testing.T) {
			m := newMachine(t, rt)
			defer m.close()
			defer func() { panicked = recover() }()
			rt.Repeat(map[string]func(*rapid.T){
				"":           m.compare,
				"call":       m.call,
				"call more":  m.call,
				"answer":     m.answer,
				"batch":      m.batch,
				"answer too": m.answer,
				"stale":      m.stale,
				"late":       m.late,
				"turn":       m.turn,
				"stop":       m.stop,
				"mode":       m.switchMode,
				"configure":  m.configure,
				"pass":       m.pass,
				"connect":    m.connect,
				"revoke":     m.revoke,
				"grant":      m.grant,
				"close":      m.closeSession,
			})
		})
		// Rapid distinguishes failures by the place of the panic.
		switch fmt.Sprintf("%T", panicked) {
		case "<nil>":
		case "rapid.invalidData":
			panic(panicked)
		default:
			panic(panicked)
		}
	})
}

// set changes one of rapid's flags for this test, unless it was given.
func set(t *testing.T, name, value string) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if f := flag.Lookup(name); f != nil && !given {
		old := f.Value.String()
		f.Value.Set(value)
		t.Cleanup(func() { f.Value.Set(old) })
	}
}

type machine struct {
	t       *testing.T
	c       *approval.Controller
	m       *model
	results chan result
	got     map[string]approval.Decision
	calls   map[string]*modelCall
	n       int
	leave   []func()
	kinds   []approval.Via
}

type result struct {
	id string
	d  approval.Decision
}

func newMachine(t *testing.T, rt *rapid.T) *machine {
	c, err := approval.New(approval.Options{Store: new(approvaltest.Store), EventBuffer: 16})
	if err != nil {
		rt.Fatal(err)
	}
	return &machine{t: t, c: c, results: make(chan result, 1000), got: map[string]approval.Decision{},
		calls: map[string]*modelCall{},
		m: &model{now: time.Now(), mode: approval.ModeInteractive, policy: approval.PolicyNormal,
			sessions: map[string]*modelSession{}, closed: map[string]modelResult{}}}
}

func (x *machine) close() {
	for _, leave := range x.leave {
		leave()
	}
	_ = x.c.Close(context.Background())
}

func ref(session string) approval.SessionRef {
	return approval.SessionRef{Principal: principal, ID: session}
}

var (
	sessionNames = rapid.SampledFrom([]string{"s1", "s2"})
	projectNames = rapid.SampledFrom([]string{"", "/p1", "/p2"})
	agentNames   = rapid.SampledFrom([]string{"", "a1", "a2"})
	checkNames   = rapid.SampledFrom([]string{"ask", "ask", "ask", "ask", "run", "block", "safe", "allow", "cfg-ask",
		"dangerous", "protected", "delete"})
	scopeNames  = rapid.SampledFrom([]approval.Scope{"", "once", "turn", "session", "project", "agent", "global"})
	digestNames = rapid.SampledFrom([]string{"d1", "d2", "d3"})
	spans       = rapid.SampledFrom([]time.Duration{0, 0, 10 * time.Second, 3 * time.Minute})
)

func (x *machine) call(t *rapid.T) {
	x.n++
	m := &modelCall{id: fmt.Sprint("c", x.n), session: sessionNames.Draw(t, "session"),
		agent: agentNames.Draw(t, "agent"), project: projectNames.Draw(t, "project"),
		check: checkNames.Draw(t, "check"), payload: rapid.IntRange(1, 2).Draw(t, "payload"),
		digest: digestNames.Draw(t, "digest")}
	if rapid.Bool().Draw(t, "in a batch") {
		m.batch = rapid.SampledFrom([]string{"b1", "b2"}).Draw(t, "batch")
		m.rest = rapid.SliceOfN(digestNames, 0, 3).Draw(t, "rest")
	}
	x.make(m)
}

// make has both decide a call.
func (x *machine) make(m *modelCall) {
	row := cell{check: m.check}
	call := row.call()
	call.ID, call.Session, call.Project, call.Agent.ID, call.Digest = m.id, m.session, m.project, m.agent, m.digest
	call.Payload = map[string]any{"n": m.payload}
	if call.Request != nil {
		call.Request.Payload = call.Payload
		call.Request.Suggestions = []approval.Suggestion{{Label: "any", Pattern: approval.Pattern{Tool: "tool", Any: true}}}
	}
	if m.batch != "" {
		call.Batch = approval.Batch{ID: m.batch, Index: 1, Total: 1 + len(m.rest)}
		for _, d := range m.rest {
			call.Batch.Remaining = append(call.Batch.Remaining, approval.Remaining{Tool: "tool", Digest: d})
		}
	}
	x.calls[m.id] = m
	go func() {
		d, _ := x.c.Decide(context.Background(), call)
		x.results <- result{m.id, d}
	}()
	synctest.Wait()
	x.m.decide(m)
}

// batch walks through one: a call that lists the rest, "approve all" where it
// asks, and then calls of which some were listed.
func (x *machine) batch(t *rapid.T) {
	x.n++
	name := fmt.Sprint("walk", x.n)
	s := sessionNames.Draw(t, "session")
	rest := rapid.SliceOfN(digestNames, 1, 3).Draw(t, "rest")
	first := &modelCall{id: fmt.Sprint("c", x.n), session: s, check: "ask", payload: 1, digest: "d0", batch: name,
		rest: rest}
	x.make(first)
	for _, p := range x.c.Pending(alice) {
		if p.CallID == first.id {
			a := p.Allow(alice)
			a.Verb = approval.VerbAllowAll
			if _, err := x.c.Answer(context.Background(), p.ID, a); err != nil {
				t.Fatal(err)
			}
			x.m.answer(first, a, false, "")
		}
	}
	for range rapid.IntRange(1, 4).Draw(t, "calls") {
		x.n++
		x.make(&modelCall{id: fmt.Sprint("c", x.n), session: s, check: checkNames.Draw(t, "check"), payload: 2,
			digest: digestNames.Draw(t, "digest"), batch: name})
	}
}

// pick draws an open question; where there is none the step is a call.
func (x *machine) pick(t *rapid.T) (q approval.Pending, c *modelCall, ok bool) {
	list := x.c.Pending(alice)
	if len(list) == 0 {
		x.call(t)
		return q, nil, false
	}
	p := rapid.SampledFrom(list).Draw(t, "question")
	return p, x.calls[p.CallID], true
}

func (x *machine) answer(t *rapid.T) {
	p, c, ok := x.pick(t)
	if !ok {
		return
	}
	a := approval.Answer{By: alice, Rev: p.Rev, Hash: p.Hash,
		Verb:  rapid.SampledFrom([]approval.Verb{"allow", "allow", "deny", "allow_all", "quit"}).Draw(t, "verb"),
		Scope: scopeNames.Draw(t, "scope"), For: spans.Draw(t, "for")}
	allow := a.Verb == approval.VerbAllow || a.Verb == approval.VerbAllowAll
	if !allow {
		a.Mode = rapid.SampledFrom([]approval.RejectMode{"", "soft", "hard"}).Draw(t, "mode")
	}
	once := a.Scope == "" || a.Scope == approval.ScopeOnce
	whole := !once && rapid.Bool().Draw(t, "whole tool")
	if whole {
		a.Suggestion = 1
	}
	scope := a.Scope
	if once {
		scope = approval.ScopeOnce
	}
	batch := a.Verb == approval.VerbAllowAll || a.Verb == approval.VerbQuit
	valid := !(once && a.For > 0) && !(batch && !once) && x.m.offered(c, scope, allow) &&
		!(a.Verb == approval.VerbAllowAll && c.batch == "") && !(whole && c.check == "run")
	r, err := x.c.Answer(context.Background(), p.ID, a)
	if (err == nil) != valid {
		t.Fatalf("answer %+v to a %s call: error is %v, want valid = %t", a, c.check, err, valid)
	}
	if !valid {
		return
	}
	if allow && c.twice() {
		if r.Decided {
			t.Fatalf("one yes was enough for a %s call", c.check)
		}
		if !c.again {
			c.again, c.started = true, x.m.now
		}
		switch rapid.IntRange(0, 2).Draw(t, "second act") {
		case 0:
			return // the person leaves it at that
		case 1:
			a.Confirm, a.Note = true, a.Note+" and more"
			if _, err := x.c.Answer(context.Background(), p.ID, a); err == nil {
				t.Fatal("another answer confirmed the first")
			}
			return
		}
		a.Confirm = true
		if r, err = x.c.Answer(context.Background(), p.ID, a); err != nil || !r.Decided {
			t.Fatalf("the second yes: %+v, %v", r, err)
		}
	}
	x.m.answer(c, a, whole, r.Decision.Grant)
	// R-AP-15: answering is idempotent.
	again, err := x.c.Answer(context.Background(), p.ID, a)
	if err != nil || again.Decision.Outcome != r.Decision.Outcome {
		t.Fatalf("the same answer again: %+v, %v", again, err)
	}
}

// stale answers with what was not seen; nothing may change.
func (x *machine) stale(t *rapid.T) {
	p, _, ok := x.pick(t)
	if !ok {
		return
	}
	a := p.Allow(alice)
	if rapid.Bool().Draw(t, "rev") {
		a.Rev++
	} else {
		a.Hash = ""
	}
	if _, err := x.c.Answer(context.Background(), p.ID, a); err == nil {
		t.Fatal("a stale answer was taken")
	}
}

// late answers what is decided, or was never asked.
func (x *machine) late(t *rapid.T) {
	for _, id := range slices.Sorted(maps.Keys(x.got)) {
		if d := x.got[id]; d.Request != "" {
			a := approval.Answer{Verb: approval.VerbAllow, By: approval.Identity{Principal: principal, Name: "mallory"}}
			if _, err := x.c.Answer(context.Background(), d.Request, a); err == nil {
				t.Fatal("a late answer was taken")
			}
			return
		}
	}
	x.call(t) // nothing was asked yet
}

func (x *machine) turn(t *rapid.T) {
	s := sessionNames.Draw(t, "session")
	x.c.NewTurn(ref(s))
	x.m.newTurn(s)
}

func (x *machine) stop(t *rapid.T) {
	s := sessionNames.Draw(t, "session")
	x.c.OpenSession(ref(s))
	if rapid.Bool().Draw(t, "stop") {
		if err := x.c.Stop(alice, ref(s), ""); err != nil {
			t.Fatal(err)
		}
		x.m.session(s).stopped = true
		x.m.reconsider(inSession(s))
		return
	}
	if err := x.c.Resume(alice, ref(s)); err != nil {
		t.Fatal(err)
	}
	x.m.session(s).stopped = false
}

func (x *machine) switchMode(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{0, 20 * time.Second, time.Hour}).Draw(t, "for")
	if rapid.Bool().Draw(t, "everywhere") {
		if err := x.c.ApproveAll(alice, d); err != nil {
			t.Fatal(err)
		}
		x.m.approveAll = x.m.now.Add(d)
		x.m.reconsider(everywhere)
		return
	}
	s := sessionNames.Draw(t, "session")
	x.c.OpenSession(ref(s))
	if err := x.c.ApproveAllSession(alice, ref(s), d); err != nil {
		t.Fatal(err)
	}
	x.m.session(s).approveAll = x.m.now.Add(d)
	x.m.reconsider(inSession(s))
}

func (x *machine) configure(t *rapid.T) {
	cfg := approval.DefaultConfig()
	cfg.Mode = rapid.SampledFrom([]approval.Mode{"interactive", "interactive", "strict"}).Draw(t, "mode")
	cfg.Policy = rapid.SampledFrom([]approval.Policy{"normal", "normal", "whitelist", "blacklist"}).Draw(t, "policy")
	if err := x.c.Configure(cfg); err != nil {
		t.Fatal(err)
	}
	x.m.mode, x.m.policy = cfg.Mode, cfg.Policy
	x.m.reconsider(everywhere)
}

func (x *machine) pass(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{time.Second, 10 * time.Second, 30 * time.Second, 4 * time.Minute,
		10 * time.Minute}).Draw(t, "time")
	time.Sleep(d)
	synctest.Wait()
	x.m.pass(d)
}

func (x *machine) connect(t *rapid.T) {
	if len(x.leave) > 0 && rapid.Bool().Draw(t, "disconnect") {
		i := rapid.IntRange(0, len(x.leave)-1).Draw(t, "which")
		x.leave[i]()
		if x.kinds[i] == approval.ViaTerminal {
			x.m.connected(-1, 0)
		} else {
			x.m.connected(0, -1)
		}
		x.leave, x.kinds = slices.Delete(x.leave, i, i+1), slices.Delete(x.kinds, i, i+1)
		return
	}
	via := rapid.SampledFrom([]approval.Via{approval.ViaTerminal, approval.ViaRemote}).Draw(t, "via")
	x.leave = append(x.leave, x.c.Connect(approval.Identity{Principal: principal, Via: via}))
	x.kinds = append(x.kinds, via)
	if via == approval.ViaTerminal {
		x.m.connected(1, 0)
	} else {
		x.m.connected(0, 1)
	}
}

func (x *machine) revoke(t *rapid.T) {
	if len(x.m.grants) == 0 {
		x.grant(t)
		return
	}
	i := rapid.IntRange(0, len(x.m.grants)-1).Draw(t, "grant")
	g := x.m.grants[i]
	if err := x.c.Revoke(alice, g.id); err != nil {
		t.Fatalf("revoke %+v: %v", *g, err)
	}
	x.m.grants = slices.Delete(x.m.grants, i, i+1)
	x.m.reconsider(everywhere)
}

// grant makes one without a question.
func (x *machine) grant(t *rapid.T) {
	s := sessionNames.Draw(t, "session")
	x.c.OpenSession(ref(s))
	g := approval.Grant{Principal: principal, Session: s, Project: "/p1", Agent: "a1",
		Effect: rapid.SampledFrom([]approval.Effect{approval.Allow, approval.Deny}).Draw(t, "effect"),
		Scope:  rapid.SampledFrom([]approval.Scope{"turn", "session", "project", "agent", "global"}).Draw(t, "scope"),
		Match:  approval.Pattern{Tool: "tool", Any: true}}
	m := &modelGrant{effect: g.Effect, scope: g.Scope}
	switch g.Scope {
	case approval.ScopeTurn:
		m.session, m.turn = s, x.m.session(s).turn
	case approval.ScopeSession:
		m.session = s
	case approval.ScopeProject:
		m.project = "/p1"
	case approval.ScopeAgent:
		m.agent = "a1"
	}
	if d := spans.Draw(t, "for"); d > 0 {
		g.Expires = time.Now().Add(d)
		m.expires = x.m.now.Add(d)
	}
	made, err := x.c.AddGrant(alice, g)
	if err != nil {
		t.Fatal(err)
	}
	m.id = made.ID
	x.m.session(s)
	x.m.grants = slices.DeleteFunc(x.m.grants, func(o *modelGrant) bool {
		return o.effect == m.effect && o.scope == m.scope && o.session == m.session && o.turn == m.turn &&
			o.project == m.project && o.agent == m.agent && o.payload == 0
	})
	x.m.grants = append(x.m.grants, m)
	x.m.reconsider(everywhere)
}

func (x *machine) closeSession(t *rapid.T) {
	s := sessionNames.Draw(t, "session")
	x.c.CloseSession(ref(s))
	x.m.closeSession(s)
}

// compare is the invariant: both agree on everything that can be seen.
func (x *machine) compare(t *rapid.T) {
	synctest.Wait()
	for len(x.results) > 0 {
		r := <-x.results
		x.got[r.id] = r.d
	}
	for id, want := range x.m.closed {
		d, ok := x.got[id]
		if !ok {
			t.Fatalf("%s is not decided, want %+v", id, want)
		}
		if got := (modelResult{d.Approved, d.Layer, d.Reason}); got != want {
			t.Fatalf("%s (%s): %+v, want %+v", id, x.calls[id].check, got, want)
		}
	}
	if len(x.got) != len(x.m.closed) {
		t.Fatalf("%d calls are decided, want %d", len(x.got), len(x.m.closed))
	}
	var open, want []string
	for _, p := range x.c.Pending(alice) {
		open = append(open, p.CallID)
		if c := x.calls[p.CallID]; p.Twice != c.twice() {
			t.Fatalf("%s (%s): twice is %t", c.id, c.check, p.Twice)
		}
	}
	for _, c := range x.m.open {
		want = append(want, c.id)
	}
	if !slices.Equal(open, want) {
		t.Fatalf("open are %v, want %v", open, want)
	}
	if got := x.c.Stats(alice); got != x.m.stats {
		t.Fatalf("statistics are %+v, want %+v", got, x.m.stats)
	}
	for name, s := range x.m.sessions {
		if got := x.c.SessionStats(ref(name)); got != s.stats {
			t.Fatalf("statistics of %s are %+v, want %+v", name, got, s.stats)
		}
		if x.c.Stopped(ref(name)) != s.stopped {
			t.Fatalf("stopped in %s is %t", name, !s.stopped)
		}
	}
}
