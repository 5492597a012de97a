package notify

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"sandboxd/approval"
	"sandboxd/display"
	"sandboxd/secret"
)

// State is the reason of a notice.
type State string

const (
	Asked  State = "asked"  // a question waits
	Ending State = "ending" // it times out soon
	Closed State = "closed" // it was answered, or timed out
)

// Notice is the text about one question, as receivers get it. Text contains no more than Config.Share permits.
type Notice struct {
	// ID is the question's permission id: sbx approve ID.
	ID    string        `json:"id"`
	State State         `json:"state"`
	Risk  approval.Risk `json:"risk"`
	Title string        `json:"title"`
	Text  string        `json:"text"`
	Link  string        `json:"link,omitempty"`
	// Deadline is when the question times out.
	Deadline time.Time `json:"deadline"`
}

// sample has every field; templates are validated with it.
var sample = Notice{
	ID: "01J", State: Asked, Risk: approval.RiskNormal, Title: "t", Text: "t",
	Link: "https://h/", Deadline: time.Unix(0, 0),
}

// maxText bounds the text about a command, and maxName that of an agent, a tool and a directory, in runes: services
// refuse longer messages.
const (
	maxText = 500
	maxName = 100
)

// Notifier sends notices of the questions of one controller.
type Notifier struct {
	questions *approval.Controller
	config    func() Config
	changed   chan struct{}
	problems  problems
}

// New returns a notifier of the questions of c, with the configuration that config returns.
func New(c *approval.Controller, config func() Config) *Notifier {
	return &Notifier{questions: c, config: config, changed: make(chan struct{}, 1)}
}

// Reload has Run read the configuration again.
func (n *Notifier) Reload() { signal(n.changed) }

// Problems returns a line for each receiver whose last notice failed.
func (n *Notifier) Problems() []string { return n.problems.list() }

// Run sends notices until ctx ends.
func (n *Notifier) Run(ctx context.Context) {
	disconnect := func() {}
	defer func() { disconnect() }()
	for connected := false; ctx.Err() == nil; {
		n.problems.clear()
		cfg := n.config()
		if cfg.on() != connected {
			// A person who can be reached: questions wait also where nobody is connected.
			disconnect()
			if connected = cfg.on(); connected {
				disconnect = n.questions.Connect(viewer)
			}
		}
		if connected {
			n.serve(ctx, cfg)
			continue
		}
		select {
		case <-n.changed:
		case <-ctx.Done():
		}
	}
}

// viewer sees the questions of all principals, and answers none.
var viewer = approval.Identity{Name: "notices", Via: approval.ViaNotice, Operator: true}

// serve sends notices by one configuration, until that changes or ctx ends.
func (n *Notifier) serve(ctx context.Context, cfg Config) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wake := make(chan struct{}, 1)
	go watch(ctx, n.questions.Subscribe(viewer), wake)
	s := &schedule{cfg: cfg, send: open(ctx, cfg, &n.problems), waiting: map[string]*waiting{}}
	s.quiet, _ = parseQuiet(cfg.Quiet)
	for {
		next := s.update(n.questions.Pending(viewer), time.Now())
		timer := time.NewTimer(next)
		select {
		case <-wake:
		case <-timer.C:
		case <-n.changed:
			timer.Stop()
			return
		case <-ctx.Done():
			return
		}
		timer.Stop()
	}
}

// watch signals wake after each event of a question.
func watch(ctx context.Context, events *approval.Subscription, wake chan struct{}) {
	for {
		e, err := events.Next(ctx)
		if err != nil {
			return
		}
		if e.Request != "" || e.Kind == approval.EventGap {
			signal(wake)
		}
	}
}

// signal makes the next receive of c return, and never blocks.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// schedule decides when notices are due.
type schedule struct {
	cfg     Config
	quiet   quiet
	send    func(Notice)
	waiting map[string]*waiting
}

// waiting is a question that is not answered.
type waiting struct {
	question approval.Pending
	sent     State // the last notice; empty for none
}

const (
	// idle is the longest time between two updates.
	idle = time.Minute
	// warning is how long before the deadline the second notice is due; a quarter of a short wait.
	warning = time.Minute
)

// update sends the notices that are due and returns when the next may be.
func (s *schedule) update(pending []approval.Pending, now time.Time) time.Duration {
	open := map[string]bool{}
	next := now.Add(idle)
	for _, p := range pending {
		open[p.ID] = true
		w := s.waiting[p.ID]
		if w == nil {
			w = &waiting{}
			s.waiting[p.ID] = w
		}
		w.question = p
		state, due := s.due(w)
		if state != "" && !due.After(now) {
			w.sent = state
			s.send(s.notice(p, state))
			state, due = s.due(w)
		}
		if state != "" && due.Before(next) {
			next = due
		}
	}
	for id, w := range s.waiting {
		if !open[id] {
			delete(s.waiting, id)
			if w.sent != "" {
				s.send(s.notice(w.question, Closed))
			}
		}
	}
	return max(next.Sub(now), 10*time.Millisecond)
}

// due returns the next notice of w and when it is to be sent; none if nothing more is.
func (s *schedule) due(w *waiting) (State, time.Time) {
	p := w.question
	wait := p.Deadline.Sub(p.Asked)
	switch w.sent {
	case "":
		delay := time.Duration(s.cfg.Delay)
		if p.Risk == approval.RiskHigh {
			delay = time.Duration(s.cfg.DelayHigh)
		}
		if !p.Deadline.IsZero() {
			delay = min(delay, wait/2)
		}
		return Asked, s.quiet.after(p.Asked.Add(delay).Local())
	case Asked:
		if p.Deadline.IsZero() {
			return "", time.Time{}
		}
		due := s.quiet.after(p.Deadline.Add(-min(warning, wait/4)).Local())
		if due.Before(p.Deadline) {
			return Ending, due
		}
	}
	return "", time.Time{}
}

// notice returns the text about p.
func (s *schedule) notice(p approval.Pending, state State) Notice {
	n := Notice{ID: p.ID, State: state, Risk: p.Risk, Deadline: p.Deadline,
		Link: strings.ReplaceAll(s.cfg.Link, "{id}", p.ID)}
	switch state {
	case Asked:
		n.Title = "A question waits for you"
	case Ending:
		n.Title = "A question times out at " + p.Deadline.Local().Format("15:04:05")
	case Closed:
		n.Title = "The question no longer waits"
	}
	var lines []string
	if s.cfg.Share != "none" {
		lines = append(lines, fmt.Sprintf("%s asks: %s, risk %s, in %s",
			shorten(display.Line(p.AgentShown), maxName), shorten(display.Line(p.Tool), maxName), p.Risk,
			shorten(display.Line(filepath.Base(p.Cwd)), maxName)))
	}
	if s.cfg.Share == "command" {
		lines = append(lines, shorten(display.Line(secret.Mask(p.Description)), maxText))
	}
	n.Text = strings.Join(append(lines, "sbx approve "+p.ID), "\n")
	return n
}

// shorten cuts s at most runes.
func shorten(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + " …"
	}
	return s
}
