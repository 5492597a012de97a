package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sandboxd/display"
	"sandboxd/ipc"
)

// Exit statuses of ours. Scripts depend on them.
const (
	exitNo       = 1   // the answer is no
	exitTimeout  = 124 // the command took too long
	exitOwn      = 125 // something of ours failed
	exitDenied   = 126 // denied or blocked
	exitNotFound = 127 // there is no such command
)

// exit is an error with an exit status of its own.
type exit struct {
	status int
	err    error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

// quietly ends with a status, without a message: it was printed before.
func quietly(status int) error {
	if status == 0 {
		return nil
	}
	return &exit{status, errSilent}
}

// usage is a mistake on the command line.
func usage(c *cobra.Command, format string, args ...any) error {
	return fmt.Errorf(format+"\nSee %s --help", append(args, c.CommandPath())...)
}

// exitPipe is a shell's status for a program that SIGPIPE ended.
const exitPipe = 128 + int(syscall.SIGPIPE)

// written adds to a verb's error that its output could not be written. A status that
// the verb gave its error counts: a hook's 2 is a refusal, where any other lets a call
// through. A reader that has closed the pipe, such as a pager, needs no more output:
// only the exit status reports it.
func written(err, lost error) error {
	if lost == nil {
		return err
	}
	status := exitOwn
	if errors.Is(lost, syscall.EPIPE) {
		status = exitPipe
	}
	if own := (*exit)(nil); errors.As(err, &own) || err != nil && !errors.Is(err, lost) {
		status = statusOfError(err)
	}
	switch {
	case errors.Is(lost, syscall.EPIPE):
		return quietly(status)
	case err == nil || errors.Is(err, lost) || errors.Is(err, errSilent):
		return &exit{status, fmt.Errorf("the output is not complete: %w", lost)}
	}
	return &exit{status, fmt.Errorf("%w\nThe output is not complete: %w", err, lost)}
}

// status prints an error, unless it is silent, and returns its exit status.
func (a *app) status(err error) int {
	if err == nil {
		return 0
	}
	if !errors.Is(err, errSilent) && !errors.Is(err, ipc.ErrUnanswered) { // locate has that one printed
		a.complain(err)
	}
	return statusOfError(err)
}

// statusOfError returns the exit status of an error.
func statusOfError(err error) int {
	var e *exit
	if errors.As(err, &e) {
		return e.status
	}
	switch ipc.CodeOf(err) {
	case ipc.CodeDenied, ipc.CodeBlocked, ipc.CodeTimeout, ipc.CodeStopped, ipc.CodeForbidden, ipc.CodeSelfApproval:
		return exitDenied
	}
	return exitOwn
}

// complain prints an error for a person, and the daemon's hint on a separate line.
func (a *app) complain(err error) {
	text, hint := err.Error(), ""
	var e *ipc.Error
	if errors.As(err, &e) && e.Hint != "" {
		text = strings.Replace(text, e.Error(), e.Message, 1)
		hint = e.Hint
	}
	if hint == "" && errors.Is(err, fs.ErrPermission) && a.place != nil && a.place.System {
		hint = "on this host members of the group sandboxd-agents may ask and members of sandboxd-approvers may answer, " +
			"from their next login on"
	}
	a.tell(text)
	if hint != "" {
		a.note("next: %s", hint)
	}
}

// tell writes a text of one or more lines to standard error, neutralised.
func (a *app) tell(text string) {
	for i, line := range display.Block(text) {
		if i == 0 {
			line = "sbx: " + line
		}
		fmt.Fprintln(a.stderr, line)
	}
}

// note writes one neutralised line to standard error.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.stderr, "sbx: "+display.Prose(fmt.Sprintf(format, args...)))
}

// slowly prints the name of an operation to a person at a terminal if the operation
// takes longer than a second. done cancels that.
func (a *app) slowly(what string) (done func()) {
	if !isTerminal(a.stderr) {
		return func() {}
	}
	timer := time.AfterFunc(time.Second, func() { a.note("%s…", what) })
	return func() { timer.Stop() }
}
