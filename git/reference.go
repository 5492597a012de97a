package git

import (
	"bytes"
	"path"
	"regexp"
	"strings"
)

const maxPackedRefs = 64 << 20

// expansions are the references that a short name can mean, in git's order (gitrevisions(7), <refname>).
var expansions = []string{"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"}

// noReference finds what git allows in no name of a reference (git-check-ref-format(1)).
var noReference = regexp.MustCompile(`^$|[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|(^|/)\.|\.lock(/|$)`)

// reference returns the id that a short name of a reference leads to; "" where there is none.
func (o *Objects) reference(name string) (string, error) {
	if name == "@" {
		name = "HEAD"
	}
	if noReference.MatchString(name) {
		return "", nil
	}
	for _, prefix := range expansions {
		if id, err := o.resolve(prefix + name); id != "" || err != nil {
			return id, err
		}
	}
	return o.resolve("refs/remotes/" + name + "/HEAD")
}

// resolve returns the id that a full name of a reference leads to; "" where it does not exist or holds something
// else.
func (o *Objects) resolve(name string) (string, error) {
	for range 6 { // symbolic references (refs.h, SYMREF_MAXDEPTH)
		text, err := o.loosely(name)
		if err != nil {
			return "", err
		}
		if text == "" {
			return o.inPacked(name)
		}
		if to, ok := strings.CutPrefix(text, "ref:"); ok {
			name = strings.TrimSpace(to)
			if noReference.MatchString(name) {
				return "", nil
			}
			continue
		}
		return o.id(text), nil
	}
	return "", nil
}

// loosely returns the text of a reference in a file of its own; "" where there is none.
func (o *Objects) loosely(name string) (string, error) {
	for _, dir := range []string{o.Repo.Dir, o.Repo.Common} {
		b, err := o.Host.ReadAt(path.Join(dir, name), 0, 4096)
		if err == nil && len(b) > 0 {
			return string(b), nil
		}
		if err != nil && !absent(err) {
			return "", err
		}
	}
	return "", nil
}

// inPacked returns the id of a reference in the file packed-refs.
func (o *Objects) inPacked(name string) (string, error) {
	if o.packedRefs == nil {
		text, err := o.Host.ReadFile(path.Join(o.Repo.Common, "packed-refs"), maxPackedRefs)
		if err != nil && !absent(err) {
			return "", err
		}
		o.packedRefs = append([]byte("\n"), text...)
	}
	suffix := []byte(" " + name + "\n")
	for text := o.packedRefs; ; {
		at := bytes.Index(text, suffix)
		if at < 0 {
			return "", nil
		}
		line := text[bytes.LastIndexByte(text[:at], '\n')+1 : at]
		if id := o.id(string(line)); id != "" && len(line) == 2*o.Hash {
			return id, nil
		}
		text = text[at+1:]
	}
}

// id returns the object's id with which a text begins.
func (o *Objects) id(text string) string {
	n := 2 * o.Hash
	if len(text) < n || !hexID.MatchString(text[:n]) || len(text) > n && !strings.ContainsRune(" \t\n\r", rune(text[n])) {
		return ""
	}
	return strings.ToLower(text[:n])
}
