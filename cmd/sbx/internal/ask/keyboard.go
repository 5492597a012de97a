package ask

import (
	"bytes"
	"os"
	"sync"
)

// keyboard is a terminal as the screen reads it. It reports the terminal's end to
// lost. It removes a line end that arrives in one piece with other keys: a terminal
// that does not mark pastes sends them so, and no person types so fast.
type keyboard struct {
	*os.File
	lost func(error)
	once sync.Once
}

func (k *keyboard) Read(b []byte) (int, error) {
	n, err := k.File.Read(b)
	if err != nil {
		k.once.Do(func() { go k.lost(err) })
		return n, err
	}
	if n > 1 {
		kept := bytes.Map(func(r rune) rune {
			if r == '\r' || r == '\n' {
				return -1
			}
			return r
		}, b[:n])
		n = copy(b, kept)
	}
	return n, nil
}
