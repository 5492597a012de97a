package display

import (
	"io"
	"unicode"
	"unicode/utf8"
)

// Stream forwards a program's output to a terminal. Text, line ends, tabs, carriage returns,
// backspaces and colours pass. Stream escapes every other control sequence (cursor movement,
// titles, the clipboard, queries that the terminal answers by typing), every direction
// override, and bytes that are not UTF-8. Unlike [Line] it changes nothing else: its output is
// for reading, not for approving.
//
// Stream buffers an unfinished character or sequence until the next Write. Close writes the
// buffer and resets colours that are still on. It does not close W.
type Stream struct {
	W io.Writer

	pending []byte // the start of a character or sequence
	out     []byte
	colored bool
}

// maxSGR is the maximum length of a sequence that sets colours. A longer one is escaped.
const maxSGR = 64

// Write filters p and writes it to W. It buffers at most one unfinished character or sequence.
func (s *Stream) Write(p []byte) (int, error) {
	text := append(s.pending, p...)
	rest := s.filter(text, false)
	s.pending = append(s.pending[:0:0], rest...)
	return len(p), s.flush()
}

// Close writes the buffered bytes and resets the colours. It does not close W.
func (s *Stream) Close() error {
	s.filter(s.pending, true)
	s.pending = nil
	if s.colored {
		s.out = append(s.out, "\x1b[0m"...)
		s.colored = false
	}
	return s.flush()
}

func (s *Stream) flush() error {
	if len(s.out) == 0 {
		return nil
	}
	_, err := s.W.Write(s.out)
	s.out = s.out[:0]
	return err
}

// filter appends the filtered text to s.out and returns its unfinished end. If last is true,
// nothing is unfinished.
func (s *Stream) filter(text []byte, last bool) (rest []byte) {
	for len(text) > 0 {
		if text[0] == 0x1b {
			n, whole := sgr(text)
			switch {
			case !whole && !last:
				return text
			case whole && n > 0:
				s.out = append(s.out, text[:n]...)
				s.colored = true
				text = text[n:]
				continue
			}
			s.out = append(s.out, escape(0x1b)...)
			text = text[1:]
			continue
		}
		if !utf8.FullRune(text) && !last {
			return text
		}
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			s.out = append(s.out, hex(`\x`, uint64(text[0]), 2)...)
		case streamed(r):
			s.out = append(s.out, text[:n]...)
		default:
			s.out = append(s.out, escape(r)...)
		}
		text = text[n:]
	}
	return nil
}

// streamed reports whether r only prints or moves within the line.
func streamed(r rune) bool {
	switch {
	case r == '\n', r == '\t', r == '\r', r == '\b', r == '\a':
		return true
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return false
	}
	return !unicode.Is(unicode.Bidi_Control, r) && r != 0x2028 && r != 0x2029
}

// sgr returns the length of the sequence at the start of text if it sets colours (ECMA-48 SGR),
// else 0. whole is false if text ends before that is known.
func sgr(text []byte) (n int, whole bool) {
	for i := 1; i < len(text); i++ {
		c := text[i]
		switch {
		case i == 1:
			if c != '[' {
				return 0, true
			}
		case c == 'm':
			return i + 1, true
		case (c < '0' || c > ';') || i >= maxSGR:
			return 0, true
		}
	}
	return 0, false
}
