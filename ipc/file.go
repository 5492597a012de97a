package ipc

import "time"

// fileOps are the operations of POST /v1/files/{op}.
var fileOps = []string{
	"read", "list", "stat", "grep",
	"create", "write", "edit", "multi-edit", "append", "insert",
	"delete", "move", "copy", "mkdir", "rmdir", "undo",
}

// fileReads are those that change nothing.
var fileReads = fileOps[:4]

// FileRequest is the body of POST /v1/files/{op}. Which fields count depends on Op.
type FileRequest struct {
	Op      string `json:"-"`       // from the path
	Session string `json:"session"` // an approver, who may undo runs, gives none
	CallID  string `json:"call_id,omitempty"`
	Path    string `json:"path,omitempty"`
	To      string `json:"to,omitempty"`      // move, copy
	Content string `json:"content,omitempty"` // create, write, append, insert
	// of Content and of the result: "utf-8" (also "") or "base64"
	Encoding       string      `json:"encoding,omitempty"`
	Edits          []Edit      `json:"edits,omitempty"`   // edit: one; multi-edit: all or nothing
	Anchor         string      `json:"anchor,omitempty"`  // insert: the text beside which it goes
	Line           int         `json:"line,omitempty"`    // insert: or the line, from 1
	Before         bool        `json:"before,omitempty"`  // insert: before it, not after
	Offset         int64       `json:"offset,omitempty"`  // read: bytes to skip
	Limit          int64       `json:"limit,omitempty"`   // read: bytes; list, grep: entries
	Pattern        string      `json:"pattern,omitempty"` // grep: regular expression (RE2)
	Glob           string      `json:"glob,omitempty"`    // grep, list: only names that match
	Recursive      bool        `json:"recursive,omitempty"`
	IfHash         string      `json:"if_hash,omitempty"`    // refuse unless the file's content has this hash
	Mode           uint32      `json:"mode,omitempty"`       // create, mkdir: permission bits
	Parents        bool        `json:"parents,omitempty"`    // make missing folders on the way
	Exact          bool        `json:"exact,omitempty"`      // keep the line ends of Content as they are
	Context        int         `json:"context,omitempty"`    // grep: lines before and after
	UndoID         string      `json:"undo_id,omitempty"`    // undo: the change; "last"; empty with dry_run: list them
	OfSession      string      `json:"of_session,omitempty"` // undo, listing: only that session's
	Force          bool        `json:"force,omitempty"`      // undo: although something has changed since
	Rest           bool        `json:"rest,omitempty"`       // undo: leave out what has changed since
	Paths          []string    `json:"paths,omitempty"`      // undo: only these, and what is below them
	DryRun         bool        `json:"dry_run,omitempty"`
	Inline         bool        `json:"inline,omitempty"`
	Description    string      `json:"description,omitempty"`
	IdempotencyKey string      `json:"idempotency_key,omitempty"`
	Batch          *BatchPlace `json:"batch,omitempty"`
}

// Edit replaces Find by Replace, which must occur exactly Count times (0: once).
type Edit struct {
	Find    string `json:"find"`
	Replace string `json:"replace"`
	Count   int    `json:"count,omitempty"`
}

// FileResult answers POST /v1/files/{op}. A refusal is an [Error] with the
// code denied, blocked or timeout, not a FileResult.
type FileResult struct {
	ID          string       `json:"id,omitempty"`      // of the record
	UndoID      string       `json:"undo_id,omitempty"` // brings the old state back
	Decision    string       `json:"decision"`
	Why         string       `json:"why,omitempty"`
	Rule        string       `json:"rule,omitempty"`
	Path        string       `json:"path,omitempty"` // real path
	To          string       `json:"to,omitempty"`
	Content     string       `json:"content,omitempty"`
	Encoding    string       `json:"encoding,omitempty"`
	Binary      bool         `json:"binary,omitempty"`
	Hash        string       `json:"hash,omitempty"` // of the whole content as it is now
	Size        int64        `json:"size,omitempty"` // of the whole content
	Truncated   bool         `json:"truncated,omitempty"`
	Changed     bool         `json:"changed,omitempty"`  // false: everything was so already
	Replaced    int          `json:"replaced,omitempty"` // by edits
	Diff        string       `json:"diff,omitempty"`     // of a dry run: the diff for a person
	Files       []HeldFile   `json:"files,omitempty"`    // of an undo with dry_run: its steps
	Info        *FileInfo    `json:"info,omitempty"`
	Entries     []FileInfo   `json:"entries,omitempty"`
	Matches     []Match      `json:"matches,omitempty"`
	Skipped     []Skipped    `json:"skipped,omitempty"` // by grep and list
	Changes     []Change     `json:"changes,omitempty"` // of an undo with dry_run and no id, the latest first
	Enforcement *Enforcement `json:"enforcement,omitempty"`
	Warnings    []Warning    `json:"warnings,omitempty"`
}

// FileConflict is why a file operation could not be done as things are. Where
// it comes with an error, nothing was changed.
type FileConflict struct {
	// missing, exists, changed, no_match, wrong_count, binary, encoding, too_large, outside, forbidden, …
	Reason   string `json:"reason"`
	Path     string `json:"path,omitempty"`
	Expected string `json:"expected,omitempty"`
	Found    string `json:"found,omitempty"`
	Line     int    `json:"line,omitempty"`    // of Nearest
	Nearest  string `json:"nearest,omitempty"` // the text most similar to the searched one
	Hint     string `json:"hint,omitempty"`
	Hash     string `json:"hash,omitempty"` // of the content as it is
	Edit     int    `json:"edit,omitempty"` // the number of the edit that failed, from 1
}

// FileInfo is one file.
type FileInfo struct {
	Path    string    `json:"path"`
	Type    string    `json:"type"` // file, dir, symlink, other
	Size    int64     `json:"size"`
	Mode    uint32    `json:"mode"`
	ModTime time.Time `json:"mod_time"`
	Target  string    `json:"target,omitempty"` // of a symlink
}

// Match is one line that grep found.
type Match struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Text    string `json:"text"`
	Context bool   `json:"context,omitempty"` // a line beside one that was found
	Clipped bool   `json:"clipped,omitempty"` // the line is longer
}

// Skipped counts files that grep did not search, and folders that grep or list did not go into.
type Skipped struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// Change is one that can be undone, or was.
type Change struct {
	ID       string    `json:"id"`
	Session  string    `json:"session,omitempty"`
	Time     time.Time `json:"time"`
	Op       string    `json:"op"` // of the file tool, or "quarantine", "run"
	What     []string  `json:"what,omitempty"`
	Undoes   string    `json:"undoes,omitempty"`    // it took that change back
	UndoneBy string    `json:"undone_by,omitempty"` // it was taken back by that one
	Guarded  bool      `json:"guarded,omitempty"`   // only a person's yes takes it back
	Note     string    `json:"note,omitempty"`
	Project  string    `json:"project,omitempty"`
	Exec     string    `json:"exec,omitempty"` // of a run: the command's id
}

// HeldChanges is the answer of GET /v1/changes, the latest first.
type HeldChanges struct {
	Changes []HeldChange `json:"changes"`
}

// HeldChange is what a command wrote to its layer and what has not landed in the project.
type HeldChange struct {
	ID        string    `json:"id"`
	Exec      string    `json:"exec"` // the command's id
	Session   string    `json:"session,omitempty"`
	Project   string    `json:"project"`
	Time      time.Time `json:"time"`
	Command   string    `json:"command"`
	Why       string    `json:"why"` // it is held
	Digest    string    `json:"digest"`
	Created   []string  `json:"created,omitempty"`   // paths; at most 1000 of each kind
	Modified  []string  `json:"modified,omitempty"`  // paths
	Deleted   []string  `json:"deleted,omitempty"`   // paths
	Count     int       `json:"count"`               // of all its paths
	Conflicts []string  `json:"conflicts,omitempty"` // paths that somebody else changed since the command began, and how
	// of GET /v1/changes/{id}: the steps of a landing, at most 1000, for a person
	Files []HeldFile `json:"files,omitempty"`
}

// HeldFile is one path of a change set.
type HeldFile struct {
	Path string `json:"path"`
	What string `json:"what"` // the step in words
	// Kind says how to read Content: "diff", "file_content" (of a new file) or "text"; "" where What says everything,
	// and where the files before it were too large.
	Kind    string `json:"kind,omitempty"`
	Content string `json:"content,omitempty"`
	Added   int    `json:"added,omitempty"` // lines
	Removed int    `json:"removed,omitempty"`
}

// ChangeSet is the change set of a command in an event of the type changes or landed. The counts are those of its
// paths; of a landing, of the paths that landed with it.
type ChangeSet struct {
	ID      string `json:"id"` // of /v1/changes/{id} while it is held; of what is direct or undone, that of its undo
	Session string `json:"session,omitempty"`
	Exec    string `json:"exec"` // the command's id
	Project string `json:"project"`
	Digest  string `json:"digest,omitempty"` // of a layered run's
	// State is asked (a question about its landing is open), held, stale (it never lands: one that its command saw was
	// dropped), dropped, landed, direct (a direct run made it in the project) or undone (whole or in part).
	State    string `json:"state"`
	Why      string `json:"why,omitempty"`     // it did not land
	UndoID   string `json:"undo_id,omitempty"` // takes it back
	Created  int    `json:"created,omitempty"`
	Modified int    `json:"modified,omitempty"`
	Deleted  int    `json:"deleted,omitempty"`
	Left     int    `json:"left,omitempty"` // of a landing: paths that stay held
}

// HeldRequest is GET /v1/changes and GET /v1/changes/{id}.
type HeldRequest struct {
	Session string // empty, for an approver: of every session
	ID      string
}

// LandRequest is POST /v1/changes/{id}.
type LandRequest struct {
	Session     string   `json:"session,omitempty"` // an approver gives none
	ID          string   `json:"-"`
	Paths       []string `json:"paths,omitempty"`   // only these, and what is below them
	Drop        bool     `json:"drop,omitempty"`    // delete it, or what it has at Paths, instead of landing it
	DryRun      bool     `json:"dry_run,omitempty"` // only say what would be decided, and show the change
	CallID      string   `json:"call_id,omitempty"`
	Inline      bool     `json:"inline,omitempty"`
	Description string   `json:"description,omitempty"`
}

// BatchRequest is the body of POST /v1/batch: the tool calls of one model
// response, carried out in order.
type BatchRequest struct {
	Session string      `json:"session"`
	ID      string      `json:"id,omitempty"`
	Inline  bool        `json:"inline,omitempty"`
	Calls   []BatchCall `json:"calls"`
}

// MaxBatch is how many calls one batch may have.
const MaxBatch = 100

// BatchCall is one of them: exactly one of Exec, File and Check is set.
type BatchCall struct {
	CallID string        `json:"call_id,omitempty"`
	Exec   *ExecRequest  `json:"exec,omitempty"`
	File   *FileCall     `json:"file,omitempty"`
	Check  *CheckRequest `json:"check,omitempty"`
}

// FileCall is a FileRequest that names its operation.
type FileCall struct {
	Op string `json:"op"`
	FileRequest
}

// BatchResult answers POST /v1/batch.
type BatchResult struct {
	ID        string       `json:"id"`
	Results   []CallResult `json:"results"`
	Ran       int          `json:"ran"`
	Cancelled int          `json:"cancelled"`         // not tried, because of a stop
	Stopped   string       `json:"stopped,omitempty"` // why
}

// CallResult is the result of one call of a batch.
type CallResult struct {
	CallID  string      `json:"call_id,omitempty"`
	Exec    *ExecOutput `json:"exec,omitempty"`
	File    *FileResult `json:"file,omitempty"`
	Verdict *Verdict    `json:"verdict,omitempty"`
	Error   *Error      `json:"error,omitempty"`
}

// ExecOutput is a command's end with its output, collected.
type ExecOutput struct {
	ID     string `json:"id"`
	Stdout []byte `json:"stdout,omitempty"` // base64 on the wire
	Stderr []byte `json:"stderr,omitempty"`
	Exit   Exit   `json:"exit"`
}
