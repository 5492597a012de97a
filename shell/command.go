package shell

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"sandboxd/git"
)

// Command is one command as an agent asks for it.
type Command struct {
	// Line is the command line; Argv is used instead when Line is empty.
	Line string
	// Argv is a command without a shell: no word of it is expanded.
	Argv []string
	// Cwd is the absolute directory it would start in, symbolic links resolved. "" means
	// unknown: what depends on it asks.
	Cwd string
	// Project is the session's root, absolute and resolved. "" is Cwd.
	Project string
	// Home is the home directory of the person. "" means unknown: ~ is never resolved.
	Home string
	// Env are the variables that the request asks for, not those of the daemon.
	Env map[string]string
	// TTY says that the command gets a terminal.
	TTY bool
	// Elsewhere says that whoever asks runs it, outside the sandbox and without
	// what we add to what we run.
	Elsewhere bool
	// Description is the agent's own text. It is shown as such and decides nothing.
	Description string
}

// FactKind names what a fact is about.
type FactKind string

// The kinds of facts.
const (
	FactPath    FactKind = "path"    // where an absolute path really leads
	FactGlob    FactKind = "glob"    // what an absolute glob pattern matches
	FactGit     FactKind = "git"     // which programs git would run in a directory
	FactBinary  FactKind = "binary"  // the file that a command name means
	FactContent FactKind = "content" // the hash of a file

	FactMakefile FactKind = "makefile" // the names that a makefile includes
)

// FactQuery asks for one fact. Name is an absolute path, pattern or directory,
// or, for FactBinary, a command name.
type FactQuery struct {
	Kind FactKind `json:"kind"`
	Name string   `json:"name"`
}

// Facts is a snapshot of the world, keyed by FactQuery.Name. A missing entry is
// not known, and what is not known asks.
type Facts struct {
	Paths    map[string]PathFact    `json:"paths,omitempty"`
	Globs    map[string]GlobFact    `json:"globs,omitempty"`
	Git      map[string]GitFact     `json:"git,omitempty"`
	Binaries map[string]BinaryFact  `json:"binaries,omitempty"`
	Contents map[string]ContentFact `json:"contents,omitempty"`

	Makefiles map[string]MakefileFact `json:"makefiles,omitempty"`
}

// PathFact says where a path leads. A path that does not exist has the real
// path of its nearest existing ancestor with the rest appended.
type PathFact struct {
	Real    string `json:"real"`
	Exists  bool   `json:"exists,omitempty"`
	Dir     bool   `json:"dir,omitempty"`
	Special bool   `json:"special,omitempty"` // neither a regular file nor a directory
	Err     string `json:"err,omitempty"`     // it could not be found out
}

// MakefileFact holds the names of the files that a makefile includes or calls make for, as it spells them. Names with
// variables are left out.
type MakefileFact struct {
	Includes []string `json:"includes,omitempty"`
}

// GlobFact holds the real paths of what a pattern matches now. Cut says that
// there are more than were listed.
type GlobFact struct {
	Real []string `json:"real,omitempty"`
	Cut  bool     `json:"cut,omitempty"`
	Err  string   `json:"err,omitempty"`
}

// GitFact says what git would do besides reading, in a directory.
type GitFact struct {
	// Repository is false where git finds none.
	Repository bool   `json:"repository,omitempty"`
	Dir        string `json:"dir,omitempty"`      // the git directory
	Worktree   string `json:"worktree,omitempty"` // "" for a bare repository
	// Programs are the configuration keys in force that name a program which
	// reading commands run, with where they stand.
	Programs []git.Use `json:"programs,omitempty"`
	// Hooks are the directories in which git may look for hooks.
	Hooks []string `json:"hooks,omitempty"`
	// Drivers are attribute drivers with a program that no attribute file
	// selects; they are switched off by environment.
	Drivers []string `json:"drivers,omitempty"`
	// Err says why it could not be found out; git then asks.
	Err string `json:"err,omitempty"`
}

// BinaryFact is the file that a command name means on the search path.
type BinaryFact struct {
	Path     string `json:"path,omitempty"`     // absolute; "" when there is none
	Real     string `json:"real,omitempty"`     // Path with links resolved
	Writable bool   `json:"writable,omitempty"` // someone other than root can replace it
}

// ContentFact is the content of a file at one moment.
type ContentFact struct {
	Exists bool   `json:"exists,omitempty"`
	Hash   string `json:"hash,omitempty"` // "sha256:…"
	Err    string `json:"err,omitempty"`
}

// Digest changes when any fact does; it is part of what a decision is bound to.
func (f Facts) Digest() string {
	b, err := json.Marshal(f) // maps are written in the order of their keys
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
