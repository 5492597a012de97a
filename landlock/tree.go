package landlock

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// found says what lies at a path of the host.
type found uint8

const (
	absent found = iota
	unreachable
	behindLink // a component before the last is a symbolic link
	link
	directory
	special // a file of any kind that is not a directory
)

// tree looks at the host component by component and remembers. It follows no
// link, whatever the file system does.
type tree struct {
	fs    fs.ReadLinkFS
	known map[string]found
}

func newTree(host fs.ReadLinkFS) *tree {
	return &tree{host, map[string]found{"/": directory}}
}

// name is the path as package io/fs wants it.
func name(path string) string {
	if path == "/" {
		return "."
	}
	return path[1:]
}

func (t *tree) look(path string) found {
	if f, ok := t.known[path]; ok {
		return f
	}
	f := t.lookAfter(t.look(parent(path)), path)
	t.known[path] = f
	return f
}

func (t *tree) lookAfter(above found, path string) found {
	switch above {
	case link, behindLink:
		return behindLink
	case unreachable:
		return unreachable
	case directory:
	default:
		return absent
	}
	info, err := t.fs.Lstat(name(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent
	case err != nil:
		return unreachable
	}
	return classify(info.Mode().Type())
}

func classify(mode fs.FileMode) found {
	switch {
	case mode&fs.ModeSymlink != 0:
		return link
	case mode.IsDir():
		return directory
	}
	return special
}

// list returns the entries of a directory, none if it cannot be read.
func (t *tree) list(dir string) []fs.DirEntry {
	entries, err := fs.ReadDir(t.fs, name(dir))
	if err != nil {
		return nil
	}
	return entries
}

// resolve returns the real path that p leads to, and whether that exists.
func (t *tree) resolve(p string) (string, bool) {
	at, rest := "/", elements(p)
	for links := 0; len(rest) > 0; {
		element := rest[0]
		rest = rest[1:]
		switch element {
		case "", ".":
			continue
		case "..":
			at = parent(at)
			continue
		}
		next := join(at, element)
		switch t.look(next) {
		case absent, unreachable, behindLink:
			return "", false
		case link:
			text, err := t.fs.ReadLink(name(next))
			if links++; err != nil || links > 40 { // path_resolution(7): ELOOP
				return "", false
			}
			if strings.HasPrefix(text, "/") {
				at = "/"
			}
			rest = slices.Concat(strings.Split(text, "/"), rest)
		default:
			at = next
		}
	}
	return at, true
}

// elements splits a clean absolute path.
func elements(path string) []string {
	if path == "/" {
		return nil
	}
	return strings.Split(path[1:], "/")
}

// parent returns the directory that holds path; "/" is its own.
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// contains reports whether path is dir or lies below it.
func contains(dir, path string) bool {
	return dir == "/" || path == dir || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}
