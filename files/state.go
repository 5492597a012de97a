package files

// State is what a path held before or holds after a change, in so far as undo
// can bring it back.
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

// Same reports whether two states agree in kind, content, mode and owner: what
// makes a file "not changed since". Times are left out; a touch changes nothing.
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

// StepKind is what one step of a change does.
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
)

// Step is one change of one name, as the worker announces it before it makes
// it, and as the undo store remembers it.
type Step struct {
	Kind StepKind `json:"kind"`
	// Path and To (of a rename) are absolute and real.
	Path string `json:"path"`
	To   string `json:"to,omitempty"`
	// Before and After are of Path. For a rename Before is what Path held,
	// which To holds afterwards, and After is absent.
	Before State `json:"before"`
	After  State `json:"after"`
	// Displaced is what To held before a rename; nil for nothing.
	Displaced *State `json:"displaced,omitempty"`
	// Temp is the name beside Path that the change uses for a moment. Where a
	// change was cut off, it may still be there.
	Temp string `json:"temp,omitempty"`
	// ParentTime and ToParentTime are the folders' modification times before,
	// in nanoseconds.
	ParentTime   int64 `json:"parent_time,omitempty"`
	ToParentTime int64 `json:"to_parent_time,omitempty"`
}

// Content returns the state whose content the change would lose: what a put or
// remove replaces, or what a rename displaces. ok is false where there is none.
func (s Step) Content() (State, bool) {
	switch {
	case s.Kind == RenameStep && s.Displaced != nil:
		return *s.Displaced, s.Displaced.Kind == File
	case s.Kind == PutStep || s.Kind == RemoveStep:
		return s.Before, s.Before.Kind == File
	}
	return State{}, false
}
