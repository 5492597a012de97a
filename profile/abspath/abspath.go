// Package abspath takes apart absolute paths that are clean in the sense of
// path.Clean, as profiles have them. It looks at no file system.
package abspath

import (
	"strings"
	"syscall"
)

// Join appends a relative path that is clean, too.
func Join(dir, rel string) string {
	if dir == "/" {
		return "/" + rel
	}
	return dir + "/" + rel
}

// Parent is the directory that holds p; "/" is its own.
func Parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

// Base is the last element of p, "" for "/".
func Base(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// Elements splits p; "/" has none.
func Elements(p string) []string {
	if p == "/" {
		return nil
	}
	return strings.Split(p[1:], "/")
}

// Contains reports whether p is dir or below it. Relative clean paths may be compared, too; an
// empty dir contains nothing.
func Contains(dir, p string) bool {
	return dir == "/" || dir != "" && (p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/')
}

// maxLinks is how many symbolic links a path may lead through, as in the kernel (path_resolution(7)).
const maxLinks = 40

// Follow returns the path to which p leads, from left to right as the kernel goes: ".." behind a symbolic link is the
// parent of the link's target. link returns the text of the link at a path with no link above its last element, ""
// where the entry is none or missing. Follow returns the error of link, and ELOOP for too many links. p need not be
// clean.
func Follow(p string, link func(at string) (text string, err error)) (string, error) {
	real, name := "/", ""
	for links := 0; p != ""; {
		name, p, _ = strings.Cut(p, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			real = Parent(real)
			continue
		}
		at := Join(real, name)
		text, err := link(at)
		if err != nil {
			return "", err
		}
		if text == "" {
			real = at
			continue
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		if text[0] == '/' {
			real = "/"
		}
		p = text + "/" + p
	}
	return real, nil
}
