package ipc

import "time"

// FileOps are the operations of POST /v1/files/{op}.
var FileOps = []string{
	"read", "list", "stat", "grep",
	"create", "write", "edit", "multi-edit", "append", "insert",
	"delete", "move", "copy", "mkdir", "rmdir", "undo",
}

// FileRequest is the body of POST /v1/files/{op}. Which fields count depends on Op.
type FileRequest struct {
	Op             string      `json:"-"` // from the path
	Session        string      `json:"session"`
	CallID         string      `json:"call_id,omitempty"`
	Path           string      `json:"path,omitempty"`
	To             string      `json:"to,omitempty"`       // move, copy
	Content        string      `json:"content,omitempty"`  // create, write, append, insert
	Encoding       string      `json:"encoding,omitempty"` // of Content and of what is read: "utf-8" (also "") or "base64"
	Edits          []Edit      `json:"edits,omitempty"`    // edit: one; multi-edit: all or nothing
	Anchor         string      `json:"anchor,omitempty"`   // insert: the text beside which it goes
	Line           int         `json:"line,omitempty"`     // insert: or the line, from 1
	Before         bool        `json:"before,omitempty"`   // insert: before it, not after
	Offset         int64       `json:"offset,omitempty"`   // read: bytes to skip
	Limit          int64       `json:"limit,omitempty"`    // read: bytes; list, grep: entries
	Pattern        string      `json:"pattern,omitempty"`  // grep: regular expression (RE2)
	Glob           string      `json:"glob,omitempty"`     // grep, list: only names that match
	Recursive      bool        `json:"recursive,omitempty"`
	IfHash         string      `json:"if_hash,omitempty"` // refuse unless the file's content has this hash
	Mode           uint32      `json:"mode,omitempty"`    // create, mkdir: permission bits
	UndoID         string      `json:"undo_id,omitempty"` // undo
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
	Hash        string       `json:"hash,omitempty"` // of the content as it is now
	Size        int64        `json:"size,omitempty"`
	Truncated   bool         `json:"truncated,omitempty"`
	Diff        string       `json:"diff,omitempty"`
	Info        *FileInfo    `json:"info,omitempty"`
	Entries     []FileInfo   `json:"entries,omitempty"`
	Matches     []Match      `json:"matches,omitempty"`
	Enforcement *Enforcement `json:"enforcement,omitempty"`
	Warnings    []Warning    `json:"warnings,omitempty"`
}

// FileInfo is one file.
type FileInfo struct {
	Path    string    `json:"path"`
	Type    string    `json:"type"` // file, dir, symlink, other
	Size    int64     `json:"size"`
	Mode    uint32    `json:"mode"`
	ModTime time.Time `json:"mod_time"`
	Target  string    `json:"target,omitempty"` // of a symlink
	Hidden  bool      `json:"hidden,omitempty"` // listed, but may not be read
}

// Match is one line that grep found.
type Match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// BatchRequest is the body of POST /v1/batch: the tool calls of one model
// response, carried out in order.
type BatchRequest struct {
	Session string      `json:"session"`
	ID      string      `json:"id,omitempty"`
	Inline  bool        `json:"inline,omitempty"`
	Calls   []BatchCall `json:"calls"`
}

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

// CallResult is what became of one call of a batch.
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
