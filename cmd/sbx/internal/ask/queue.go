package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"sandboxd/display"
	"sandboxd/ipc"
)

// ApproverAdmin is an Approver that can also take answers back.
type ApproverAdmin interface {
	Approver
	Revoke(context.Context, ipc.GrantRequest) error
	Turn(context.Context, ipc.TurnRequest) (ipc.Turn, error)
	Trusted(context.Context) (ipc.TrustList, error)
	Distrust(context.Context, ipc.TrustRequest) error
}

// Queue is the full screen of an approver of many requesters: one question after
// the other, oldest first.
type Queue struct {
	Person        Person
	ApproverAdmin ApproverAdmin
	// Once: leave when no question is left.
	Once bool
}

// newsMsg is something that happened at the daemon; lostMsg says that no more
// will be heard of it.
type (
	newsMsg   ipc.News
	lostMsg   struct{ err error }
	undoneMsg struct {
		of   *answered
		text string
		err  error
	}
)

// Serve shows the questions of open and those that next returns, until the
// person leaves or ctx ends. Answered questions remain on the terminal.
func (q Queue) Serve(ctx context.Context, open []ipc.Approval, next func(context.Context) (ipc.News, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cols, rows := q.Person.Terminal.Size()
	s := &sitting{Queue: q, ctx: ctx, look: q.Person.look(), rows: rows, open: map[string]ipc.Approval{}}
	s.look.Width = cols
	for _, a := range open {
		s.add(a)
	}
	heard := make(chan struct{})
	err := q.Person.program(s, func(send func(tea.Msg)) func() {
		stop := context.AfterFunc(ctx, func() { send(tea.Quit()) })
		go func() {
			defer close(heard)
			for {
				n, err := next(ctx)
				if err != nil {
					if ctx.Err() == nil {
						send(lostMsg{err})
					}
					return
				}
				send(newsMsg(n))
			}
		}()
		return func() { stop(); cancel() }
	})
	<-heard
	if len(s.log) > 0 {
		q.Person.print(strings.Join(s.log, "\n") + "\n")
	}
	q.Person.Terminal.Drain(300 * time.Millisecond)
	if s.err != nil {
		return s.err
	}
	return err
}

// sitting is the state of the full screen.
type sitting struct {
	Queue
	ctx   context.Context
	look  look
	rows  int
	order []string
	open  map[string]ipc.Approval
	d     *dialog // the question on the screen; nil: nothing waits
	log   []string
	last  *answered
	err   error
}

// answered is an answer that was given here.
type answered struct {
	a      ipc.Approval
	answer ipc.Answer
	d      ipc.Decided
	sent   time.Time
	undone bool
}

func (s *sitting) Init() tea.Cmd { return tea.Batch(s.next(), tick()) }

func (s *sitting) add(a ipc.Approval) {
	if _, known := s.open[a.ID]; !known {
		s.order = append(s.order, a.ID)
	}
	s.open[a.ID] = a
}

func (s *sitting) remove(id string) {
	delete(s.open, id)
	s.order = slices.DeleteFunc(s.order, func(o string) bool { return o == id })
}

// next puts the oldest question on the screen.
func (s *sitting) next() tea.Cmd {
	s.d = nil
	if len(s.order) == 0 {
		if s.Once {
			return tea.Quit
		}
		return nil
	}
	return s.put(s.order[0])
}

func (s *sitting) put(id string) tea.Cmd {
	s.d = newDialog(s.open[id], s.look, s.room(), false, time.Now())
	s.d.queued = true
	if s.Person.Settle != 0 {
		s.d.settle = s.Person.Settle
	}
	return s.Person.fetch(s.ctx, id)
}

func (s *sitting) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := time.Now()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.look.Width, s.rows = msg.Width, msg.Height
		if s.d != nil {
			s.d.resize(s.look, s.room(), now)
		}
	case tickMsg:
		return s, tea.Batch(s.expire(now), tick())
	case tea.KeyPressMsg:
		return s, s.key(msg, now)
	case dueMsg:
		return s, s.Person.due(s.ctx, s.d, msg)
	case lostTerminalMsg:
		s.err = errors.New("the terminal was closed")
		return s, tea.Quit
	case newsMsg:
		return s, s.news(ipc.News(msg), now)
	case lostMsg:
		s.err = msg.err
		if errors.Is(msg.err, io.ErrUnexpectedEOF) || errors.Is(msg.err, io.EOF) {
			s.err = errors.New("the daemon has left; sbx approve waits again when there is something to do")
		}
		return s, tea.Quit
	case fetchedMsg:
		return s, s.fetched(msg, now)
	case decidedMsg:
		return s, s.decided(msg, now)
	case undoneMsg:
		if msg.err != nil {
			msg.of.undone = false // it can be tried again
			msg.text = "Not undone: " + msg.err.Error()
		}
		for i, piece := range display.Wrap(s.look.line(msg.text), max(s.look.Width-2, 12)) {
			if piece = strings.TrimRight(piece, " "); i > 0 {
				piece = "  " + piece // no untrusted text begins in the first column
			}
			s.tell(piece)
		}
	}
	return s, nil
}

// tell adds lines that stay on the terminal.
func (s *sitting) tell(lines ...string) { s.log = append(s.log, lines...) }

func (s *sitting) key(k tea.KeyPressMsg, now time.Time) tea.Cmd {
	name := k.Keystroke()
	switch {
	case name == "ctrl+q", s.d == nil && (name == "ctrl+c" || name == "ctrl+d" || name == "q"):
		return tea.Quit
	case name == "ctrl+z":
		return s.undo()
	case s.d == nil:
		return nil
	case s.d.stage == stageOptions && (name == "tab" || name == "shift+tab") && len(s.order) > 1:
		step := 1
		if name == "shift+tab" {
			step = len(s.order) - 1
		}
		i := slices.Index(s.order, s.d.a.ID)
		return s.put(s.order[(i+step)%len(s.order)])
	}
	return tea.Batch(s.Person.do(s.ctx, s.d, s.d.key(name, k.Text, now)), s.Person.typing(s.ctx, s.d, now))
}

func (s *sitting) news(n ipc.News, now time.Time) tea.Cmd {
	switch {
	case n.Approval != nil:
		a := *n.Approval
		s.add(a)
		if s.d == nil {
			return s.next()
		}
		if a.ID == s.d.a.ID && s.d.stage != stageSending && s.d.stage != stageCode &&
			(a.Rev != s.d.a.Rev || a.Hash != s.d.a.Hash) {
			s.d.know(a, now)
			return s.Person.fetch(s.ctx, a.ID)
		}
		if a.ID != s.d.a.ID && a.Session == s.d.a.Session {
			return s.Person.fetch(s.ctx, s.d.a.ID) // it may be the same once more
		}
	case n.Decision != nil && n.Decision.ID != "":
		id := n.Decision.ID
		s.remove(id)
		if s.d == nil || s.d.a.ID != id || s.d.stage == stageSending {
			return nil // the daemon's reply to our own answer reports it
		}
		what := s.look.line(s.d.a.Tool + ": " + subjectOf(s.d.a))
		if n.Decision.Reason == "again" {
			s.tell(s.look.clip(what, 60) + ": judged again, " + s.look.line(n.Decision.By) + " has added what it needs")
		} else if n.Decision.Reason == "timeout" {
			s.tell(s.look.clip(what, 60)+" [Denied]", "No answer in time: that is a no.")
		} else {
			s.tell(fmt.Sprintf("%s: already decided by %s", s.look.clip(what, 60),
				s.look.line(first(n.Decision.By, "the program that asked: it has left"))))
		}
		return s.next()
	}
	return nil
}

// expire takes a question away whose time is over.
func (s *sitting) expire(now time.Time) tea.Cmd {
	if s.d == nil || s.d.stage == stageSending {
		return nil
	}
	if end := until(s.d.a); end.IsZero() || now.Before(end.Add(time.Second)) {
		return nil // the daemon reports the timeout first
	}
	s.remove(s.d.a.ID)
	s.tell("No answer in time: that is a no.")
	return s.next()
}

func (s *sitting) fetched(msg fetchedMsg, now time.Time) tea.Cmd {
	if s.d == nil || s.d.a.ID != msg.id {
		return nil // another one is on the screen by now
	}
	if msg.err == nil {
		s.open[msg.a.ID] = msg.a
		s.d.know(msg.a, now)
		return nil
	}
	if _, err := s.Person.closedCard(s.ctx, msg.err); err != nil || s.d.stage == stageSending {
		return nil
	}
	s.remove(msg.id)
	s.tell(s.Person.said(msg.err)...)
	return s.next()
}

func (s *sitting) decided(msg decidedMsg, now time.Time) tea.Cmd {
	if s.d == nil || s.d.a.ID != msg.answer.ID {
		return nil
	}
	if again := s.d.again(msg, now); again != nil {
		return s.Person.do(s.ctx, s.d, *again)
	}
	if msg.err != nil {
		if _, err := s.Person.closedCard(s.ctx, msg.err); err != nil {
			s.d.stage, s.d.note = stageOptions, s.look.line(err.Error())
			s.d.clear()
			s.d.appeared(now)
			return nil
		}
		s.tell(s.Person.said(msg.err)...)
	} else {
		_, lines := resultOf(s.look, s.d.a, msg.answer, msg.d)
		s.tell(lines...)
		s.last = &answered{a: s.d.a, answer: msg.answer, d: msg.d, sent: now}
	}
	s.remove(s.d.a.ID)
	return s.next()
}

// undo reverts the last answer's grant, the
// stop of its session, and the trust that came with it (R-AP-21).
func (s *sitting) undo() tea.Cmd {
	last := s.last
	if last == nil || last.undone {
		s.tell("There is no answer to undo.")
		return nil
	}
	if last.answer.Presets {
		s.tell("Not undone here: sbx preset rm " + s.look.line(strings.Join(presetNames(last.a), " ")) + " takes it back.")
		return nil
	}
	last.undone = true
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
		defer cancel()
		var done []string
		if last.d.Grant != "" && last.answer.Scope != "" && last.answer.Scope != "once" {
			if err := s.ApproverAdmin.Revoke(ctx, ipc.GrantRequest{ID: last.d.Grant}); err != nil &&
				ipc.CodeOf(err) != ipc.CodeNotFound {
				return undoneMsg{of: last, err: err}
			}
			done = append(done, "the grant "+last.d.Grant+" is withdrawn")
		}
		if last.answer.Mode == "hard" {
			if _, err := s.ApproverAdmin.Turn(ctx, ipc.TurnRequest{Session: last.a.Session}); err != nil {
				return undoneMsg{of: last, err: err}
			}
			done = append(done, "the session continues")
		}
		if last.answer.Allow && len(last.a.Trusts) > 0 && last.answer.Trust != trustOnce {
			list, err := s.ApproverAdmin.Trusted(ctx)
			if err != nil {
				return undoneMsg{of: last, err: err}
			}
			for _, t := range list.Trusted {
				if t.Dir == last.a.Root && t.Since.After(last.sent.Add(-5*time.Second)) {
					if err := s.ApproverAdmin.Distrust(ctx, ipc.TrustRequest{Dir: t.Dir}); err != nil {
						return undoneMsg{of: last, err: err}
					}
					done = append(done, t.Dir+" is no longer trusted")
				}
			}
		}
		text := "Undone: " + strings.Join(done, "; ") + "."
		if last.answer.Allow {
			text += " What was allowed has begun and is not taken back; sbx undo brings files back."
		}
		if len(done) == 0 {
			text = "Nothing to undo: "
			if last.answer.Allow {
				text += "a yes for once has begun; sbx undo brings files back."
			} else {
				text += "the program got the no; it may ask again."
			}
		}
		return undoneMsg{of: last, text: text}
	}
}

// room is how many lines the card may take.
func (s *sitting) room() int { return max(s.rows-len(s.header())-s.tail(), 1) }

// tail is how many lines below the card are kept free.
func (s *sitting) tail() int { return min(3, max(s.rows-20, 0)) }

func (s *sitting) header() []string {
	l := s.look
	text := "sbx approve" + l.sign(" · ", ", ") + "nothing waits"
	switch n := len(s.order); {
	case n == 1:
		text = "sbx approve" + l.sign(" · ", ", ") + "1 request"
	case n > 1:
		text = fmt.Sprintf("sbx approve%s%d requests%sTab shows the next", l.sign(" · ", ", "), n, l.sign(" · ", ", "))
	}
	if l.Width >= 60 {
		text += l.sign(" · ", ", ") + "Ctrl+Q leaves"
	}
	return []string{l.paint(bold, l.clip(text, max(l.Width, 12)))}
}

func (s *sitting) View() tea.View {
	out := s.header()
	if s.d != nil {
		out = append(out, s.d.view(time.Now())...)
	} else {
		for _, r := range plainRow("Waiting for requests. Ctrl+C leaves.").wrap(max(s.look.Width, 8)) {
			out = append(out, r.string(s.look))
		}
	}
	v := tea.NewView(strings.Join(append(out, s.footer(s.rows-len(out))...), "\n"))
	v.AltScreen = true
	return v
}

// footer is the last answer, in at most n lines, and the way back.
func (s *sitting) footer(n int) []string {
	if n < 2 || len(s.log) == 0 {
		return nil
	}
	hint := ""
	if s.last != nil && !s.last.undone {
		hint, n = s.look.paint(gray, s.look.clip("Ctrl+Z undoes the last answer", s.look.Width)), n-1
	}
	out := []string{}
	for _, line := range s.log[max(0, len(s.log)-max(n-1, 1)):] {
		out = append(out, s.look.clip(line, s.look.Width))
	}
	if len(out) < n {
		out = append([]string{""}, out...)
	}
	if hint != "" {
		out = append(out, hint)
	}
	return out
}
