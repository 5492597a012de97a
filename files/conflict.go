package files

import (
	"fmt"
	"strings"
)

// Reason is why an operation cannot be done, as a stable word for programs.
type Reason string

const (
	Invalid     Reason = "invalid"      // the request contradicts itself
	BadPath     Reason = "bad_path"     // no path that could be meant
	Outside     Reason = "outside"      // leads out of the root
	Forbidden   Reason = "forbidden"    // hidden, or not permitted by the system
	NotThere    Reason = "missing"      // no such file or folder
	Exists      Reason = "exists"       // an entry exists already
	NotAFile    Reason = "not_a_file"   // a folder, where a file is needed
	NotAFolder  Reason = "not_a_folder" // a file, where a folder is needed
	NotEmpty    Reason = "not_empty"    // the folder holds something
	Special     Reason = "special"      // a device, FIFO or socket
	ManyNames   Reason = "hard_link"    // the file has other names
	Changed     Reason = "changed"      // changed since it was read or approved
	NoMatch     Reason = "no_match"     // the text to find is not there
	WrongCount  Reason = "wrong_count"  // it is there more or less often than expected
	Binary      Reason = "binary"       // not text
	Encoding    Reason = "encoding"     // text, but not UTF-8
	TooLarge    Reason = "too_large"    // larger than the tool handles
	Unkept      Reason = "unkept"       // owner, mode or attributes could not be kept
	Damaged     Reason = "damaged"      // what is kept of it is missing or has another content
	Unsupported Reason = "unsupported"  // the file system cannot do it
	Failed      Reason = "failed"       // input or output failed; Found has the error
)

// Conflict is why an operation was not done. Nothing was changed.
type Conflict struct {
	Op     Op     `json:"op,omitempty"`
	Path   string `json:"path,omitempty"`
	Reason Reason `json:"reason"`
	// Expected and Found compare the request with the tree.
	Expected string `json:"expected,omitempty"`
	Found    string `json:"found,omitempty"`
	// Line and Nearest are the place of the file most similar to the searched text; Hint describes
	// the difference.
	Line    int    `json:"line,omitempty"`
	Nearest string `json:"nearest,omitempty"`
	Hint    string `json:"hint,omitempty"`
	// Hash is that of the present content.
	Hash string `json:"hash,omitempty"`
	// Edit is the number of the edit that failed, from 1; 0 where there is
	// only one.
	Edit int `json:"edit,omitempty"`
}

var reasonText = map[Reason]string{
	Invalid:     "the request is invalid",
	BadPath:     "not a usable path",
	Outside:     "leads out of the sandbox's root",
	Forbidden:   "not permitted",
	NotThere:    "does not exist",
	Exists:      "exists already",
	NotAFile:    "is a folder, not a file",
	NotAFolder:  "is not a folder",
	NotEmpty:    "is not empty",
	Special:     "is a device, FIFO or socket",
	ManyNames:   "has more than one name (hard link), and others may lie elsewhere",
	Changed:     "has changed",
	NoMatch:     "the text to find is not there",
	WrongCount:  "the text to find is not there as often as expected",
	Binary:      "is binary, not text",
	Encoding:    "is not UTF-8 text",
	TooLarge:    "is too large",
	Unkept:      "something of the file could not be kept",
	Damaged:     "what is kept of it is damaged",
	Unsupported: "the file system cannot do this",
	Failed:      "input or output failed",
}

// Error returns all fields on one line, without the nearest text.
func (c *Conflict) Error() string {
	var b strings.Builder
	if c.Path != "" {
		fmt.Fprintf(&b, "%s %q: ", c.Op, c.Path)
	}
	b.WriteString(reasonText[c.Reason])
	if c.Edit > 0 {
		fmt.Fprintf(&b, " (edit %d)", c.Edit)
	}
	if c.Expected != "" {
		fmt.Fprintf(&b, "; expected %s", c.Expected)
	}
	if c.Found != "" {
		fmt.Fprintf(&b, "; found %s", c.Found)
	}
	if c.Nearest != "" {
		fmt.Fprintf(&b, "; the nearest is line %d: %q", c.Line, c.Nearest)
	}
	if c.Hint != "" {
		fmt.Fprintf(&b, "; %s", c.Hint)
	}
	return b.String()
}

// Is makes errors.Is compare the reason: errors.Is(err, &Conflict{Reason: Changed}).
func (c *Conflict) Is(target error) bool {
	t, ok := target.(*Conflict)
	return ok && t.Reason == c.Reason
}
