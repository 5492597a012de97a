// Package ask puts the daemon's questions to the person at a terminal and
// carries the answers back: one between other output, or all on a full screen.
//
// The promise: nothing but an explicit yes approves. Enter alone, Ctrl-C, the end
// of the time, a terminal that goes away and a connection that breaks are all no.
// All text from the requester is neutralised and indented behind a margin. It is
// either shown whole or cannot be approved before it was viewed.
//
//	client := &ipc.Client{Socket: approverSocket}
//	person := ask.Person{Terminal: tty, Approver: client}
//	outcome, err := person.Ask(ctx, approval)
//
// A question of low risk takes a line, others a box. Package reply reads a person's
// typing, in every form:
//
//	y   yes, this once              q   no, and stop everything that is left
//	s   yes, for this session       v   show all of it, then ask again
//	a   yes to the whole batch      n   no; so does Enter with nothing highlighted
//	p   add the presets that the question names to the configuration, and judge again
//
// each by itself and Enter; any other text is a no with that text as the reason,
// for the asking program to read. A deletion, a protected path or a dangerous
// command needs a second, separate yes: two words that are on the screen and
// differ every time. "Always allow…" shows the past calls that a wider grant would have
// covered. Keys that come as a question ends reach no program behind it.
//
// No key counts for half a second after something has appeared or changed, and
// none that was typed or pasted before. On a plain terminal ([term.Terminal])
// the same question is lines.
//
// # Limitations
//
// On a terminal that does not mark pasted text, only the speed of the keys reveals a
// paste: an Enter that arrives together with other keys does not count.
package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sandboxd/cmd/sbx/internal/reply"
	"sandboxd/cmd/sbx/internal/term"
	"sandboxd/display"
	"sandboxd/ipc"
)

// Approver is where questions come from and answers go; an [ipc.Client] of the
// approver's socket is one.
type Approver interface {
	Approval(context.Context, ipc.ApprovalRequest) (ipc.Approval, error)
	Decide(context.Context, ipc.Answer) (ipc.Decided, error)
}

// Person is somebody at a terminal.
type Person struct {
	Terminal *term.Terminal
	Approver Approver
	// Settle is how long a change must have been on the screen
	// before a key counts. 0: half a second.
	Settle time.Duration
	// Inline: this is the terminal of the very command that asks. A yes to a
	// high risk has to come from elsewhere then (R-IP-01).
	Inline bool
}

// Outcome is the end of a question.
type Outcome string

const (
	Approved        Outcome = "approved"
	Denied          Outcome = "denied"
	Quit            Outcome = "quit"      // denied, and everything that is left with it
	TimedOut        Outcome = "timed out" // the daemon takes that for a no
	AnsweredByOther Outcome = "elsewhere" // somebody else answered, or it was withdrawn
	JudgedAgain     Outcome = "again"     // its presets were added; another question may follow
)

// Ask puts one question. ctx ends when somebody else has answered it. An error
// means that the answer did not reach the daemon, which then takes none for a no.
func (p Person) Ask(ctx context.Context, a ipc.Approval) (out Outcome, err error) {
	defer func() {
		pause := 300 * time.Millisecond
		if out == TimedOut || out == AnsweredByOther { // a surprise to somebody who types
			pause = time.Second
		}
		p.Terminal.Drain(pause)
	}()
	if !p.Terminal.Plain {
		return p.dialog(ctx, a)
	}
	for {
		out, err = p.put(ctx, a)
		switch ipc.CodeOf(err) {
		case ipc.CodeStale, ipc.CodeConfirm:
			now, rerr := p.Approver.Approval(ctx, ipc.ApprovalRequest{ID: a.ID})
			if rerr != nil {
				return p.closedQuestion(ctx, rerr)
			}
			p.say("The request has changed meanwhile. Look at it again:")
			a = now
			continue
		case ipc.CodeAlreadyDecided, ipc.CodeNotFound:
			return p.closedQuestion(ctx, err)
		}
		return out, err
	}
}

// closedQuestion returns the outcome of an error: AnsweredByOther if the question is
// closed, else Denied with err. It prints the error of a question that was decided.
func (p Person) closedQuestion(ctx context.Context, err error) (Outcome, error) {
	switch code := ipc.CodeOf(err); {
	case ctx.Err() != nil, code == ipc.CodeNotFound:
		return AnsweredByOther, nil
	case code == ipc.CodeAlreadyDecided:
		p.say(err.Error())
		return AnsweredByOther, nil
	}
	return Denied, err
}

// put shows the question and takes the answer to it.
func (p Person) put(ctx context.Context, a ipc.Approval) (Outcome, error) {
	if noCommand(a) && a.Presentation == nil {
		// The question is about the change, so it is shown whole.
		now, err := p.whole(ctx, ipc.ApprovalRequest{ID: a.ID})
		if err != nil {
			return p.closedQuestion(ctx, err)
		}
		a = now
	}
	card := newCard(a, p.look(), p.onlyNo(a))
	viewed := card.whole
	p.print(card.text)
	if err := p.settle(ctx); err != nil {
		return AnsweredByOther, nil
	}
	for {
		line, err := p.Terminal.ReadLine(ctx, term.Prompt{Text: card.prompt, Until: until(a), Left: left})
		switch {
		case errors.Is(err, term.ErrInterrupted):
			return p.deny(ctx, a, "cancelled", "Ctrl+C or Ctrl+D")
		case errors.Is(err, term.ErrTime):
			p.say("No answer in time: that is a no.")
			return TimedOut, nil
		case ctx.Err() != nil:
			return AnsweredByOther, nil
		case err != nil:
			return Denied, err
		}
		kind, n := reply.Read(line, lettersOf(card.options))
		switch kind {
		case reply.NotOffered:
			p.say(notOffered(strings.TrimSpace(line)))
			continue
		case reply.Empty, reply.Reason:
			return p.deny(ctx, a, strings.TrimSpace(line), "Enter")
		}
		key := strings.ToLower(strings.TrimSpace(line))
		switch o := card.options[n]; o.verb {
		case verbView:
			if err := p.view(ctx, a); err != nil {
				return p.closedQuestion(ctx, err)
			}
			viewed = true
		case verbNo:
			return p.deny(ctx, a, "", key)
		case verbQuit:
			return p.quit(ctx, a, key)
		case verbPresets:
			out, err := p.addPresets(ctx, a, key)
			if !failedToAdd(true, err) {
				return out, err
			}
			p.say(err.Error())
		default:
			if !viewed {
				p.say("Not all of it is on the screen. Press v to see the rest, then answer.")
				continue
			}
			now, err := p.Approver.Approval(ctx, ipc.ApprovalRequest{ID: a.ID})
			if err != nil {
				return p.closedQuestion(ctx, err)
			}
			if now.Count > a.Count {
				a.Count = now.Count
				p.say("Meanwhile it is asked more often: " + tool(a))
				continue
			}
			return p.approve(ctx, a, o, key)
		}
	}
}

// settle waits until the shown text can have been read; ctx's end is its error.
func (p Person) settle(ctx context.Context) error {
	d := p.Settle
	if d == 0 {
		d = 500 * time.Millisecond
	}
	if err := p.Terminal.Settle(d); err != nil {
		return err
	}
	return ctx.Err()
}

// approve sends a yes, and a second one where one is needed.
func (p Person) approve(ctx context.Context, a ipc.Approval, o option, word string) (Outcome, error) {
	answer := together(a, ipc.Answer{ID: a.ID, Rev: a.Rev, Hash: a.Hash, Allow: true,
		Scope: o.verb.scope(), Widening: o.widening, Trust: o.verb.trust(a), Key: word})
	d, err := p.decide(ctx, answer)
	if err != nil {
		return Denied, err
	}
	if !d.ConfirmAgain {
		return p.report(a, answer, d)
	}
	if d.Rev != 0 {
		answer.Rev, a.Rev = d.Rev, d.Rev
	}
	code := newCode()
	p.print(confirmText(a, code, p.look()))
	if err := p.settle(ctx); err != nil {
		return AnsweredByOther, nil
	}
	line, err := p.Terminal.ReadLine(ctx, term.Prompt{Text: "The two words: ", Until: until(a), Left: left})
	switch {
	case errors.Is(err, term.ErrTime):
		p.say("No answer in time: that is a no.")
		return TimedOut, nil
	case ctx.Err() != nil:
		return AnsweredByOther, nil
	case err != nil && !errors.Is(err, term.ErrInterrupted):
		return Denied, err
	case err != nil || !code.matches(line):
		return p.deny(ctx, a, "not confirmed", "Enter")
	}
	answer.Confirm = true
	if d, err = p.decide(ctx, answer); err != nil {
		return Denied, err
	}
	return p.report(a, answer, d)
}

// deny sends a no to this one question; the requester may continue.
func (p Person) deny(ctx context.Context, a ipc.Approval, reason, word string) (Outcome, error) {
	answer := together(a, ipc.Answer{ID: a.ID, Rev: a.Rev, Hash: a.Hash, Note: reason, Mode: "soft", Key: word})
	d, err := p.decide(ctx, answer)
	if err != nil {
		return Denied, err
	}
	return p.report(a, answer, d)
}

// decide sends an answer. Once given it is not taken back: that somebody else
// was faster, or that our own answer is in the news before it is acknowledged,
// does not end it.
func (p Person) decide(ctx context.Context, a ipc.Answer) (ipc.Decided, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return p.Approver.Decide(ctx, a)
}

// quit sends a no to this question and to all that is left of its batch.
func (p Person) quit(ctx context.Context, a ipc.Approval, word string) (Outcome, error) {
	answer := ipc.Answer{ID: a.ID, Rev: a.Rev, Hash: a.Hash, Mode: "hard", Key: word}
	if a.Batch != nil {
		answer.Scope = "batch"
	}
	d, err := p.decide(ctx, answer)
	if err != nil {
		return Denied, err
	}
	_, err = p.report(a, answer, d)
	return Quit, err
}

// addPresets has the daemon add the presets of a question, and judge again.
func (p Person) addPresets(ctx context.Context, a ipc.Approval, word string) (Outcome, error) {
	answer := ipc.Answer{ID: a.ID, Rev: a.Rev, Hash: a.Hash, Presets: true, Key: word}
	d, err := p.decide(ctx, answer)
	if err != nil {
		return Denied, err
	}
	return p.report(a, answer, d)
}

// failedToAdd reports an error after which the question stays as it was: its presets were not added.
func failedToAdd(presets bool, err error) bool {
	switch ipc.CodeOf(err) {
	case ipc.CodeStale, ipc.CodeNotFound, ipc.CodeAlreadyDecided:
		return false
	}
	return presets && err != nil
}

// report shows the decision in force.
func (p Person) report(a ipc.Approval, answer ipc.Answer, d ipc.Decided) (Outcome, error) {
	out, lines := resultOf(p.look(), a, answer, d)
	p.print(strings.Join(lines, "\n") + "\n")
	return out, nil
}

// whole gets a question with all there is to see of it, however long.
func (p Person) whole(ctx context.Context, r ipc.ApprovalRequest) (ipc.Approval, error) {
	a, err := p.Approver.Approval(ctx, r)
	if s := a.Presentation; s != nil && s.Metadata["full_content"] != "" {
		full := *s
		full.Content = s.Metadata["full_content"]
		a.Presentation = &full
	}
	return a, err
}

// view shows everything there is to see.
func (p Person) view(ctx context.Context, a ipc.Approval) error {
	whole, err := p.whole(ctx, ipc.ApprovalRequest{ID: a.ID})
	if err != nil {
		return err
	}
	look := p.look()
	look.Whole = true
	p.print(newCard(whole, look, p.onlyNo(a)).text)
	return nil
}

// onlyNo reports whether this person can only refuse, and wait for another.
func (p Person) onlyNo(a ipc.Approval) bool { return p.Inline && a.Risk == "high" }

func (p Person) look() look {
	cols, _ := p.Terminal.Size()
	return look{Width: cols, Color: p.Terminal.Color, UTF8: p.Terminal.UTF8, Cells: !p.Terminal.Plain,
		Here: p.Inline}
}

// print writes our own text, in which strangers' text is neutralised already.
func (p Person) print(s string) { p.Terminal.Write([]byte(s)) }

// say writes a sentence that may hold a stranger's words.
func (p Person) say(s string) { p.print(p.look().line(s) + "\n") }

func until(a ipc.Approval) time.Time {
	if a.Deadline == nil {
		return time.Time{}
	}
	return *a.Deadline
}

// left is the countdown in front of the prompt.
func left(d time.Duration) string {
	if d >= 2*time.Minute {
		return fmt.Sprintf("(%d min) ", int(d.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("(%d s) ", int(d.Seconds()))
}

// hostTool is the tool of a question about a host that a running command wants
// to reach; the command has been decided.
const hostTool = "network"

// shellTool is the tool of every command.
const shellTool = "bash"

// subjectOf is the subject of a question, in one line.
func subjectOf(a ipc.Approval) string {
	switch {
	case a.Tool == hostTool:
		return a.Description
	case a.Command != "":
		return a.Command
	case len(a.Argv) > 0:
		return display.Argv(a.Argv)
	}
	return a.Description
}
