package main

import (
	"io"

	"sandboxd/display"
)

// output selects the destinations of the command's output. Files and pipes get every
// byte. Output to a terminal is filtered, so that a program inside cannot control the
// person's terminal; with --tty the command has asked for a terminal and gets it.
func (r *runner) output() {
	switch {
	case r.options.json:
		r.stdout, r.errout = &r.report.out, &r.report.err
	case !r.options.tty:
		r.stdout, r.errout = r.filtered(r.stdout), r.filtered(r.errout)
	}
}

func (r *runner) filtered(w io.Writer) io.Writer {
	if !isTerminal(w) {
		return w
	}
	s := &display.Stream{W: w}
	r.streams = append(r.streams, s)
	return s
}

func (r *runner) write(w io.Writer, data []byte) error {
	if len(data) > 0 {
		r.column = data[len(data)-1] != '\n'
	}
	_, err := w.Write(data)
	return err
}

// endOutput writes the bytes that the filters kept back. It may be called twice.
func (r *runner) endOutput() {
	for _, s := range r.streams {
		s.Close()
	}
	r.streams = nil
}

// clearTerminal undoes the effects of the command's output on the terminal before
// a question is put there: a soft reset (DECSTR), the main screen, no colour, a
// new line.
func (r *runner) clearTerminal() {
	if !r.started {
		return
	}
	if !r.tty.Plain {
		io.WriteString(r.tty, "\x1b[!p\x1b[?1049l\x1b[0m")
	}
	if r.column {
		io.WriteString(r.tty, "\n")
	}
}
