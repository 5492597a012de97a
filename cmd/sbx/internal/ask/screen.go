package ask

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"sandboxd/ipc"
)

// Messages of a screen's program, beside bubbletea's own.
type (
	tickMsg         time.Time
	lostTerminalMsg struct{ err error } // the terminal can no longer be read
	endedMsg        struct{}            // the question was answered elsewhere, or withdrawn
	dueMsg          struct {            // a digit was pressed, and its pause is over
		at   time.Time
		sure bool // all bytes read by then have arrived
	}
	fetchedMsg struct {
		id  string // of the question viewed
		a   ipc.Approval
		err error
	}
	decidedMsg struct {
		answer ipc.Answer
		d      ipc.Decided
		err    error
	}
)

// program runs a model at the person's terminal until it quits. send reaches it
// from outside while it runs.
func (p Person) program(model tea.Model, outside func(send func(tea.Msg)) (stop func())) error {
	if err := p.Terminal.Discard(); err != nil {
		return err
	}
	profile := colorprofile.ASCII
	if p.Terminal.Color {
		profile = colorprofile.ANSI
	}
	keys := &keyboard{File: p.Terminal.File()}
	prog := tea.NewProgram(model, tea.WithInput(keys), tea.WithOutput(p.Terminal.File()), tea.WithoutSignalHandler(),
		tea.WithColorProfile(profile), tea.WithEnvironment(os.Environ()), tea.WithFilter(sized))
	keys.lost = func(err error) { prog.Send(lostTerminalMsg{err}) }
	stop := outside(prog.Send)
	_, err := prog.Run()
	stop()
	if derr := p.Terminal.Discard(); err == nil { // the terminal's answers to questions about itself
		err = derr
	}
	return err
}

// sized drops empty sizes: a terminal reports 0 × 0 until its size is set, for example
// in a container before the client sets it.
func sized(_ tea.Model, msg tea.Msg) tea.Msg {
	if w, ok := msg.(tea.WindowSizeMsg); ok && (w.Width <= 0 || w.Height <= 0) {
		return nil
	}
	return msg
}

func tick() tea.Cmd {
	return tea.Tick(500*time.Millisecond, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// fetch gets the whole question.
func (p Person) fetch(ctx context.Context, id string) tea.Cmd {
	return func() tea.Msg {
		a, err := p.whole(ctx, ipc.ApprovalRequest{ID: id})
		return fetchedMsg{id, a, err}
	}
}

// typing reports to the daemon, at most once a second, that a person types: the clock stops while keys come
// (R-UX-11).
func (p Person) typing(ctx context.Context, d *dialog, now time.Time) tea.Cmd {
	if now.Sub(d.kept) < time.Second || d.stage == stageSending {
		return nil
	}
	d.kept = now
	id := d.a.ID
	return func() tea.Msg {
		a, err := p.whole(ctx, ipc.ApprovalRequest{ID: id, Typing: true})
		return fetchedMsg{id, a, err}
	}
}

func (p Person) sendAnswer(ctx context.Context, answer ipc.Answer) tea.Cmd {
	return func() tea.Msg {
		d, err := p.decide(ctx, answer)
		return decidedMsg{answer, d, err}
	}
}

// single is one question between other output of the terminal.
type single struct {
	person Person
	ctx    context.Context
	d      *dialog
	out    Outcome
	err    error
	ended  bool
	result []string
}

// dialog puts one question with a box, or a line where the risk is low.
func (p Person) dialog(ctx context.Context, a ipc.Approval) (Outcome, error) {
	_, rows := p.Terminal.Size()
	s := &single{person: p, ctx: ctx, d: newDialog(a, p.look(), rows-1, p.Inline, time.Now())}
	if p.Settle != 0 {
		s.d.settle = p.Settle
	}
	err := p.program(s, func(send func(tea.Msg)) func() {
		stop := context.AfterFunc(ctx, func() { send(endedMsg{}) })
		return func() { stop() }
	})
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("show the question: %w", err)
	}
	if s.out == "" {
		s.out = Denied
	}
	return s.out, s.err
}

func (s *single) Init() tea.Cmd {
	return tea.Batch(s.person.fetch(s.ctx, s.d.a.ID), tick())
}

func (s *single) View() tea.View {
	if s.ended {
		return tea.NewView(strings.Join(append(s.asked(), append(s.result, "")...), "\n"))
	}
	v := tea.NewView(strings.Join(s.d.view(time.Now()), "\n"))
	v.AltScreen = s.d.stage == stageView
	return v
}

// asked is the question as it stays on the terminal, above its outcome.
func (s *single) asked() []string {
	d := s.d
	d.stage, d.bare = stageOptions, true
	lines := d.view(time.Now())
	return lines[min(max(0, len(lines)+len(s.result)+1-d.rows), len(lines)):]
}

func (s *single) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := time.Now()
	if s.ended {
		return s, tea.Quit
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		look := s.d.look
		look.Width = msg.Width
		s.d.resize(look, msg.Height-1, now)
	case tickMsg:
		if end := until(s.d.a); !end.IsZero() && now.After(end) && s.d.stage != stageSending {
			return s, s.end(TimedOut, nil, "No answer in time: that is a no.")
		}
		return s, tick()
	case tea.KeyPressMsg:
		do := s.person.do(s.ctx, s.d, s.d.key(msg.Keystroke(), msg.Text, now))
		return s, tea.Batch(do, s.person.typing(s.ctx, s.d, now))
	case dueMsg:
		return s, s.person.due(s.ctx, s.d, msg)
	case lostTerminalMsg:
		if s.d.stage != stageSending {
			return s, s.person.do(s.ctx, s.d, s.d.deny("cancelled", ""))
		}
	case endedMsg:
		if s.d.stage != stageSending { // an answer that is on its way is not taken back
			return s, s.end(AnsweredByOther, nil)
		}
	case fetchedMsg:
		if msg.err == nil {
			s.d.know(msg.a, now)
		} else if out, err := s.person.closedCard(s.ctx, msg.err); err == nil && s.d.stage != stageSending {
			return s, s.end(out, nil, s.person.said(msg.err)...)
		}
	case decidedMsg:
		return s, s.decided(msg, now)
	}
	return s, nil
}

// do carries out the act of a key.
func (p Person) do(ctx context.Context, d *dialog, a act) tea.Cmd {
	switch {
	case a.answer != nil:
		return p.sendAnswer(ctx, *a.answer)
	case a.fetch:
		return p.fetch(ctx, d.a.ID)
	case !d.line.Due().IsZero():
		return dueIn(time.Until(d.line.Due()), dueMsg{at: d.line.Due()})
	}
	return nil
}

func dueIn(d time.Duration, msg dueMsg) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}

// due gives the answer of a digit, unless another key has come or is on its way.
func (p Person) due(ctx context.Context, d *dialog, msg dueMsg) tea.Cmd {
	waits := p.Terminal.Unread()
	switch {
	case d == nil || !d.line.Due().Equal(msg.at):
		return nil
	case waits || !msg.sure:
		return dueIn(50*time.Millisecond, dueMsg{msg.at, !waits})
	}
	return p.do(ctx, d, d.due(time.Now()))
}

func (s *single) decided(msg decidedMsg, now time.Time) tea.Cmd {
	if again := s.d.again(msg, now); again != nil {
		return s.person.do(s.ctx, s.d, *again)
	}
	if s.d.stage != stageSending {
		return nil
	}
	if msg.err != nil {
		if out, err := s.person.closedCard(s.ctx, msg.err); err == nil {
			return s.end(out, nil, s.person.said(msg.err)...)
		}
		return s.end(Denied, msg.err)
	}
	out, lines := s.d.result(msg.answer, msg.d)
	return s.end(out, nil, lines...)
}

// end leaves lines on the screen in place of the question.
func (s *single) end(out Outcome, err error, lines ...string) tea.Cmd {
	s.out, s.err, s.ended, s.result = out, err, true, lines
	return tea.Quit
}

// again returns the next act if the question stays open after an answer, because it
// has changed or needs a second yes; else nil.
func (d *dialog) again(msg decidedMsg, now time.Time) *act {
	switch code := ipc.CodeOf(msg.err); {
	case code == ipc.CodeStale || code == ipc.CodeConfirm:
		d.stage = stageOptions
		d.clear()
		d.appeared(now)
		d.a.Rev = -1 // any revision is new
		return &act{fetch: true}
	case failedToAdd(msg.answer.Presets, msg.err):
		d.stage, d.note = stageOptions, d.look.line(msg.err.Error())
		d.clear()
		d.appeared(now)
		return &act{}
	case msg.err == nil && msg.d.ConfirmAgain:
		d.confirm(msg.d.Rev, newCode(), now)
		return &act{}
	}
	return nil
}

// closedCard turns the error of a question that is no longer there into an outcome.
func (p Person) closedCard(ctx context.Context, err error) (Outcome, error) {
	switch code := ipc.CodeOf(err); {
	case ctx.Err() != nil, code == ipc.CodeNotFound, code == ipc.CodeAlreadyDecided:
		return AnsweredByOther, nil
	}
	return Denied, err
}

// said is the text for such an error.
func (p Person) said(err error) []string {
	if ipc.CodeOf(err) == ipc.CodeAlreadyDecided {
		return []string{p.look().line(err.Error())}
	}
	return nil
}
