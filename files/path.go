package files

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of names and paths, as the kernel has them (limits.h NAME_MAX,
// PATH_MAX with its NUL).
const (
	maxName = 255
	maxPath = 4095
)

// cleanPath checks a requested path and returns its shortest form. dir reports a slash at its end.
// It follows no link: ".." cancels the name before it, and the worker finds the meaning in the real
// tree.
func cleanPath(p string) (clean string, dir bool, c *Conflict) {
	bad := func(found, hint string) (string, bool, *Conflict) {
		return "", false, &Conflict{Path: p, Reason: BadPath, Found: found, Hint: hint}
	}
	switch {
	case p == "":
		return bad("an empty path", "name a file")
	case !utf8.ValidString(p):
		return bad("bytes that are not UTF-8", "such a name cannot be shown to a person; rename it by a command")
	case len(p) > maxPath:
		return bad("a path longer than 4095 bytes", "")
	case p == "~" || strings.HasPrefix(p, "~/"):
		return bad("\"~\", which is not expanded here", "write the folder in full, or \"./~\" for a file of that name")
	}
	for _, r := range p {
		if unicode.IsControl(r) {
			return bad("a control character", "such a name cannot be shown to a person; rename it by a command")
		}
	}
	for part := range strings.SplitSeq(p, "/") {
		if len(part) > maxName {
			return bad("a name longer than 255 bytes", "")
		}
	}
	last := p[strings.LastIndexByte(p, '/')+1:]
	dir = last == "" || last == "." || last == ".."
	return path.Clean(p), dir, nil
}

// fold brings a name into a form in which names are equal that some file
// system takes for the same: case is ignored (APFS, NTFS, ext4 with casefold),
// and so are characters without a width (HFS+; the list is git's own,
// utf8.c:next_hfs_char).
func fold(name string) string {
	if isPlain(name) {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return unicode.ToLower(least)
	}, name)
}

func isPlain(name string) bool {
	for i := range len(name) {
		if c := name[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return true
}

// below reports whether p is dir or below it; both are clean.
func below(dir, p string) bool {
	return p == dir || dir == "/" || dir == "." && !strings.HasPrefix(p, "/") || strings.HasPrefix(p, dir+"/")
}
