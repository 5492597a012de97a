package acceptance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
	"sandboxd/ipc"
)

// performance is a scenario under way at a daemon.
type performance struct {
	t       *testing.T
	st      *stage
	exec    bool // commands are run by the daemon, not only judged
	s       approvaltest.Scenario
	open    map[[2]string]*opened // sessions by name and agent
	calls   map[string]*made
	confirm map[string]bool
	streams map[approval.Via][]ipc.Stream[ipc.News]
	granted []string // what wider grants cover, in the words of their questions
}

// opened is a session; each has its secret.
type opened struct {
	id     string
	client *ipc.Client
}

// made is a call and what the agent has heard of it.
type made struct {
	call    approvaltest.Call
	session *opened
	done    chan struct{} // closed when the agent has its answer
	allowed bool
	mode    string // of a no
	message string // the text for the agent's model
	key     string // that the person pressed, or the word of the answer; "" is not compared
	err     error
	record  *record
}

// play plays s, and clears up after it.
func play(t *testing.T, st *stage, s approvaltest.Scenario, exec bool) {
	if s.Differs != "" {
		t.Log(s.Section + "; other than the specification: " + s.Differs)
	}
	p := &performance{t: t, st: st, exec: exec, s: s, open: map[[2]string]*opened{}, calls: map[string]*made{},
		confirm: map[string]bool{}, streams: map[approval.Via][]ipc.Stream[ipc.News]{}}
	defer p.clear()
	for i, step := range s.Steps {
		if err := p.step(i, step); err != nil {
			t.Fatalf("step %d (%s): %v", i+1, step.Say, err)
		}
	}
}

func (p *performance) step(i int, s approvaltest.Step) error {
	ctx, cancel := within(p.t)
	defer cancel()
	var stats approval.Stats
	var err error
	switch {
	case s.Call != nil:
		err = p.make(*s.Call)
	case s.Answer != nil:
		err = p.answer(*s.Answer)
	case s.Turn != "":
		for _, o := range p.sessions(s.Turn) {
			if _, err = o.client.Turn(ctx, ipc.TurnRequest{Session: o.id}); err != nil {
				break
			}
		}
	case s.Close != "":
		stats, err = p.close(s.Close)
	case s.ApproveAll != nil:
		var o *opened
		if o, err = p.session(s.ApproveAll.Session, ""); err == nil {
			err = p.approveAll(o, s.ApproveAll.For)
		}
	case s.Connect != "":
		var news ipc.Stream[ipc.News]
		news, err = p.st.persons[s.Connect].approver.News(p.t.Context(), ipc.NewsRequest{})
		p.streams[s.Connect] = append(p.streams[s.Connect], news)
	case s.Disconnect != "":
		list := p.streams[s.Disconnect]
		err = list[len(list)-1].Close()
		p.streams[s.Disconnect] = list[:len(list)-1]
	case s.Revoke != "":
		err = p.st.person().Revoke(ctx, ipc.GrantRequest{ID: p.calls[s.Revoke].record.Grant})
	case s.Sleep != 0:
		p.sleep(p.s.Steps[i+1:])
	}
	if err != nil {
		return err
	}
	for _, w := range s.Want {
		if err := p.check(w); err != nil {
			return err
		}
	}
	if s.WantStats != nil {
		if s.Close == "" {
			if stats, err = p.stats("main"); err != nil {
				return err
			}
		}
		if stats != *s.WantStats {
			return fmt.Errorf("statistics are %+v, want %+v", stats, *s.WantStats)
		}
	}
	return nil
}

// approveAll switches the mode on as a person. The answer contains a warning, and the
// daemon then reports the same mode (R-AP-18).
func (p *performance) approveAll(o *opened, d time.Duration) error {
	ctx, cancel := within(p.t)
	defer cancel()
	m, err := p.st.person().SetMode(ctx, ipc.Mode{Session: o.id, Mode: "approve_all", ForMS: p.lifetime(d)})
	if err != nil {
		return err
	}
	now, err := p.st.person().Mode(ctx, ipc.ModeRequest{Session: o.id})
	if err != nil {
		return err
	}
	if m.Warning == "" || m.Was != "interactive" || m.Mode != "approve_all" || now.Mode != m.Mode || now.Ends == nil {
		return fmt.Errorf("switched to %+v, is %+v", m, now)
	}
	return nil
}

// sleep lets time pass: before the scenario's last sleep not yet enough (where
// a remote approver is there, more than the time of a terminal), then enough.
func (p *performance) sleep(rest []approvaltest.Step) {
	remote := len(p.streams[approval.ViaRemote]) > 0
	switch {
	case sleepsLeft(rest) == 0 && remote:
		time.Sleep(shortRemote - shortTimeout + 200*time.Millisecond)
	case sleepsLeft(rest) == 0:
		time.Sleep(shortTimeout + 300*time.Millisecond)
	case remote:
		time.Sleep(shortTimeout + 300*time.Millisecond)
	}
}

// lifetime is a lifetime on the wire, short where time passes.
func (p *performance) lifetime(d time.Duration) int64 {
	if d > 0 && sleeps(p.s) {
		d = shortTimeout
	}
	return d.Milliseconds()
}

// session finds a scenario's session, and opens it at first.
func (p *performance) session(name, agent string) (*opened, error) {
	key := [2]string{name, agent}
	if o := p.open[key]; o != nil {
		return o, nil
	}
	ctx, cancel := within(p.t)
	defer cancel()
	via := p.st.agent(agent)
	s, err := via.agent.OpenSession(ctx, ipc.SessionRequest{Kind: ipc.KindAPI, Agent: "agent " + agent,
		Root: p.st.project})
	if err != nil {
		return nil, err
	}
	o := &opened{s.ID, &ipc.Client{Socket: via.agent.Socket, Secret: s.Secret}}
	p.open[key] = o
	return o, nil
}

func (p *performance) sessions(name string) (list []*opened) {
	for key, o := range p.open {
		if key[0] == name {
			list = append(list, o)
		}
	}
	return list
}

func (p *performance) close(name string) (stats approval.Stats, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // also when the test is over
	defer cancel()
	for _, o := range p.sessions(name) {
		closed, err := o.client.CloseSession(ctx, ipc.CloseRequest{Session: o.id})
		o.client.Close()
		if err != nil {
			return stats, err
		}
		if closed.Stats == nil {
			return stats, errors.New("closing the session returned no statistics")
		}
		stats = domainStats(closed.Stats.Overall)
		left, err := p.st.person().Grants(ctx)
		if err != nil {
			return stats, err
		}
		for _, g := range left.Grants {
			if g.Session == o.id {
				return stats, fmt.Errorf("grant %q of the closed session is left: %s", g.ID, g.What)
			}
		}
	}
	for key := range p.open {
		if key[0] == name {
			delete(p.open, key)
		}
	}
	return stats, nil
}

func (p *performance) stats(name string) (approval.Stats, error) {
	all, err := p.st.person().Stats(p.t.Context())
	if err != nil {
		return approval.Stats{}, err
	}
	o, err := p.session(name, "")
	if err != nil {
		return approval.Stats{}, err
	}
	return domainStats(all.Sessions[o.id]), nil
}

func domainStats(c ipc.Counts) approval.Stats {
	return approval.Stats{Total: uint64(c.Total), Approved: uint64(c.Approved), Denied: uint64(c.Denied),
		AutoApproved:    uint64(c.AutoApproved),
		DoubleConfirmed: uint64(c.DoubleConfirmed), TimedOut: uint64(c.TimedOut), Quit: uint64(c.Quit)}
}

// make lets the agent make a call, and waits until it is decided or a person
// is asked.
func (p *performance) make(c approvaltest.Call) error {
	if c.Session == "" {
		c.Session = "main"
	}
	o, err := p.session(c.Session, c.Agent)
	if err != nil {
		return err
	}
	m := &made{call: c, session: o, done: make(chan struct{})}
	p.calls[c.Name] = m
	go func() {
		defer close(m.done)
		if p.exec && c.Tool == "bash" {
			m.err = p.run(m)
		} else {
			m.err = p.ask(m)
		}
	}()
	return p.rest(m)
}

// place is the call's place in its batch, on the wire.
func place(c approvaltest.Call) *ipc.BatchPlace {
	if c.Batch == "" {
		return nil
	}
	b := &ipc.BatchPlace{ID: c.Batch, Index: c.Index - 1, Total: c.Total, GroupID: c.Word.Group}
	for _, l := range c.Later {
		n := ipc.NextCall{Tool: l.Tool, Args: arguments(l.Args)}
		if l.Tool == "bash" {
			n.Command, n.Args = l.Args["command"].(string), nil
		}
		b.Remaining = append(b.Remaining, n)
	}
	return b
}

func arguments(args map[string]any) json.RawMessage {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return raw
}

// ask is a call that the agent carries out itself.
func (p *performance) ask(m *made) error {
	r := ipc.CheckRequest{Session: m.session.id, CallID: m.call.Name, Tool: m.call.Tool, Batch: place(m.call)}
	if r.Tool == "bash" {
		r.Command = m.call.Args["command"].(string)
	} else {
		r.Args = arguments(m.call.Args)
	}
	v, err := m.session.client.Check(p.t.Context(), r)
	if err != nil {
		return err
	}
	m.allowed = v.Allowed
	if v.Denied != nil {
		m.mode, m.message = v.Denied.Mode, v.Denied.Message
	}
	if v.Allowed == (v.Denied != nil) {
		return fmt.Errorf("allowed is %t, and the denial %+v", v.Allowed, v.Denied)
	}
	return nil
}

// run is a command that the daemon carries out; whether it succeeds in that
// is another matter.
func (p *performance) run(m *made) error {
	ctx := p.t.Context()
	x, err := m.session.client.StartExec(ctx, ipc.ExecRequest{Session: m.session.id, CallID: m.call.Name,
		Command: m.call.Args["command"].(string), Batch: place(m.call)})
	if err != nil {
		return err
	}
	events, err := m.session.client.ExecEvents(ctx, ipc.EventsRequest{ID: x.ID})
	if err != nil {
		return err
	}
	defer events.Close()
	for {
		e, err := events.Next(ctx)
		switch {
		case err == io.EOF:
			return errors.New("the events ended without an exit")
		case err != nil:
			return err
		case e.Type == ipc.EventStarted:
			m.allowed = true
		case e.Type == ipc.EventExit && e.Exit.Denied != nil:
			m.mode, m.message = e.Exit.Denied.Mode, e.Exit.Denied.Message
			return nil
		case e.Type == ipc.EventExit && e.Exit.Error != nil && e.Exit.Error.Code != ipc.CodeNotFound:
			return e.Exit.Error
		case e.Type == ipc.EventExit:
			m.allowed = true
			return nil
		}
	}
}

// rest waits until a call has come to rest.
func (p *performance) rest(m *made) error {
	for deadline := time.Now().Add(patience); ; {
		select {
		case <-m.done:
			return p.heard(m)
		default:
		}
		if _, err := p.question(m); err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("call %q neither asks nor ends", m.call.Name)
		}
		select {
		case <-m.done:
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// question finds the open question of a call.
func (p *performance) question(m *made) (ipc.Approval, error) {
	list, err := p.st.person().Approvals(p.t.Context())
	if err != nil {
		return ipc.Approval{}, err
	}
	i := slices.IndexFunc(list.Approvals, func(q ipc.Approval) bool {
		return q.Session == m.session.id &&
			q.CallID == m.call.Name
	})
	if i < 0 {
		return ipc.Approval{}, fmt.Errorf("call %q has no open question", m.call.Name)
	}
	return list.Approvals[i], nil
}

// answer lets a person answer.
func (p *performance) answer(a approvaltest.Answer) error {
	m := p.calls[a.To]
	q, err := p.question(m)
	if err != nil {
		return err
	}
	var again bool
	if p.st.front != nil {
		again, err = p.st.front.answer(p, m, q.ID, a)
	} else {
		again, err = p.decide(q, a)
	}
	delete(p.confirm, a.To)
	switch {
	case a.WantError != "":
		if err == nil || !strings.Contains(err.Error(), a.WantError) {
			return fmt.Errorf("answer to %q: error is %v, want one with %q", a.To, err, a.WantError)
		}
		return nil
	case err != nil:
		return fmt.Errorf("answer to %q: %w", a.To, err)
	case a.WantConfirm != again:
		return fmt.Errorf("answer to %q: a second yes is wanted: %t, want %t", a.To, again, a.WantConfirm)
	}
	p.confirm[a.To] = again
	if again {
		return nil
	}
	<-m.done // the agent hears of it
	if err := p.heard(m); err != nil {
		return err
	}
	if m.record.How == approval.HowPerson && m.record.Note != a.Note {
		return fmt.Errorf("answer to %q: the note on record is %q, want %q", a.To, m.record.Note, a.Note)
	}
	return nil
}

func (p *performance) check(w approvaltest.Want) error {
	m := p.calls[w.Call]
	if err := p.rest(m); err != nil {
		return fmt.Errorf("call %q: %w", w.Call, err)
	}
	select {
	case <-m.done:
	default:
		return p.checkOpen(m, w)
	}
	state := approvaltest.Denied
	if m.allowed {
		state = approvaltest.Approved
	}
	switch {
	case state != w.State:
		return fmt.Errorf("call %q is %s (%s: %s), want %s", w.Call, state, m.record.Reason, m.message, w.State)
	case w.Reason != "" && m.record.Reason != w.Reason:
		return fmt.Errorf("call %q is %s for %s, want %s", w.Call, state, m.record.Reason, w.Reason)
	case w.Reject != "" && m.mode != string(w.Reject):
		return fmt.Errorf("call %q: rejection is %q, want %q", w.Call, m.mode, w.Reject)
	case w.How != "" && m.record.How != w.How:
		return fmt.Errorf("call %q: decided by %q, want %q", w.Call, m.record.How, w.How)
	case !strings.Contains(m.message, w.Text):
		return fmt.Errorf("call %q: the agent received %q, want %q in it", w.Call, m.message, w.Text)
	}
	return nil
}

func (p *performance) checkOpen(m *made, w approvaltest.Want) error {
	q, err := p.question(m)
	remaining := 0
	if q.Batch != nil {
		remaining = len(q.Batch.Remaining)
	}
	switch {
	case err != nil:
		return err
	case w.State != approvaltest.Open:
		return fmt.Errorf("call %q still asks (%q, %v), want %s", w.Call, q.Description, q.Reasons, w.State)
	case w.Remaining != nil && remaining != *w.Remaining:
		return fmt.Errorf("call %q lists %d remaining calls, want %d", w.Call, remaining, *w.Remaining)
	case !strings.Contains(q.Description, w.Text):
		return fmt.Errorf("call %q is described as %q, want %q in it", w.Call, q.Description, w.Text)
	}
	if p.st.front != nil {
		return p.st.front.asked(m, q.ID)
	}
	return nil
}

// clear ends what is open, takes back what was granted, and waits for the agents.
func (p *performance) clear() {
	for key := range p.open {
		if _, err := p.close(key[0]); err != nil {
			p.t.Errorf("close session %q: %v", key[0], err)
		}
	}
	for _, m := range p.calls {
		<-m.done
	}
	for _, list := range p.streams {
		for _, s := range list {
			s.Close()
		}
	}
	grants, err := p.st.person().Grants(context.Background())
	if err != nil {
		p.t.Errorf("list grants: %v", err)
	}
	for _, g := range grants.Grants {
		if g.Scope != string(approval.ScopeAgent) && g.Scope != string(approval.ScopeGlobal) {
			continue // of a session, which ends with it
		}
		if err := p.st.person().Revoke(context.Background(), ipc.GrantRequest{ID: g.ID}); err != nil {
			p.t.Errorf("revoke %q: %v", g.ID, err)
		}
	}
}
