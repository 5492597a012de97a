package ask

import (
	"context"
	"strings"
	"testing"
	"time"

	"sandboxd/cmd/sbx/internal/term"
	"sandboxd/cmd/sbx/internal/term/termtest"
	"sandboxd/ipc"
)

// somebody has a terminal.
func somebody(t *testing.T) Person {
	t.Helper()
	tty, err := term.New(termtest.Open(t).File, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return Person{Terminal: tty}
}

// The late reply to a read of one question does not affect its successor: the
// second question remains on the screen and is not skipped.
func TestLateLooksAreNotOfTheNextQuestion(t *testing.T) {
	first, second := plainQuestion(), plainQuestion()
	second.ID = "a2"
	p := somebody(t)
	s := &sitting{Queue: Queue{Person: p}, ctx: t.Context(), look: p.look(), rows: 40, open: map[string]ipc.Approval{}}
	s.add(first)
	s.add(second)
	s.next()
	decided := &ipc.Error{Code: ipc.CodeAlreadyDecided, Message: "already decided by uid 1000"}
	s.Update(fetchedMsg{id: first.ID, err: decided})
	if s.d == nil || s.d.a.ID != second.ID || len(s.order) != 1 || len(s.log) == 0 {
		t.Fatalf("after the first was decided elsewhere: %+v, %q, %q", s.d, s.order, s.log)
	}
	said := len(s.log)
	s.Update(fetchedMsg{id: first.ID, err: decided})
	if s.d == nil || s.d.a.ID != second.ID || len(s.order) != 1 || len(s.log) != said {
		t.Errorf("after one more look at the first: %+v, %q, %q", s.d, s.order, s.log)
	}
}

// While an answer is being sent, only the reply to the answer ends the question; the
// reply to a read of the question does not.
func TestLateLookWhileAnswering(t *testing.T) {
	q := plainQuestion()
	p := somebody(t)
	s := &single{person: p, ctx: t.Context(), d: newDialog(q, p.look(), 40, true, time.Now())}
	s.d.stage = stageSending
	s.Update(fetchedMsg{id: q.ID, err: &ipc.Error{Code: ipc.CodeAlreadyDecided,
		Message: "already decided by this very answer"}})
	if s.out != "" || s.d.stage != stageSending {
		t.Errorf("it ended as %q", s.out)
	}
}

// broken is a daemon that does not withdraw a grant at the first time.
type broken struct {
	ApproverAdmin
	asked int
}

func (b *broken) Revoke(context.Context, ipc.GrantRequest) error {
	if b.asked++; b.asked == 1 {
		return &ipc.Error{Code: ipc.CodeAudit, Message: "no space left on device"}
	}
	return nil
}

// An answer that could not be taken back is still there to be taken back.
func TestUndoAgain(t *testing.T) { // R-AP-21
	p, admin := somebody(t), &broken{}
	s := &sitting{Queue: Queue{Person: p, ApproverAdmin: admin}, ctx: t.Context(), look: p.look(), rows: 40,
		open: map[string]ipc.Approval{}}
	s.last = &answered{a: plainQuestion(), answer: ipc.Answer{Allow: true, Scope: "session"}, d: ipc.Decided{Grant: "g1"},
		sent: time.Now()}
	for range 2 {
		if undo := s.undo(); undo != nil {
			s.Update(undo())
		}
	}
	if said := strings.Join(s.log, "\n"); admin.asked != 2 || !strings.Contains(said, "Not undone") ||
		!strings.Contains(said, "g1 is withdrawn") {
		t.Errorf("withdrawn %d times: %s", admin.asked, said)
	}
}
