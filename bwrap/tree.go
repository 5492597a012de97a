package bwrap

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// found says what lies at a path of the host.
type found uint8

const (
	absent      found = iota
	unreachable       // may not be looked at; then the sandbox may not either
	behindLink        // a component before the last is a symbolic link
	link
	directory
	device
	socket
	file // anything else
)

// tree looks at the host through [Host.FS], component by component, and
// remembers. It follows no link, whatever FS does.
type tree struct {
	fs     fs.ReadLinkFS
	known  map[string]found
	lists  map[string][]fs.DirEntry
	closed []string // directories that could not be listed
}

func newTree(host fs.ReadLinkFS) *tree {
	return &tree{fs: host, known: map[string]found{"/": directory}, lists: map[string][]fs.DirEntry{}}
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
	case mode&fs.ModeDevice != 0:
		return device
	case mode&fs.ModeSocket != 0:
		return socket
	}
	return file
}

// list returns the entries of a directory, none if it cannot be read.
func (t *tree) list(dir string) []fs.DirEntry {
	if entries, ok := t.lists[dir]; ok {
		return entries
	}
	entries, err := fs.ReadDir(t.fs, name(dir))
	if err != nil {
		entries = nil
		t.closed = append(t.closed, dir)
	}
	t.lists[dir] = entries
	return entries
}

// shared reports whether a file has more names than this one. A file system
// says so with a method Links on its FileInfo, as that of [HostFS] does.
func (t *tree) shared(path string) bool {
	info, err := t.fs.Lstat(name(path))
	if err != nil {
		return false
	}
	counted, ok := info.(interface{ Links() uint64 })
	return ok && counted.Links() > 1
}

// target is the text of a symbolic link.
func (t *tree) target(path string) (string, bool) {
	text, err := t.fs.ReadLink(name(path))
	return text, err == nil && text != ""
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
			text, ok := t.target(next)
			if links++; !ok || links > 40 { // path_resolution(7): ELOOP
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

// seen returns the directories whose entries were looked at.
func (t *tree) seen() []string {
	dirs := map[string]bool{}
	for path := range t.known {
		dirs[parent(path)] = true
	}
	for dir := range t.lists {
		dirs[dir] = true
	}
	return slices.Sorted(maps.Keys(dirs))
}
