// Package snapshot describes a project at one moment, so that a direct run can be undone as a whole:
// everything that the run created, modified or deleted becomes its state from before. Each turn of
// the run's session compares, and begins with a snapshot of its own.
//
//	before, err := snapshot.NewReader(file) // a manifest: files/worker walks, files/store keeps the content
//	after, err := snapshot.NewReader(other) // the same, after the run
//	steps, changes, err := snapshot.Steps(before.Root, before, after)
//	err = store.KeepRun(record, steps, project)
//
// A manifest is a stream of entries in the order of Compare, so that a reader holds one entry at a
// time, and memory grows with the difference of two manifests only. This package is pure. A worker
// inside the session's sandbox walks the project, so a snapshot holds
// the entries that a command of the session can reach, and no hidden file.
//
// # Coverage
//
// A manifest holds tracked and untracked files, empty directories, symbolic links, git directories
// with their objects, and ignored files. Dependencies' and build trees without a tracked file are
// skipped (see Skips). Everything else that could not be read is in LeftOut: a run is covered by a
// manifest only where LeftOut is empty.
//
// # Incremental
//
// An entry whose device, inode, change time, size and owner are those of the base manifest is not
// read again, unless it is Racy: its change time was within 20 ms of the reading, or a process had it
// open for writing or mapped, so that an equal change time does not prove equal content.
//
// # Limitations
//
// The change set of a run is the difference between two moments. Changes that another process made
// between them count as the run's.
//
// FIFOs, sockets and devices hold no content: a manifest notes them, and undo does not make them
// again. Undo leaves created git objects in place, unless their repository was created, too. A name of a
// file with several names becomes a file of its own.
package snapshot

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"sandboxd/files"
)

// Entry is one name of the project.
type Entry struct {
	// Path is relative to the root, and in any bytes; "" is the root.
	Path string
	// State is zero for an entry that the snapshot lacks.
	State files.State
	// Device, Inode and ChangeTime (nanoseconds) are the key of an incremental reading.
	Device, Inode uint64
	ChangeTime    int64
	// Racy: an equal key does not prove equal content.
	Racy bool
	// Partial: the snapshot lacks the entry, or, of a directory with a state, its names.
	Partial bool
}

// Unread reports whether the content of a file is not known yet.
func (e Entry) Unread() bool { return e.State.Kind == files.File && e.State.Hash == "" }

// Same reports whether two entries agree in everything.
func (e Entry) Same(f Entry) bool {
	return e.Path == f.Path && e.Device == f.Device && e.Inode == f.Inode && e.ChangeTime == f.ChangeTime &&
		e.Racy == f.Racy && e.Partial == f.Partial && equal(e.State, f.State)
}

// lacking reports whether the snapshot has the entry's name only.
func (e Entry) lacking() bool { return e.State.Kind == "" }

// Summary describes a manifest as a whole.
type Summary struct {
	Entries int
	// LeftOut names, one reason each, everything that the snapshot lacks; Skipped are the
	// dependencies' and build trees. Both are cut at maxNamed.
	LeftOut, Skipped []string
}

// Bounds of a snapshot.
const (
	MaxEntries = 100_000
	maxNamed   = 50
)

// LeaveOut notes an entry that the snapshot lacks.
func (s *Summary) LeaveOut(rel, why string) {
	if len(s.LeftOut) < maxNamed {
		s.LeftOut = append(s.LeftOut, strings.ToValidUTF8(rel, "\ufffd")+": "+why)
	}
}

// Skip notes a dependencies' or build tree.
func (s *Summary) Skip(rel string) {
	if len(s.Skipped) < maxNamed {
		s.Skipped = append(s.Skipped, strings.ToValidUTF8(rel, "\ufffd"))
	}
}

// Same reports whether two summaries agree.
func (s Summary) Same(t Summary) bool {
	return s.Entries == t.Entries && slices.Equal(s.LeftOut, t.LeftOut) && slices.Equal(s.Skipped, t.Skipped)
}

// Compare orders paths as a walk visits them that sorts the names of each directory.
func Compare(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		switch x, y := a[i], b[i]; {
		case x == y:
		case x == '/' || y != '/' && x < y:
			return -1
		default:
			return 1
		}
	}
	return len(a) - len(b)
}

// below reports whether a path is dir or in it.
func below(dir, rel string) bool {
	return rel == dir || dir == "" || len(rel) > len(dir) && rel[len(dir)] == '/' && rel[:len(dir)] == dir
}

// equal compares everything that undo restores.
func equal(a, b files.State) bool {
	if !a.Same(b) || a.Kind == files.Other && a.Mode != b.Mode {
		return false
	}
	return a.ModTime == b.ModTime && maps.EqualFunc(a.Xattrs, b.Xattrs, bytes.Equal)
}

// skipped are the names of dependencies', build and cache directories. A name that other directories
// have, too, needs one of the files named, beside the directory or (with the directory's name) in it.
var skipped = map[string][]string{
	"node_modules": nil, "bower_components": nil, "__pycache__": nil, ".tox": nil, ".nox": nil, ".mypy_cache": nil,
	".pytest_cache": nil, ".ruff_cache": nil, ".gradle": nil, ".next": nil, ".nuxt": nil, ".svelte-kit": nil,
	".turbo": nil, ".parcel-cache": nil, ".terraform": nil, ".eggs": nil, ".zig-cache": nil, ".dart_tool": nil,
	".venv": {".venv/pyvenv.cfg"}, "venv": {"venv/pyvenv.cfg"}, "virtualenv": {"virtualenv/pyvenv.cfg"},
	"target": {"Cargo.toml", "pom.xml", "build.sbt"}, "vendor": {"go.mod", "composer.json", "Gemfile"},
}

// Skips reports whether a directory, by its path from the repository's top, is a dependencies' or
// build tree: it has the name of one, and the repository's index (gitformat-index(5)), which is asked
// for only then, has no file below it. An index that does not list whole paths (version 4, a split one)
// tracks everything. has reports whether a file exists, by its path from the directory around.
func Skips(rel string, indexOf func() []byte, has func(name string) bool) bool {
	evidence, named := skipped[path.Base(rel)]
	if !named || len(evidence) > 0 && !slices.ContainsFunc(evidence, has) {
		return false
	}
	index := indexOf()
	if len(index) < 12 {
		return true
	}
	return index[7] < 4 && !bytes.Contains(index, []byte("link\x00\x00")) && !bytes.Contains(index, []byte(rel+"/"))
}

// InObjects reports whether a path is below a git directory's objects, which git only adds to, or
// deletes when others replace them.
func InObjects(rel string) bool {
	_, inside, ok := strings.Cut("/"+rel, "/.git/")
	return ok && strings.Contains("/"+inside, "/objects/")
}
