package term

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"sandboxd/display"
)

// MaxLine is how many characters an answer may have; more are not taken.
const MaxLine = 500

// Prompt is the text that ReadLine shows in front of the cursor.
type Prompt struct {
	// Text is printed as it is; it holds no escape sequences.
	Text string
	// Until is when the answer comes too late. Zero: it may take forever.
	Until time.Time
	// Left writes the time that is left; it is printed before Text and renewed
	// every second (on a plain terminal: on a new line, near the end). nil: not shown.
	Left func(time.Duration) string
}

// ReadLine shows the prompt and returns the line that is typed from then on.
// Earlier input is discarded. The error is ErrInterrupted, ErrTime
// or that of ctx; the cursor is at the start of a new line in every case.
func (t *Terminal) ReadLine(ctx context.Context, p Prompt) (string, error) {
	saved, err := t.quiet()
	if err != nil {
		return "", err
	}
	e := editor{t: t, prompt: p}
	if !t.Plain {
		t.Write([]byte("\x1b[?2004h")) // mark pasted text
	}
	line, err := e.read(ctx)
	end := "\n"
	if !t.Plain {
		end = "\x1b[?2004l\n"
	}
	t.Write([]byte(end))
	if rerr := t.restore(saved); err == nil {
		err = rerr
	}
	return line, err
}

// editor is one ReadLine.
type editor struct {
	t      *Terminal
	prompt Prompt
	keys   keys
	typed  []rune
	left   string // the countdown as shown on the screen
	echoed string // the typed text as shown on a plain terminal's last line
}

func (e *editor) read(ctx context.Context) (string, error) {
	e.show()
	for buf := make([]byte, 256); ; {
		n, err := e.t.wait.read(ctx, e.nextTick(), buf)
		switch {
		case errors.Is(err, ErrTime) && time.Now().Before(e.prompt.Until):
			e.tick()
			continue
		case ctx.Err() != nil: // also where a key came at the same moment
			return "", ctx.Err()
		case errors.Is(err, ErrTime):
			return "", err
		case err != nil: // io.EOF, EIO: the terminal is gone
			return "", ErrInterrupted
		}
		for _, k := range e.keys.feed(buf[:n]) {
			if done, err := e.key(k); done {
				e.echo()
				return string(e.typed), err
			}
		}
		e.echo()
	}
}

// key takes one key. done ends the line.
func (e *editor) key(k rune) (done bool, err error) {
	switch k {
	case '\r', '\n':
		return true, nil
	case 0x03, 0x04, 0x1c: // Ctrl-C, Ctrl-D, Ctrl-\
		return true, ErrInterrupted
	case 0x7f, '\b':
		if n := len(e.typed); n > 0 {
			e.typed = e.typed[:n-1]
		}
	case 0x15: // Ctrl-U
		e.typed = nil
	case 0x17: // Ctrl-W
		s := strings.TrimRight(string(e.typed), " ")
		e.typed = []rune(s[:strings.LastIndex(s, " ")+1])
	default:
		if k >= 0x20 && len(e.typed) < MaxLine {
			e.typed = append(e.typed, k)
		}
	}
	return false, nil
}

// nextTick is when the countdown changes, or the time is over.
func (e *editor) nextTick() time.Time {
	left := time.Until(e.prompt.Until)
	if e.prompt.Left == nil || e.prompt.Until.IsZero() || left <= 0 {
		return e.prompt.Until
	}
	return e.prompt.Until.Add(-(left - 1).Truncate(time.Second))
}

// tick renews the countdown. A plain terminal gets a new line for it, so only
// twice.
func (e *editor) tick() {
	left := time.Until(e.prompt.Until).Round(time.Second)
	switch {
	case !e.t.Plain:
		e.show()
	case left == 10*time.Second, left == 5*time.Second:
		e.t.Write([]byte("\n"))
		e.show()
	}
}

// show writes the whole line: countdown, prompt and typed text.
func (e *editor) show() {
	e.left = ""
	if e.prompt.Left != nil && !e.prompt.Until.IsZero() {
		e.left = e.prompt.Left(max(0, time.Until(e.prompt.Until).Round(time.Second)))
	}
	e.echoed = e.visible()
	head := e.left + e.prompt.Text
	if e.t.Plain {
		e.t.Write([]byte(head + e.echoed))
		return
	}
	cols, _ := e.t.Size()
	room := max(cols-display.Width(head)-2, 4)
	e.t.Write([]byte("\r" + head + tail(e.echoed, room) + "\x1b[K"))
}

// echo shows the text typed since. A plain terminal's cursor does not go back:
// when something was taken away, the line is written again below.
func (e *editor) echo() {
	if !e.t.Plain {
		e.show()
		return
	}
	typed := e.visible()
	more, ok := strings.CutPrefix(typed, e.echoed)
	if !ok {
		e.t.Write([]byte("\n"))
		e.show()
		return
	}
	e.t.Write([]byte(more))
	e.echoed = typed
}

// visible is the typed text, fit to be shown.
func (e *editor) visible() string {
	if e.t.UTF8 {
		return display.Prose(string(e.typed))
	}
	return display.ASCII(string(e.typed))
}

// tail is the end of s that fits into width cells.
func tail(s string, width int) string {
	if display.Width(s) <= width {
		return s
	}
	for display.Width(s) > width-1 {
		_, n := utf8.DecodeRuneInString(s)
		s = s[n:]
	}
	return "<" + s
}
