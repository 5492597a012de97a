package files

import (
	"encoding/binary"
	"strings"
)

// State is the entry at a path before or after a change, as far as undo can restore it.
type State struct {
	Kind    Kind   `json:"kind"`
	Mode    uint32 `json:"mode,omitempty"` // permission bits, set-id and sticky
	UID     uint32 `json:"uid,omitempty"`
	GID     uint32 `json:"gid,omitempty"`
	Size    int64  `json:"size,omitempty"`
	ModTime int64  `json:"mod_time,omitempty"` // nanoseconds since 1970
	Hash    string `json:"hash,omitempty"`     // of a file's content
	Target  string `json:"target,omitempty"`   // of a symbolic link
	// Xattrs are extended attributes, access control lists among them.
	Xattrs map[string][]byte `json:"xattrs,omitempty"`
}

// Same reports whether two states agree in kind, content, mode and owner, which means "not changed
// since". Times don't count: touch changes nothing.
func (s State) Same(t State) bool {
	if s.Kind != t.Kind {
		return false
	}
	switch s.Kind {
	case Absent:
		return true
	case Symlink:
		return s.Target == t.Target
	case File:
		if s.Hash != t.Hash || s.Size != t.Size {
			return false
		}
	}
	return s.Mode == t.Mode && s.UID == t.UID && s.GID == t.GID
}

// StepKind is the kind of one step of a change.
type StepKind string

const (
	// PutStep makes a file or symbolic link appear, or replaces one.
	PutStep StepKind = "put"
	// RemoveStep takes a file or symbolic link away.
	RemoveStep StepKind = "remove"
	// MkdirStep and RmdirStep make and take away an empty folder.
	MkdirStep StepKind = "mkdir"
	RmdirStep StepKind = "rmdir"
	// RenameStep moves a file, link or folder to another name.
	RenameStep StepKind = "rename"
	// AttrStep changes mode, owner, attributes or modification time of a folder.
	AttrStep StepKind = "attr"
)

// Step is one change of one name, as the worker announces it before it makes
// it, and as the undo store remembers it.
type Step struct {
	Kind StepKind `json:"kind"`
	// Path and To (of a rename) are absolute and real.
	Path string `json:"path"`
	To   string `json:"to,omitempty"`
	// Before and After are the states of Path. For a rename Before is the state of Path, which To
	// has afterwards, and After is absent.
	Before State `json:"before"`
	After  State `json:"after"`
	// Displaced is the state of To before a rename; nil for none.
	Displaced *State `json:"displaced,omitempty"`
	// Temp is the name beside Path that the change uses for a moment. Where a
	// change was cut off, it may still be there.
	Temp string `json:"temp,omitempty"`
	// ParentTime and ToParentTime are the folders' modification times before,
	// in nanoseconds.
	ParentTime   int64 `json:"parent_time,omitempty"`
	ToParentTime int64 `json:"to_parent_time,omitempty"`
}

// Content returns the state whose content the change would lose: replaced by a put, removed, or
// displaced by a rename. ok is false where there is none.
func (s Step) Content() (State, bool) {
	switch {
	case s.Kind == RenameStep && s.Displaced != nil:
		return *s.Displaced, s.Displaced.Kind == File
	case s.Kind == PutStep || s.Kind == RemoveStep:
		return s.Before, s.Before.Kind == File
	}
	return State{}, false
}

// SetIDBits are the bits of a mode by which a program runs as its owner or group, and a directory hands on its group.
const SetIDBits = 0o6000

const setGroupID = 0o2000

// Unrestorable names what of a file or folder no worker can make again: its system call filter refuses set-ID bits, but
// for the set-group-ID bit of a folder, and its user namespace has no number for other users of an access control list.
// "" where there is nothing.
func (s State) Unrestorable() string {
	switch {
	case s.Kind != File && s.Kind != Dir:
		return ""
	case s.Kind == Dir && s.Mode&SetIDBits == setGroupID:
	case s.Mode&SetIDBits != 0:
		return "its set-user-ID and set-group-ID bits"
	}
	for name, value := range s.Xattrs {
		if ForeignACL(name, value) {
			return "its access control list, which names another user"
		}
	}
	return ""
}

// ForeignACL reports whether an attribute is an access control list (linux/posix_acl_xattr.h) that names a user or
// group without a number in the user namespace in which it was read.
func ForeignACL(name string, value []byte) bool {
	if !strings.HasPrefix(name, "system.posix_acl_") {
		return false
	}
	const user, group, none = 0x02, 0x08, 1<<32 - 1
	for at := 4; at+8 <= len(value); at += 8 {
		tag := binary.LittleEndian.Uint16(value[at:])
		if (tag == user || tag == group) && binary.LittleEndian.Uint32(value[at+4:]) == none {
			return true
		}
	}
	return false
}
