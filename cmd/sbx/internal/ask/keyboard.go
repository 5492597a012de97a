package ask

import (
	"bytes"
	"os"
	"sync"
)

// keyboard is a terminal as the screen reads it. Its end is told, and a line
// end that comes in one piece with other keys is taken out: that is what a paste
// looks like where the terminal does not mark pastes, and no person types so fast.
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
