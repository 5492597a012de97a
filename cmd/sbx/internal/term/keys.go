package term

import (
	"bytes"
	"unicode/utf8"
)

// keys turns the bytes of a terminal into keys. Escape sequences (arrows,
// function keys, mouse and focus reports) and pasted text produce none.
type keys struct {
	pending []byte // an unfinished sequence
	pasting bool
}

var (
	pasteStart = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// feed returns the keys that data completes.
func (k *keys) feed(data []byte) []rune {
	k.pending = append(k.pending, data...)
	var out []rune
	for len(k.pending) > 0 {
		if k.pasting {
			i := bytes.Index(k.pending, pasteEnd)
			if i < 0 {
				k.pending = lastBytes(k.pending, len(pasteEnd)-1)
				return out
			}
			k.pending, k.pasting = k.pending[i+len(pasteEnd):], false
			continue
		}
		if k.pending[0] == 0x1b {
			n := sequence(k.pending)
			if n == 0 {
				return out // unfinished
			}
			k.pasting = bytes.Equal(k.pending[:n], pasteStart)
			k.pending = k.pending[n:]
			continue
		}
		if !utf8.FullRune(k.pending) {
			return out
		}
		r, n := utf8.DecodeRune(k.pending)
		k.pending = k.pending[n:]
		if r != utf8.RuneError {
			out = append(out, r)
		}
	}
	return out
}

// sequence is the length of the escape sequence at the start of b (ECMA-48), 0
// while it is not complete. A lone Escape counts with the key that follows it:
// that is how terminals send Alt.
func sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
			if i > 64 {
				return i // not a sequence that a terminal sends
			}
		}
		return 0
	case 'O':
		if len(b) < 3 {
			return 0
		}
		return 3
	case 0x1b, '\r', '\n', 0x03, 0x04:
		return 1 // Escape alone, then a key that must not be lost
	}
	return 2
}

// lastBytes is the end of b, at most n bytes of it.
func lastBytes(b []byte, n int) []byte {
	return b[max(0, len(b)-n):]
}
