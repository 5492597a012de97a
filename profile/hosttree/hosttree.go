// Package hosttree finds the entries of a host at a profile's paths, for the compilers of
// mechanisms that work on real files.
package hosttree

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"sandboxd/profile/abspath"
)

// Found is the kind of entry at a path of the host.
type Found uint8

const (
	Absent      Found = iota
	Unreachable       // may not be looked at; then the sandbox may not either
	BehindLink        // a component before the last is a symbolic link
	Link
	Directory
	Device
	Socket
	Pipe // a FIFO
	File // anything else
)

// IsFile reports whether it is a file of any kind but a directory or link.
func (f Found) IsFile() bool { return f == Device || f == Socket || f == Pipe || f == File }

// Tree reads a host component by component, and caches. It follows no link, on any file system. It
// is for one goroutine.
type Tree struct {
	fs     fs.ReadLinkFS
	known  map[string]Found
	lists  map[string][]fs.DirEntry
	closed []string
}

// New looks through a file system whose root is the host's.
func New(host fs.ReadLinkFS) *Tree {
	return &Tree{fs: host, known: map[string]Found{"/": Directory}, lists: map[string][]fs.DirEntry{}}
}

// name is the path as package io/fs wants it.
func name(path string) string {
	if path == "/" {
		return "."
	}
	return path[1:]
}

func (t *Tree) Look(path string) Found {
	if f, ok := t.known[path]; ok {
		return f
	}
	f := t.lookAfter(t.Look(abspath.Parent(path)), path)
	t.known[path] = f
	return f
}

func (t *Tree) lookAfter(above Found, path string) Found {
	switch above {
	case Link, BehindLink:
		return BehindLink
	case Unreachable:
		return Unreachable
	case Directory:
	default:
		return Absent
	}
	info, err := t.fs.Lstat(name(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Absent
	case err != nil:
		return Unreachable
	}
	return Kind(info.Mode().Type())
}

// Kind returns the kind of a file of this type.
func Kind(mode fs.FileMode) Found {
	switch {
	case mode&fs.ModeSymlink != 0:
		return Link
	case mode.IsDir():
		return Directory
	case mode&fs.ModeDevice != 0:
		return Device
	case mode&fs.ModeSocket != 0:
		return Socket
	case mode&fs.ModeNamedPipe != 0:
		return Pipe
	}
	return File
}

// List returns the entries of a directory, none if it cannot be read.
func (t *Tree) List(dir string) []fs.DirEntry {
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

// Closed are the directories that could not be listed.
func (t *Tree) Closed() []string { return t.closed }

// Shared reports whether a file has more names than this one. A file system
// says so with a method Links on its FileInfo.
func (t *Tree) Shared(path string) bool {
	info, err := t.fs.Lstat(name(path))
	if err != nil {
		return false
	}
	counted, ok := info.(interface{ Links() uint64 })
	return ok && counted.Links() > 1
}

// Barred reports whether a directory's permissions admit only its owner, who is not uid 0. A file
// system names the owner with a method Owner on its FileInfo.
func (t *Tree) Barred(dir string) bool {
	info, err := t.fs.Lstat(name(dir))
	if err != nil {
		return false
	}
	owned, ok := info.(interface{ Owner() uint32 })
	return ok && owned.Owner() != 0 && info.Mode().Perm()&0o011 == 0
}

// Others reports whether a regular file is another user's than uid, and its permissions admit neither group nor others,
// nor anybody whom an access control list names: its mask are the group's bits (acl(5)).
func (t *Tree) Others(path string, uid int) bool {
	info, err := t.fs.Lstat(name(path))
	if err != nil {
		return false
	}
	owned, ok := info.(interface{ Owner() uint32 })
	return ok && int(owned.Owner()) != uid && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0
}

// Target is the text of a symbolic link.
func (t *Tree) Target(path string) (string, bool) {
	text, err := t.fs.ReadLink(name(path))
	return text, err == nil && text != ""
}

// Resolve returns the real path that p leads to, and whether that exists.
func (t *Tree) Resolve(p string) (string, bool) {
	real, err := abspath.Follow(p, func(at string) (string, error) {
		switch t.Look(at) {
		case Absent, Unreachable, BehindLink:
			return "", fs.ErrNotExist
		case Link:
			if text, ok := t.Target(at); ok {
				return text, nil
			}
			return "", fs.ErrNotExist
		}
		return "", nil
	})
	return real, err == nil
}

// Seen returns the directories whose entries were looked at, sorted.
func (t *Tree) Seen() []string {
	dirs := map[string]bool{}
	for path := range t.known {
		dirs[abspath.Parent(path)] = true
	}
	for dir := range t.lists {
		dirs[dir] = true
	}
	return slices.Sorted(maps.Keys(dirs))
}
