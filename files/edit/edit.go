// Package edit changes text: exact replacements with an expected count, several at once or none,
// insertions beside a line or a match, and appending. It works on bytes and opens no file.
//
//	out, n, err := edit.Replace(text, []edit.Replacement{{Find: "colour", Replace: "color", Count: 3}}, 1<<20)
//
// A text with another count of the searched string is a *Mismatch, which shows the most similar
// place and the difference. Similar text is never replaced.
//
// # Line ends
//
// In a text whose lines all end in "\r\n", "\n" in a search or content means "\r\n". A text with
// both kinds is searched as it is.
package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// Replacement replaces Find by Replace; Find must occur exactly Count times, not overlapping; 0
// means once.
type Replacement struct {
	Find, Replace string
	Count         int
}

// Mismatch is a text that is not as an edit expects it.
type Mismatch struct {
	Edit        int // which edit, from 1
	Find        string
	Want, Found int
	// Lines are where Find was found, the first few; from 1.
	Lines []int
	// Near is the place that is most like Find, when it was not found at all.
	Near Near
	// Empty: Find is empty; Same: it equals Replace.
	Empty, Same bool
}

func (m *Mismatch) Error() string {
	switch {
	case m.Empty:
		return "nothing to find"
	case m.Same:
		return "find and replace are the same"
	case m.Found == 0:
		return "text not found" + m.Near.explain()
	}
	return fmt.Sprintf("found %d times, not %d (lines %v)", m.Found, m.Want, m.Lines)
}

// TooLargeError is a text that an edit would make larger than it may become.
type TooLargeError struct{ Size int64 }

func (e *TooLargeError) Error() string { return fmt.Sprintf("it would have %d bytes", e.Size) }

// Replace applies the replacements one after the other, each to the outcome of
// the one before, all or none. replaced counts the places. An outcome of more than
// limit bytes is a *TooLargeError, also where a later replacement would make it
// smaller.
func Replace(text []byte, list []Replacement, limit int64) (out []byte, replaced int, err error) {
	crlf := allCRLF(text)
	out = text
	for i, r := range list {
		find, with := r.Find, r.Replace
		if crlf {
			find, with = toCRLF(find), toCRLF(with)
		}
		want := r.Count
		if want == 0 {
			want = 1
		}
		m := &Mismatch{Edit: i + 1, Find: r.Find, Want: want}
		switch {
		case find == "":
			m.Empty = true
			return nil, 0, m
		case find == with:
			m.Same = true
			return nil, 0, m
		}
		if m.Found = bytes.Count(out, []byte(find)); m.Found != want {
			m.Lines = linesOf(out, find, 5)
			if m.Found == 0 {
				m.Near = nearest(string(out), find)
			}
			return nil, 0, m
		}
		if size := int64(len(out)) + int64(want)*int64(len(with)-len(find)); size > limit {
			return nil, 0, &TooLargeError{size}
		}
		out = bytes.ReplaceAll(out, []byte(find), []byte(with))
		replaced += want
	}
	return out, replaced, nil
}

// linesOf are the numbers of the lines in which a text begins, the first few.
func linesOf(text []byte, find string, limit int) []int {
	var out []int
	line, from := 1, 0
	for len(out) < limit {
		i := bytes.Index(text[from:], []byte(find))
		if i < 0 {
			break
		}
		line += bytes.Count(text[from:from+i], []byte("\n"))
		out = append(out, line)
		line += strings.Count(find, "\n")
		from += i + len(find)
	}
	return out
}

// Place is where Insert puts its content.
type Place struct {
	// Anchor is the text beside which it goes; it must occur once. Where it is
	// empty, Line counts.
	Anchor string
	// Line from 1. 0 is the start of the text with Before, and its end without.
	Line int
	// Before the anchor or line, not after it.
	Before bool
}

// Insert puts content beside a line or a match. Beside a line it becomes lines
// of its own, ended as the text's are; beside an anchor it goes in as it is.
func Insert(text []byte, at Place, content []byte) ([]byte, error) {
	if allCRLF(text) {
		content = []byte(toCRLF(string(content)))
		at.Anchor = toCRLF(at.Anchor)
	}
	if at.Anchor != "" {
		return insertAtAnchor(text, at, content)
	}
	return insertAtLine(text, at, content)
}

func insertAtAnchor(text []byte, at Place, content []byte) ([]byte, error) {
	n := bytes.Count(text, []byte(at.Anchor))
	if n != 1 {
		m := &Mismatch{Edit: 1, Find: at.Anchor, Want: 1, Found: n, Lines: linesOf(text, at.Anchor, 5)}
		if n == 0 {
			m.Near = nearest(string(text), at.Anchor)
		}
		return nil, m
	}
	pos := bytes.Index(text, []byte(at.Anchor))
	if !at.Before {
		pos += len(at.Anchor)
	}
	return splice(text, pos, content), nil
}

func insertAtLine(text []byte, at Place, content []byte) ([]byte, error) {
	lines := countLines(text)
	if at.Line < 0 || at.Line > lines {
		return nil, &LineError{Line: at.Line, Lines: lines}
	}
	end := "\n"
	if allCRLF(text) {
		end = "\r\n"
	}
	if len(content) > 0 && !bytes.HasSuffix(content, []byte("\n")) {
		content = append(bytes.Clone(content), end...)
	}
	after := at.Line // number of lines before the content
	switch {
	case at.Line == 0 && !at.Before:
		after = lines
	case at.Line > 0 && at.Before:
		after = at.Line - 1
	}
	pos := lineStart(text, after)
	if pos == len(text) && len(text) > 0 && text[len(text)-1] != '\n' && len(content) > 0 {
		// The last line has no end: it gets one, and the new last line has none.
		content = append([]byte(end), bytes.TrimSuffix(bytes.TrimSuffix(content, []byte("\n")), []byte("\r"))...)
	}
	return splice(text, pos, content), nil
}

// LineError is a line that a text does not have.
type LineError struct{ Line, Lines int }

func (e *LineError) Error() string {
	return fmt.Sprintf("there is no line %d; the text has %d", e.Line, e.Lines)
}

// countLines counts a last line without an end, too.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// lineStart is where line n+1 begins, that is, how far n lines reach.
func lineStart(text []byte, n int) int {
	pos := 0
	for range n {
		i := bytes.IndexByte(text[pos:], '\n')
		if i < 0 {
			return len(text)
		}
		pos += i + 1
	}
	return pos
}

func splice(text []byte, pos int, content []byte) []byte {
	out := make([]byte, 0, len(text)+len(content))
	out = append(out, text[:pos]...)
	out = append(out, content...)
	return append(out, text[pos:]...)
}

// Append puts content at the end, as it is but for line ends.
func Append(text, content []byte) []byte {
	if allCRLF(text) {
		content = []byte(toCRLF(string(content)))
	}
	return splice(text, len(text), content)
}

// Follow gives new content the line ends of the old, where that is clear: the
// old has only "\r\n" and the new has no "\r".
func Follow(old, content []byte) []byte {
	if !allCRLF(old) {
		return content
	}
	return []byte(toCRLF(string(content)))
}

// allCRLF reports whether a text has lines, and all of them end in "\r\n".
func allCRLF(text []byte) bool {
	n := bytes.Count(text, []byte("\n"))
	return n > 0 && bytes.Count(text, []byte("\r\n")) == n
}

// toCRLF changes a text that has no "\r" at all.
func toCRLF(s string) string {
	if strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(s, "\n", "\r\n")
}
