package shell

import "sandboxd/git"

// Command is one command as an agent requests it.
type Command struct {
	// Line is the command line; Argv is used instead when Line is empty.
	Line string
	// Argv is a command without a shell: none of its words is expanded.
	Argv []string
	// Cwd is the absolute start directory with symbolic links resolved. "" means unknown:
	// everything that depends on it asks.
	Cwd string
	// Project is the root of the session, absolute and resolved. "" means Cwd.
	Project string
	// Home is the home directory of the person. "" means unknown: ~ is never resolved.
	Home string
	// Env holds the variables of the request, not those of the daemon.
	Env map[string]string
	// TTY is true if the command gets a terminal.
	TTY bool
	// CallerRuns is true if the caller runs the command itself, outside the sandbox and without
	// the environment that the daemon adds.
	CallerRuns bool
	// Description is the agent's own text. It is shown as such and has no effect on the verdict.
	Description string
}

// FactKind is the subject of a fact.
type FactKind string

// The kinds of facts.
const (
	FactPath    FactKind = "path"    // the target of an absolute path after resolving links
	FactGlob    FactKind = "glob"    // the matches of an absolute glob pattern
	FactGit     FactKind = "git"     // the programs that git would run in a directory
	FactBinary  FactKind = "binary"  // the file that a command name resolves to
	FactContent FactKind = "content" // the hash of a file

	FactMakefile FactKind = "makefile" // the files that a makefile includes
	FactObject   FactKind = "object"   // the type of a git object
)

// FactQuery requests one fact. Name is an absolute path, pattern or directory, or, for
// FactBinary, a command name. For FactObject it is a directory, a colon and a revision without colons.
type FactQuery struct {
	Kind FactKind `json:"kind"`
	Name string   `json:"name"`
}

// Facts is a snapshot of the host, keyed by FactQuery.Name. A missing entry means unknown, and
// a command that depends on it asks.
type Facts struct {
	Paths    map[string]PathFact    `json:"paths,omitempty"`
	Globs    map[string]GlobFact    `json:"globs,omitempty"`
	Git      map[string]GitFact     `json:"git,omitempty"`
	Binaries map[string]BinaryFact  `json:"binaries,omitempty"`
	Contents map[string]ContentFact `json:"contents,omitempty"`

	Makefiles map[string]MakefileFact `json:"makefiles,omitempty"`
	Objects   map[string]ObjectFact   `json:"objects,omitempty"`
}

// PathFact is the target of a path. For a path that does not exist, Real is the real path of
// its nearest existing ancestor with the rest appended.
type PathFact struct {
	Real    string `json:"real"`
	Exists  bool   `json:"exists,omitempty"`
	Dir     bool   `json:"dir,omitempty"`
	Special bool   `json:"special,omitempty"` // neither a regular file nor a directory
	Err     string `json:"err,omitempty"`     // why the target is unknown
}

// MakefileFact holds the names of the files that a makefile includes or runs make on, as
// written there. Names with variables are omitted.
type MakefileFact struct {
	Includes []string `json:"includes,omitempty"`
}

// ObjectFact is the type of the object that a revision means in a directory.
type ObjectFact struct {
	Type git.ObjectType `json:"type,omitempty"`
	Err  string         `json:"err,omitempty"`
}

// GlobFact holds the real paths of the current matches of a pattern. Cut is true if the list is
// incomplete.
type GlobFact struct {
	Real []string `json:"real,omitempty"`
	Cut  bool     `json:"cut,omitempty"`
	Err  string   `json:"err,omitempty"`
}

// GitFact describes the programs that a reading git command would run in a directory.
type GitFact struct {
	// Repository is false if the directory belongs to no repository.
	Repository bool   `json:"repository,omitempty"`
	Dir        string `json:"dir,omitempty"`      // the git directory
	Worktree   string `json:"worktree,omitempty"` // "" for a bare repository
	// Programs are the effective configuration keys that name a program which a reading command
	// runs, with their origin.
	Programs []git.Use `json:"programs,omitempty"`
	// Hooks are the directories in which git may look for hooks.
	Hooks []string `json:"hooks,omitempty"`
	// Routes are where it fetches from and pushes to, and Branch what is checked out: "" for no branch.
	Routes git.Routes `json:"routes,omitzero"`
	Branch string     `json:"branch,omitempty"`
	// Drivers are attribute drivers with a program that no attribute file selects. The environment
	// disables them.
	Drivers []string `json:"drivers,omitempty"`
	// Err is the reason why the facts are unknown; git then asks.
	Err string `json:"err,omitempty"`
}

// BinaryFact is the file that a command name resolves to on the search path.
type BinaryFact struct {
	Path     string `json:"path,omitempty"`     // absolute; "" if not found
	Real     string `json:"real,omitempty"`     // Path with links resolved
	Writable bool   `json:"writable,omitempty"` // a user other than root can replace it
}

// ContentFact is the content of a file at one moment.
type ContentFact struct {
	Exists bool   `json:"exists,omitempty"`
	Hash   string `json:"hash,omitempty"` // "sha256:…"
	Err    string `json:"err,omitempty"`
}
