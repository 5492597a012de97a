package seccomp

import (
	"bytes"
	"testing"
)

func TestChain(t *testing.T) {
	next, allow, refuse := instruction{code: opReturn, k: nextPart}, instruction{code: opReturn, k: retAllow},
		instruction{code: opReturn, k: retErrno | 1}
	isOne := instruction{code: 0x15, jt: 0, jf: 1, k: 1}
	load := instruction{code: 0x20}
	whole, err := chain([]instruction{load, isOne, refuse, next},
		[]instruction{load, {code: 0x15, jf: 1, k: 2}, allow, next}, []instruction{refuse})
	if err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int32]Answer{1: EPERM, 2: Allow, 3: EPERM} {
		if got, _, _, err := evaluate(whole, data{number: number}); err != nil || got != want {
			t.Errorf("%d: %v, %v; want %v", number, got, err, want)
		}
	}
	if _, err := chain([]instruction{load, next}); err == nil {
		t.Error("a program whose last part has no answer")
	}
	if _, err := chain(make([]instruction, maxInstructions), []instruction{allow}); err == nil {
		t.Error("a program that the kernel does not take")
	}
}

// Whatever decodes encodes to the same bytes, and nothing else makes it panic.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{6, 0, 0, 0, 0, 0, 0xff, 0x7f})
	f.Add(make([]byte, 9))
	f.Fuzz(func(t *testing.T, program []byte) {
		list, err := decode(program)
		if err == nil && !bytes.Equal(encode(list), program) {
			t.Errorf("%x came back as %x", program, encode(list))
		}
	})
}
