package term

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/cmd/sbx/internal/term/termtest"
)

// screen is a terminal on both sides.
type screen struct {
	*termtest.Screen
	tty *Terminal
}

func open(t *testing.T, env map[string]string) *screen {
	t.Helper()
	if env["TERM"] == "" {
		env["TERM"] = "xterm"
	}
	s := &screen{Screen: termtest.Open(t)}
	var err error
	if s.tty, err = New(s.File, func(k string) string { return env[k] }); err != nil {
		t.Fatal(err)
	}
	return s
}

type answer struct {
	line string
	err  error
}

// ask starts ReadLine and waits until its prompt is on the screen.
func (s *screen) ask(ctx context.Context, p Prompt) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		line, err := s.tty.ReadLine(ctx, p)
		out <- answer{line, err}
	}()
	s.Wait(p.Text)
	return out
}

func TestReadLine(t *testing.T) {
	for _, c := range []struct {
		name, keys, line string
		err              error
	}{
		{"enter alone", "\r", "", nil},
		{"one letter", "y\r", "y", nil},
		{"a reason", "no, run the tests first\r", "no, run the tests first", nil},
		{"backspace", "yx\x7f\r", "y", nil},
		{"kill line", "yes\x15no\r", "no", nil},
		{"kill word", "not now\x17then\r", "not then", nil},
		{"letters of other scripts", "größe 日\r", "größe 日", nil},
		{"arrows and function keys", "\x1b[A\x1bOP\x1b[15~y\r", "y", nil},
		{"focus reports", "\x1b[I\x1b[Oy\r", "y", nil},
		{"mouse report", "\x1b[<0;3;4My\r", "y", nil},
		{"pasted", "\x1b[200~y\ry\r\x1b[201~\r", "", nil}, // R-UX-01: a paste answers nothing
		{"pasted in the middle", "n\x1b[200~y\x1b[201~o\r", "no", nil},
		{"interrupt", "y\x03", "y", ErrInterrupted},
		{"end of file", "\x04", "", ErrInterrupted},
		{"control keys", "\x01\x02y\x1a\r", "y", nil},
		{"invalid bytes", "y\xff\xfe\r", "y", nil},
		{"escape, then enter", "\x1b\r", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, map[string]string{})
			got := s.ask(t.Context(), Prompt{Text: "Allow? "})
			s.Press(c.keys)
			if a := <-got; a.line != c.line || !errors.Is(a.err, c.err) {
				t.Errorf("ReadLine = %q, %v, want %q, %v", a.line, a.err, c.line, c.err)
			}
		})
	}
}

func TestLongLineIsCut(t *testing.T) {
	s := open(t, map[string]string{})
	got := s.ask(t.Context(), Prompt{Text: "Allow? "})
	for range 6 {
		s.Press(strings.Repeat("x", 100))
		time.Sleep(time.Millisecond)
	}
	s.Press("\r")
	if a := <-got; len(a.line) != MaxLine {
		t.Errorf("ReadLine took %d characters, want %d", len(a.line), MaxLine)
	}
}

// R-UX-01: input typed before the prompt appeared is discarded.
func TestTypeAheadDoesNotCount(t *testing.T) {
	s := open(t, map[string]string{})
	s.Press("y\r")
	time.Sleep(20 * time.Millisecond)
	got := s.ask(t.Context(), Prompt{Text: "Allow? "})
	select {
	case a := <-got:
		t.Fatalf("ReadLine = %q, %v from what was typed before", a.line, a.err)
	case <-time.After(50 * time.Millisecond):
	}
	s.Press("n\r")
	if a := <-got; a.line != "n" {
		t.Errorf("ReadLine = %q, want n", a.line)
	}
}

func TestSettleDiscards(t *testing.T) {
	s := open(t, map[string]string{})
	done := make(chan error)
	go func() { done <- s.tty.Settle(100 * time.Millisecond) }()
	time.Sleep(30 * time.Millisecond)
	s.Press("y\r")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := s.ask(t.Context(), Prompt{Text: "Allow? "})
	s.Press("\r")
	if a := <-got; a.line != "" {
		t.Errorf("ReadLine = %q, want nothing", a.line)
	}
	if strings.Contains(s.Shown(), "y") {
		t.Errorf("what was typed too early is shown: %q", s.Shown())
	}
}

func TestTimeAndCountdown(t *testing.T) {
	s := open(t, map[string]string{})
	got := s.ask(t.Context(), Prompt{
		Text:  "Allow? ",
		Until: time.Now().Add(2100 * time.Millisecond),
		Left:  func(d time.Duration) string { return "(" + d.String() + ") " },
	})
	s.Press("y") // without Enter it is no answer
	if a := <-got; !errors.Is(a.err, ErrTime) || a.line != "" {
		t.Errorf("ReadLine = %q, %v, want %v", a.line, a.err, ErrTime)
	}
	for _, want := range []string{"(2s) Allow? ", "(1s) Allow? y"} {
		if !strings.Contains(s.Shown(), want) {
			t.Errorf("the screen never showed %q: %q", want, s.Shown())
		}
	}
}

func TestGivenUp(t *testing.T) { // somebody else answered
	s := open(t, map[string]string{})
	ctx, cancel := context.WithCancel(t.Context())
	got := s.ask(ctx, Prompt{Text: "Allow? "})
	s.Press("y")
	cancel()
	if a := <-got; !errors.Is(a.err, context.Canceled) || a.line != "" {
		t.Errorf("ReadLine = %q, %v, want %v", a.line, a.err, context.Canceled)
	}
	again := s.ask(t.Context(), Prompt{Text: "And now? "})
	s.Press("n\r")
	if a := <-again; a.line != "n" || a.err != nil {
		t.Errorf("the next ReadLine = %q, %v, want n", a.line, a.err)
	}
}

func TestHangUp(t *testing.T) {
	s := open(t, map[string]string{})
	got := s.ask(t.Context(), Prompt{Text: "Allow? "})
	s.HangUp()
	if a := <-got; !errors.Is(a.err, ErrInterrupted) {
		t.Errorf("ReadLine = %q, %v, want %v", a.line, a.err, ErrInterrupted)
	}
}

func TestSettingsComeBack(t *testing.T) {
	s := open(t, map[string]string{})
	fd := int(s.tty.File().Fd())
	before, err := unix.IoctlGetTermios(fd, ioctlGetAttr)
	if err != nil {
		t.Fatal(err)
	}
	got := s.ask(t.Context(), Prompt{Text: "Allow? "})
	s.Press("y\r")
	<-got
	after, err := unix.IoctlGetTermios(fd, ioctlGetAttr)
	if err != nil {
		t.Fatal(err)
	}
	if *before != *after {
		t.Errorf("settings are %+v, were %+v", *after, *before)
	}
}

// A dumb terminal gets no escape sequence at all (R-UX-01).
func TestPlain(t *testing.T) {
	s := open(t, map[string]string{"TERM": "dumb"})
	if s.tty.Color {
		t.Error("a dumb terminal has colour")
	}
	got := s.ask(t.Context(), Prompt{Text: "Allow? ", Until: time.Now().Add(time.Minute),
		Left: func(time.Duration) string { return "(1 min) " }})
	s.Press("nox")
	s.Wait("nox")
	s.Press("\x7f")
	s.Wait("nox\r\n(1 min) Allow? no")
	s.Press("\r")
	if a := <-got; a.line != "no" {
		t.Errorf("ReadLine = %q, want no", a.line)
	}
	if strings.ContainsAny(strings.ReplaceAll(s.Shown(), "\x1b[?2004", ""), "\x1b") ||
		strings.Contains(s.Shown(), "\x1b") {
		t.Errorf("escape sequences on a dumb terminal: %q", s.Shown())
	}
}

// What a person types, or a terminal is made to type, is neutralised like
// everything else.
func TestEchoIsNeutralised(t *testing.T) {
	s := open(t, map[string]string{})
	got := s.ask(t.Context(), Prompt{Text: "Allow? "})
	s.Press("a\u202eb\r")
	<-got
	s.Wait(`Allow? a\u202eb`)
}

func TestStyle(t *testing.T) {
	for _, c := range []struct {
		env                map[string]string
		plain, color, utf8 bool
	}{
		{map[string]string{"TERM": "xterm", "LANG": "C.UTF-8"}, false, true, true},
		{map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, false, false, true},
		{map[string]string{"TERM": "dumb"}, true, false, true},
		{map[string]string{"TERM": "xterm", "LC_ALL": "C", "LANG": "de_DE.utf8"}, false, true, false},
		{map[string]string{"TERM": "xterm", "LANG": "de_DE.utf8"}, false, true, true},
	} {
		s := open(t, c.env)
		if s.tty.Plain != c.plain || s.tty.Color != c.color || s.tty.UTF8 != c.utf8 {
			t.Errorf("%v: plain %v, color %v, utf8 %v", c.env, s.tty.Plain, s.tty.Color, s.tty.UTF8)
		}
	}
}

func TestNotATerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := New(r, os.Getenv); !errors.Is(err, errNone) {
		t.Errorf("New(pipe) = %v, want %v", err, errNone)
	}
}

// FuzzKeys: no input makes feed hang, lose Enter for good, or keep more than a
// sequence's worth of bytes.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("y\r"))
	f.Add([]byte("\x1b[200~x\x1b[201~"))
	f.Add([]byte("\x1b[<0;1;1M\x1bOA\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var k keys
		for i := range data {
			k.feed(data[i : i+1])
			if len(k.pending) > 80 {
				t.Fatalf("%d bytes are kept after %q", len(k.pending), data[:i+1])
			}
		}
		if k.pasting {
			k.feed([]byte("\x1b[201~"))
		}
		k.feed([]byte("m\r"))
		if got := k.feed([]byte("y\r")); len(got) != 2 {
			t.Errorf("after %q, y and Enter are %q", data, got)
		}
	})
}
