package layer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Name is a path relative to the root of a layer, "." for the root itself. It holds any bytes; JSON has
// it quoted as a Go string.
type Name string

// MarshalText implements encoding.TextMarshaler.
func (n Name) MarshalText() ([]byte, error) { return strconv.AppendQuoteToASCII(nil, string(n)), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It fails where the text is no quoted string.
func (n *Name) UnmarshalText(text []byte) error {
	s, err := strconv.Unquote(string(text))
	*n = Name(s)
	return err
}

// Kind is the kind of a file.
type Kind string

// The kinds. Special files are FIFOs, sockets and devices.
const (
	Absent  Kind = ""
	File    Kind = "file"
	Dir     Kind = "dir"
	Symlink Kind = "symlink"
	Special Kind = "special"
)

// State is one object of a file system.
type State struct {
	Kind   Kind   `json:"kind,omitempty"`
	Mode   uint32 `json:"mode"` // permission, set-id and sticky bits
	UID    uint32 `json:"uid"`
	GID    uint32 `json:"gid"`
	Size   int64  `json:"size,omitempty"`  // of a file
	MTime  int64  `json:"mtime,omitempty"` // nanoseconds since 1970
	Target Name   `json:"target,omitempty"`
	// Hash is the SHA-256 sum of a file's content, in hexadecimal; "" where it was not read.
	Hash string `json:"hash,omitempty"`
	// Xattrs are the attributes that land: user.*, and access control lists.
	Xattrs map[string][]byte `json:"xattrs,omitempty"`

	// Inode, CTime (nanoseconds) and Links identify the object; they are no part of its content.
	Inode uint64 `json:"inode,omitempty"`
	CTime int64  `json:"ctime,omitempty"`
	Links uint64 `json:"links,omitempty"`
}

// Node is one object of a tree. Its path is relative to the tree's top, which has the path ".".
type Node struct {
	Path Name `json:"path"`
	State
}

// Op replaces one name below the root by another object, as a whole.
type Op struct {
	Path Name `json:"path"`
	// Old is the tree that the name holds before, New the one after; its top comes first. Empty: nothing.
	Old []Node `json:"old,omitempty"`
	New []Node `json:"new,omitempty"`
}

// Note is a remark on one path.
type Note struct {
	Path   Name   `json:"path"`
	Reason string `json:"reason"`
}

// Set is a change set: the difference between a root and the layer above it. A Set never changes.
type Set struct {
	// Stamp is the time, by the root's file system, at which the run began.
	Stamp int64 `json:"stamp"`
	Ops   []Op  `json:"ops,omitempty"`
	// Dirs are the changes of directories that exist before and after and keep their identity: parents of Ops, and
	// those with other metadata.
	Dirs []Change `json:"dirs,omitempty"`
	// Conflicts are the paths that somebody else changed since the run began, and those of which no copy can be made. A
	// set that has one does not land.
	Conflicts []Note `json:"conflicts,omitempty"`
	// Skipped are the objects of the layer that never land: FIFOs, sockets and devices, and what git left (git.Passing).
	Skipped []Note `json:"skipped,omitempty"`
	// Altered are the objects that land otherwise than the command left them: without a set-user-ID bit, or
	// no longer as one file with their other hard links.
	Altered []Note `json:"altered,omitempty"`
}

// Change is one path that a set changes. The Kind of Old is Absent where the path is created, that of New where it is
// deleted.
type Change struct {
	Path Name  `json:"path"`
	Old  State `json:"old"`
	New  State `json:"new"`
}

// Judge decides on one change of a landing. An error refuses it, and is the reason that a person reads.
type Judge func(Change) error

// RefusedError lists the changes that a [Judge] refused.
type RefusedError struct{ Refused []Note }

func (e *RefusedError) Error() string { return "refused: " + listed(e.Refused) }

// ConflictError lists the objects of a root that changed since the run began, or since a landing.
type ConflictError struct{ Conflicts []Note }

func (e *ConflictError) Error() string { return "conflict: " + listed(e.Conflicts) }

// listed names the first of several paths.
func listed(notes []Note) string {
	var list []string
	for _, n := range notes[:min(len(notes), 3)] {
		list = append(list, fmt.Sprintf("%q: %s", n.Path, n.Reason))
	}
	if more := len(notes) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}

// Empty reports whether the set changes nothing.
func (s *Set) Empty() bool { return len(s.Ops) == 0 && len(s.Dirs) == 0 }

// Changes returns each changed path, sorted. A directory above changes is one of them only where its metadata other
// than its times changes.
func (s *Set) Changes() []Change { return s.ChangesOf(func(int) bool { return true }) }

// ChangesOf returns the changes of the chosen Ops and then Dirs, by index.
func (s *Set) ChangesOf(chosen func(int) bool) []Change {
	var out []Change
	for i, op := range s.Ops {
		if chosen(i) {
			out = append(out, op.changes()...)
		}
	}
	for k, d := range s.Dirs {
		if chosen(len(s.Ops)+k) && !d.Old.sameMetadata(d.New) {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// changes returns the paths in which the two trees differ.
func (op Op) changes() []Change {
	old := make(map[Name]State, len(op.Old))
	for _, n := range op.Old {
		old[n.Path] = n.State
	}
	var out []Change
	for _, n := range op.New {
		was := old[n.Path]
		delete(old, n.Path)
		same := was.Kind == n.Kind && was.sameMetadata(n.State) && was.Target == n.Target
		if !same || n.Kind == File && (was.Size != n.Size || was.MTime != n.MTime || was.Hash != n.Hash) {
			out = append(out, Change{join(op.Path, n.Path), was, n.State})
		}
	}
	for _, n := range op.Old {
		if _, missing := old[n.Path]; missing {
			out = append(out, Change{join(op.Path, n.Path), n.State, State{}})
		}
	}
	return out
}

// Digest identifies the changes, independent of inodes and of the time of the run. An answer to a question about the
// set is bound to it.
func (s *Set) Digest() string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	bare := func(st State) State { st.Inode, st.CTime, st.Links = 0, 0, 0; return st }
	for _, op := range s.Ops {
		for i, nodes := range [][]Node{op.Old, op.New} {
			for _, n := range nodes {
				_ = enc.Encode([]any{op.Path, i, Node{n.Path, bare(n.State)}}) // a hash does not fail
			}
		}
	}
	for _, d := range s.Dirs {
		_ = enc.Encode([]any{d.Path, bare(d.Old), bare(d.New)})
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// sameMetadata compares mode, owner and attributes.
func (s State) sameMetadata(t State) bool {
	if s.Kind != t.Kind || s.UID != t.UID || s.GID != t.GID || s.Kind != Symlink && s.Mode != t.Mode ||
		len(s.Xattrs) != len(t.Xattrs) {
		return false
	}
	for name, value := range s.Xattrs {
		if other, ok := t.Xattrs[name]; !ok || string(other) != string(value) {
			return false
		}
	}
	return true
}

// Below returns a path relative to base as one relative to the root.
func (n Name) Below(base Name) Name { return join(base, n) }

// join returns rel below base.
func join(base, rel Name) Name {
	switch {
	case base == ".":
		return rel
	case rel == ".":
		return base
	}
	return base + "/" + rel
}
