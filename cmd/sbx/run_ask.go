package main

import (
	"context"
	"fmt"
	"time"

	"sandboxd/cmd/sbx/internal/ask"
	"sandboxd/display"
	"sandboxd/ipc"
)

// question is one that is asked at this terminal.
type question struct {
	stop context.CancelFunc
	done chan answer
}

// answer is the outcome of a question.
type answer struct {
	out ask.Outcome
	err error
}

// cancel ends the question: somebody else answered it.
func (q *question) cancel() {
	if q != nil {
		q.stop()
	}
}

// end is cancel, and waits until the terminal has its settings back.
func (q *question) end() {
	if q != nil {
		q.stop()
		<-q.done
	}
}

func (q *question) answered() <-chan answer {
	if q == nil {
		return nil
	}
	return q.done
}

// ask puts a question to the person at this terminal, or says how it can be answered.
func (r *runner) ask(ctx context.Context, q ipc.Approval) {
	if r.tty == nil || !q.Inline {
		// An agent gives its model the command's output, and this is no part of it.
		if !r.options.byAgent && r.options.ticket == "" || isTerminal(r.stderr) {
			r.waiting(q)
		}
		return
	}
	r.clearTerminal()
	if r.place.Named && !isTerminal(r.stderr) {
		fmt.Fprintf(r.tty, "sbx: the sockets are in %s, which is not the usual place\n", display.Line(r.place.SocketDir))
	}
	approver := r.approverClient()
	ctx, stop := context.WithCancel(ctx)
	r.question = &question{stop: stop, done: make(chan answer, 1)}
	go func(done chan<- answer) {
		defer approver.Close()
		resume := r.input.pause()
		defer resume()
		out, err := ask.Person{Terminal: r.tty, Approver: approver, Inline: true}.Ask(ctx, q)
		done <- answer{out, err}
	}(r.question.done)
}

// waiting says how to answer a question that is not asked here.
func (a *app) waiting(q ipc.Approval) {
	wait := ""
	if q.Deadline != nil {
		wait = ", for " + span(time.Until(*q.Deadline))
	}
	a.note("waiting for a person to answer%s: sbx approve %s", wait, q.ID)
}

func decided(d *ipc.Decided) string {
	if d.Allowed {
		return "approved"
	}
	return "denied"
}
