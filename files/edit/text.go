package edit

import (
	"bytes"
	"unicode/utf8"
)

// Form classifies a content as text or binary.
type Form uint8

const (
	Text   Form = iota // UTF-8
	Wide               // text, in UTF-16 or UTF-32 by its byte order mark
	Legacy             // text in some older encoding, as a guess
	Binary
)

// binaryHead is how much is looked at for a NUL, as git and grep do.
const binaryHead = 8000

// FormOf distinguishes text from binary.
func FormOf(content []byte) Form {
	switch {
	case bytes.HasPrefix(content, []byte{0xff, 0xfe}), bytes.HasPrefix(content, []byte{0xfe, 0xff}):
		return Wide
	case bytes.IndexByte(content[:min(len(content), binaryHead)], 0) >= 0:
		return Binary
	case utf8.Valid(content):
		if bytes.IndexByte(content, 0) >= 0 {
			return Binary
		}
		return Text
	}
	return legacyOrBinary(content[:min(len(content), binaryHead)])
}

// legacyOrBinary: text in Latin-1 or the like holds hardly any control
// characters.
func legacyOrBinary(head []byte) Form {
	control := 0
	for _, c := range head {
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b {
			control++
		}
	}
	if control*50 > len(head) {
		return Binary
	}
	return Legacy
}
