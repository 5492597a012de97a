package files

// Op is an operation of the file tool.
type Op string

// The operations of R-FS-02. Write creates or overwrites, as the file demands.
const (
	Read      Op = "read"
	List      Op = "list"
	Stat      Op = "stat"
	Grep      Op = "grep"
	Create    Op = "create"
	Write     Op = "write"
	Edit      Op = "edit"
	MultiEdit Op = "multi-edit"
	Append    Op = "append"
	Insert    Op = "insert"
	Delete    Op = "delete"
	Move      Op = "move"
	Copy      Op = "copy"
	Mkdir     Op = "mkdir"
	Rmdir     Op = "rmdir"
	Undo      Op = "undo"
)

// ops are all operations that a request may name, undo aside, which names a
// record and not a path.
func ops() []Op {
	return []Op{Read, List, Stat, Grep, Create, Write, Edit, MultiEdit, Append, Insert, Delete, Move, Copy, Mkdir, Rmdir}
}

// Reads reports whether the operation leaves everything as it is.
func (o Op) Reads() bool { return o == Read || o == List || o == Stat || o == Grep }

// hasTo reports whether the operation has a second path.
func (o Op) hasTo() bool { return o == Move || o == Copy }

// Request is one call of the file tool. Which fields count depends on Op; the
// others are ignored.
type Request struct {
	Op Op `json:"op"`
	// Path is absolute, or relative to the project. To is the second path of
	// move and copy.
	Path string `json:"path"`
	To   string `json:"to,omitempty"`

	// Content is the text of create, write, append and insert. It travels beside the request, not
	// in it.
	Content []byte `json:"-"`
	// Exact keeps Content's line ends. Otherwise content that has only "\n"
	// follows a file that has only "\r\n".
	Exact bool `json:"exact,omitempty"`
	// Edits: edit has one, multi-edit one or more, all or nothing, each applied
	// to the outcome of the one before.
	Edits []Replacement `json:"edits,omitempty"`
	// Insert: beside the only match of Anchor, or where that is empty beside
	// line Line, counted from 1; after it, or Before. Line 0 with Before is the
	// start of the file, without it the end.
	Anchor string `json:"anchor,omitempty"`
	Line   int    `json:"line,omitempty"`
	Before bool   `json:"before,omitempty"`

	// Offset and Limit: read, in bytes. Limit alone: list and grep, in entries.
	// 0 is the built-in limit.
	Offset int64 `json:"offset,omitempty"`
	Limit  int64 `json:"limit,omitempty"`
	// Pattern: grep, a regular expression (RE2). Glob: list and grep, only base
	// names that match. Context: grep, lines before and after.
	Pattern string `json:"pattern,omitempty"`
	Glob    string `json:"glob,omitempty"`
	Context int    `json:"context,omitempty"`
	// Recursive: list and grep descend; rmdir removes the folder's entries, too.
	Recursive bool `json:"recursive,omitempty"`

	// IfHash refuses unless the file's content has this hash, as Read and
	// every change return it.
	IfHash string `json:"if_hash,omitempty"`
	// Mode are permission bits for create and mkdir; 0 is the default less the umask.
	Mode uint32 `json:"mode,omitempty"`
	// Parents makes missing folders on the way (create, write, move, copy, mkdir).
	Parents bool `json:"parents,omitempty"`
	// Quiet leaves content out of conflicts, where reading would ask.
	Quiet bool `json:"quiet,omitempty"`
}

// Replacement replaces Find by Replace; Find must occur exactly Count times; 0 means once.
type Replacement struct {
	Find    string `json:"find"`
	Replace string `json:"replace"`
	Count   int    `json:"count,omitempty"`
}

// Times is how often Find must occur.
func (r Replacement) Times() int {
	if r.Count == 0 {
		return 1
	}
	return r.Count
}

// Result is the result of an operation.
type Result struct {
	// Path and To are absolute and free of symbolic links.
	Path string `json:"path"`
	To   string `json:"to,omitempty"`
	// Content is the result of read; it travels beside the result.
	Content []byte `json:"-"`
	// Binary: the content is not UTF-8 text.
	Binary bool `json:"binary,omitempty"`
	// Hash and Size are of the whole file as it is now. A file larger than
	// MaxFile has no hash.
	Hash string `json:"hash,omitempty"`
	Size int64  `json:"size,omitempty"`
	// Truncated: there is more than was returned, by Limit or a built-in bound.
	Truncated bool    `json:"truncated,omitempty"`
	Info      *Info   `json:"info,omitempty"`
	Entries   []Info  `json:"entries,omitempty"`
	Matches   []Match `json:"matches,omitempty"`
	// Skipped counts the files that grep did not search, by reason: "binary", "too large", "hard
	// link", "special", "suffix", "unreadable"; and the folders that grep or list did not enter:
	// "unreadable folder", "deep folder".
	Skipped map[string]int `json:"skipped,omitempty"`
	// Changed is false where a change would have left everything as it was;
	// then nothing was written and there is nothing to undo.
	Changed bool `json:"changed,omitempty"`
	// Left names what an undo of the rest left out, and why.
	Left []string `json:"left,omitempty"`
	// Replaced counts replacements of edits.
	Replaced int `json:"replaced,omitempty"`
}

// Info is one entry of a folder, or the result of stat.
type Info struct {
	Path    string `json:"path"` // absolute
	Kind    Kind   `json:"kind"`
	Size    int64  `json:"size"`
	Mode    uint32 `json:"mode"`     // permission bits, set-id and sticky as in chmod(2)
	ModTime int64  `json:"mod_time"` // nanoseconds since 1970
	Links   uint64 `json:"links,omitempty"`
	Target  string `json:"target,omitempty"` // of a symbolic link
}

// Match is one line that grep found, or with Context one beside it.
type Match struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Text    string `json:"text"`
	Context bool   `json:"context,omitempty"`
	// Clipped: the line is longer than Text.
	Clipped bool `json:"clipped,omitempty"`
}

// toolName is the name under which the operation is asked about, logged
// and granted: that of the source specification where it has one.
func (r Request) toolName(exists bool) string {
	switch r.Op {
	case Write:
		if exists {
			return "file_create_overwrite"
		}
		return "file_create"
	case MultiEdit:
		return "file_multi_edit"
	case Insert:
		if r.Before {
			return "file_insert_before"
		}
		return "file_insert_after"
	}
	return "file_" + string(r.Op)
}
