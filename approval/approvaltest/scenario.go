package approvaltest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sandboxd/approval"
)

// Scenario is a walk through one passage of a specification.
type Scenario struct {
	Name string
	// Seed is the specification's short name, Section the passage.
	Seed, Section string
	// Differs says, with the requirement's id, where the outcome is another
	// than the specification's.
	Differs string
	// Config is a configuration file in TOML; empty for the defaults. A System
	// that has no tool layers of its own reads only [approval] and [tools].
	Config string
	Steps  []Step
}

// Step is one event and its expected outcome. At most one of
// the fields from Call to Sleep is set.
type Step struct {
	// Say is the specification's text, for messages.
	Say string

	Call   *Call
	Answer *Answer
	// Turn, Close and Stats name a session: the next user turn starts, the
	// session ends, the statistics are read. "" is no session; use "main".
	Turn  string
	Close string
	// ApproveAll switches approve-all on for session Turn or Close do not name.
	ApproveAll *ApproveAll
	// Connect and Disconnect bring an approver of that kind or take it away.
	Connect    approval.Via
	Disconnect approval.Via
	// Revoke withdraws the grant that decided the named call.
	Revoke string
	// Sleep lets time pass.
	Sleep time.Duration

	Want []Want
	// WantStats, where set, is compared with the session's statistics, which
	// Close returns.
	WantStats *approval.Stats
}

// Call is a tool call that an agent makes.
type Call struct {
	// Name is the call's id.
	Name string
	// Session and Agent name them; "" is session "main" and an agent that was
	// not verified.
	Session, Agent string
	Tool           string
	Args           map[string]any
	// Batch is the call's place; Later names the calls that remain.
	Batch        string
	Index, Total int
	Later        []Later
	// Word is the tool layer's verdict on this call. A System with real tools
	// takes theirs, which must come to the same.
	Word Word
}

// Later is a call that is still to come in a batch. A System that has real
// tools announces tool and arguments, and takes the digest from them.
type Later struct {
	Tool   string
	Args   map[string]any
	Delete bool
}

// Word is the verdict of a tool layer.
type Word struct {
	// Run: the tool needs no approval. Block is its "never".
	Run   bool
	Block string
	// Payload is the request's; nil is the arguments.
	Payload map[string]any
	Class   approval.Class
	Group   string
	Suggest []approval.Suggestion
	// Description, where the specification fixes it.
	Description string
}

// Answer is an approver's answer.
type Answer struct {
	// To names the call.
	To         string
	Verb       approval.Verb
	Scope      approval.Scope
	Mode       approval.RejectMode
	Note       string
	Suggestion int
	For        time.Duration
	// Group: answer every question of the same group with it.
	Group bool
	Via   approval.Via // "" is a terminal
	// WantConfirm: this is a first yes, and a second is asked for. The next
	// answer to the same call carries the code.
	WantConfirm bool
	// WantError is part of the error that this answer must get.
	WantError string
}

// ApproveAll switches the mode.
type ApproveAll struct {
	Session string
	For     time.Duration
}

// State is the state of a call.
type State string

const (
	Open     State = "asks"
	Approved State = "approved"
	Denied   State = "denied"
)

// Want is the expected state of a call after a step.
type Want struct {
	Call  string
	State State
	// Where set, these must be equal or, for Text, be part of the agent's text
	// or, for an open question, of its description.
	Reason approval.Reason
	Reject approval.RejectMode
	How    approval.How
	Text   string
	// Remaining, where not nil, is how many calls of the batch the question lists.
	Remaining *int
}

// System is the implementation that a scenario plays against.
type System interface {
	// Decide makes the call and waits until it is decided.
	Decide(ctx context.Context, call Call) (approval.Decision, error)
	Pending(ctx context.Context) ([]approval.Pending, error)
	Answer(ctx context.Context, by approval.Via, id string, a approval.Answer) (approval.Receipt, error)
	NewTurn(ctx context.Context, session string) error
	CloseSession(ctx context.Context, session string) (approval.Stats, error)
	SessionStats(ctx context.Context, session string) (approval.Stats, error)
	ApproveAll(ctx context.Context, session string, d time.Duration) error
	Connect(via approval.Via) error
	Disconnect(via approval.Via) error
	Revoke(ctx context.Context, grant string) error
	// Settle waits until everything that was set going has come to rest.
	Settle()
	// Sleep lets time pass.
	Sleep(d time.Duration)
}

// play is a scenario under way.
type play struct {
	sys     System
	results map[string]chan approval.Decision
	decided map[string]approval.Decision
	tools   map[string]string // by call
	confirm map[string]bool   // by call: a first yes was given
}

// Play plays s and returns the first step with another outcome than expected.
// It ends open calls when it returns.
func Play(ctx context.Context, sys System, s Scenario) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &play{sys, map[string]chan approval.Decision{}, map[string]approval.Decision{}, map[string]string{},
		map[string]bool{}}
	for i, step := range s.Steps {
		if err := p.step(ctx, step); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, step.Say, err)
		}
	}
	return nil
}

func (p *play) step(ctx context.Context, s Step) error {
	var err error
	var stats approval.Stats
	switch {
	case s.Call != nil:
		p.call(ctx, *s.Call)
	case s.Answer != nil:
		err = p.answer(ctx, *s.Answer)
	case s.Turn != "":
		err = p.sys.NewTurn(ctx, s.Turn)
	case s.Close != "":
		stats, err = p.sys.CloseSession(ctx, s.Close)
	case s.ApproveAll != nil:
		err = p.sys.ApproveAll(ctx, s.ApproveAll.Session, s.ApproveAll.For)
	case s.Connect != "":
		err = p.sys.Connect(s.Connect)
	case s.Disconnect != "":
		err = p.sys.Disconnect(s.Disconnect)
	case s.Revoke != "":
		err = p.sys.Revoke(ctx, p.decided[s.Revoke].Grant)
	case s.Sleep != 0:
		p.sys.Sleep(s.Sleep)
	}
	if err != nil {
		return err
	}
	p.sys.Settle()
	for _, w := range s.Want {
		if err := p.check(ctx, w); err != nil {
			return err
		}
	}
	if s.WantStats == nil {
		return nil
	}
	if s.Close == "" {
		if stats, err = p.sys.SessionStats(ctx, "main"); err != nil {
			return err
		}
	}
	if stats != *s.WantStats {
		return fmt.Errorf("statistics are %+v, want %+v", stats, *s.WantStats)
	}
	return nil
}

func (p *play) call(ctx context.Context, c Call) {
	if c.Session == "" {
		c.Session = "main"
	}
	result := make(chan approval.Decision, 1)
	p.results[c.Name], p.tools[c.Name] = result, c.Tool
	delete(p.decided, c.Name)
	go func() {
		d, err := p.sys.Decide(ctx, c)
		if err != nil {
			d = approval.Decision{Outcome: approval.Denied, Reason: approval.ReasonFault, Why: err.Error()}
		}
		result <- d
	}()
}

// question finds the open question of a call.
func (p *play) question(ctx context.Context, call string) (approval.Pending, error) {
	list, err := p.sys.Pending(ctx)
	if err != nil {
		return approval.Pending{}, err
	}
	for _, q := range list {
		if q.CallID == call {
			return q, nil
		}
	}
	return approval.Pending{}, fmt.Errorf("call %q has no open question", call)
}

func (p *play) answer(ctx context.Context, a Answer) error {
	q, err := p.question(ctx, a.To)
	if err != nil {
		return err
	}
	if a.Via == "" {
		a.Via = approval.ViaTerminal
	}
	answer := approval.Answer{Verb: a.Verb, Rev: q.Rev, Hash: q.Hash, Scope: a.Scope, Mode: a.Mode, Note: a.Note,
		Suggestion: a.Suggestion, For: a.For, Confirm: p.confirm[a.To]}
	delete(p.confirm, a.To)
	if a.Group {
		answer.Also = q.Group
	}
	r, err := p.sys.Answer(ctx, a.Via, q.ID, answer)
	switch {
	case a.WantError != "":
		if err == nil || !strings.Contains(err.Error(), a.WantError) {
			return fmt.Errorf("answer to %q: error is %v, want one with %q", a.To, err, a.WantError)
		}
		return nil
	case err != nil:
		return fmt.Errorf("answer to %q: %w", a.To, err)
	case a.WantConfirm == r.Decided:
		return fmt.Errorf("answer to %q: decided is %t, want %t", a.To, r.Decided, !a.WantConfirm)
	}
	if !r.Decided {
		p.confirm[a.To] = true
	}
	return nil
}

func (p *play) check(ctx context.Context, w Want) error {
	result := p.results[w.Call]
	if result == nil {
		return fmt.Errorf("no call %q was made", w.Call)
	}
	select {
	case d := <-result:
		p.decided[w.Call] = d
	default:
	}
	d, ok := p.decided[w.Call]
	if !ok {
		return p.checkOpen(ctx, w)
	}
	state := Denied
	if d.Approved {
		state = Approved
	}
	switch {
	case state != w.State:
		return fmt.Errorf("call %q is %s (%s: %s), want %s", w.Call, state, d.Reason, d.Why, w.State)
	case w.Reason != "" && d.Reason != w.Reason:
		return fmt.Errorf("call %q is %s for %s, want %s", w.Call, state, d.Reason, w.Reason)
	case w.Reject != "" && d.Reject != w.Reject:
		return fmt.Errorf("call %q: rejection is %q, want %q", w.Call, d.Reject, w.Reject)
	case w.How != "" && d.How != w.How:
		return fmt.Errorf("call %q: decided by %q, want %q", w.Call, d.How, w.How)
	}
	if text := d.ForAgent(p.tools[w.Call]) + d.Why; !strings.Contains(text, w.Text) {
		return fmt.Errorf("call %q: the agent's text is %q, want %q in it", w.Call, text, w.Text)
	}
	return nil
}

func (p *play) checkOpen(ctx context.Context, w Want) error {
	q, err := p.question(ctx, w.Call)
	switch {
	case err != nil:
		return err
	case w.State != Open:
		return fmt.Errorf("call %q still asks, want %s", w.Call, w.State)
	case w.Remaining != nil && len(q.Batch.Remaining) != *w.Remaining:
		return fmt.Errorf("call %q lists %d remaining calls, want %d", w.Call, len(q.Batch.Remaining), *w.Remaining)
	case !strings.Contains(q.Description, w.Text):
		return fmt.Errorf("call %q is described as %q, want %q in it", w.Call, q.Description, w.Text)
	}
	return nil
}
