package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"sandboxd/display"
)

// pages collects output for a terminal. Output longer than the terminal is shown in the
// program that $SBX_PAGER or $PAGER names, or in less.
type pages struct {
	terminal *os.File
	text     bytes.Buffer
}

func (p *pages) Write(text []byte) (int, error) { return p.text.Write(text) }

// paged has the output of a verb collected, and reports true, if it goes to a terminal and the
// user has not switched the pager off by SBX_PAGER=cat or an empty one.
func (a *app) paged() bool {
	out, ok := a.out.(*display.Output)
	if !ok || !isTerminal(out) || os.Getenv("TERM") == "dumb" || pager() == "" {
		return false
	}
	f, ok := out.W.(*os.File)
	if ok {
		out.W = &pages{terminal: f}
	}
	return ok
}

// pager is the line of shell that shows long output; "" for none.
func pager() string {
	line, set := os.LookupEnv("SBX_PAGER")
	if !set {
		if line, set = os.LookupEnv("PAGER"); !set {
			line = "less"
		}
	}
	if line == "cat" {
		return ""
	}
	return line
}

// show writes the output that paged collected.
func (a *app) show() error {
	out, ok := a.out.(*display.Output)
	if !ok {
		return nil
	}
	p, ok := out.W.(*pages)
	if !ok {
		return nil
	}
	out.W = p.terminal
	columns, rows, err := term.GetSize(int(p.terminal.Fd()))
	if err == nil && p.lines(columns) >= rows && p.run() == nil {
		return nil
	}
	_, err = out.Write(p.text.Bytes())
	return err
}

// lines is how many lines the text takes on a terminal.
func (p *pages) lines(columns int) (n int) {
	for line := range bytes.Lines(p.text.Bytes()) {
		n += max(1, (display.Width(string(line))+columns-1)/max(columns, 1))
	}
	return n
}

// run shows the text in the pager. It returns an error if there is none.
func (p *pages) run() error {
	cmd := exec.Command("/bin/sh", "-c", pager())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(p.text.Bytes()), p.terminal, os.Stderr
	if os.Getenv("LESS") == "" {
		cmd.Env = append(os.Environ(), "LESS=FRX") // leave a short text, keep colours and the screen: less(1)
	}
	interrupts := make(chan os.Signal, 1) // the pager's own
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	err := cmd.Run()
	if status := (*exec.ExitError)(nil); errors.As(err, &status) && status.ExitCode() != shellNotFound {
		return nil // it was left early, or ended by a signal
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// shellNotFound is the status of a shell whose command does not exist.
const shellNotFound = 127

// columns returns the width of the terminal that w writes to; 0 if there is none.
func columns(w io.Writer) int {
	f, ok := beneath(w).(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return cmp.Or(width, 80)
}
