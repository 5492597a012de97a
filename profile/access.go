package profile

import (
	"fmt"
	"strings"
)

// Access is the set of a program's rights to a path and everything below it. Write and Exec are
// only ever granted together with Read: neither a mount nor a loader can keep content from a
// program that may change or execute it, so a profile does not pretend to.
type Access uint8

const (
	// Read is reading files, listing directories and reading metadata.
	Read Access = 1 << iota
	// Write is creating, changing, renaming and removing, content and metadata.
	Write
	// Exec is execve(2) and mapping as code.
	Exec
)

const fullAccess = Read | Write | Exec

// Has reports whether a includes all of b.
func (a Access) Has(b Access) bool { return a&b == b }

// String returns for example "read+exec", or "nothing".
func (a Access) String() string {
	if a == 0 {
		return "nothing"
	}
	var words []string
	if a&Read != 0 {
		words = append(words, "read")
	}
	if a&Write != 0 {
		words = append(words, "write")
	}
	if a&Exec != 0 {
		words = append(words, "exec")
	}
	if rest := a &^ fullAccess; rest != 0 {
		words = append(words, fmt.Sprintf("Access(%#x)", uint8(rest)))
	}
	return strings.Join(words, "+")
}

func (a Access) validate() error {
	switch {
	case a&^fullAccess != 0:
		return fmt.Errorf("unknown access bits %#x", uint8(a&^fullAccess))
	case a&(Write|Exec) != 0 && a&Read == 0:
		return fmt.Errorf("%s without read: add read", a)
	}
	return nil
}

// Kind is the effect of a rule on a path. A larger Kind is a stricter one.
type Kind uint8

const (
	// Allow gives the path, and everything below it, exactly Rule.Access.
	Allow Kind = iota
	// Private replaces the path by an empty directory that belongs to the
	// sandbox alone and goes with it; the host's is not reachable. Private
	// /proc and /dev/pts are the sandbox's own instances of those file systems.
	Private
	// Protect leaves the path as readable as the rule around it says, but not
	// writable, not removable and not replaceable by renaming an ancestor.
	Protect
	// Hide makes the path unreadable, unlistable, unwritable and unconnectable
	// (EACCES, not an empty look-alike). That the name exists may be seen.
	Hide
)

var kindNames = [...]string{"allow", "private", "protect", "hide"}

// String returns the word a document uses for k.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Op is one thing a program can try to do with a path.
type Op uint8

const (
	// OpRead reads the content of a file.
	OpRead Op = iota
	// OpList reads the names in a directory.
	OpList
	// OpStat reads metadata or a symbolic link, or walks through a directory.
	OpStat
	// OpWrite changes or truncates the content of a file that exists.
	OpWrite
	// OpCreate makes a file, directory, link, FIFO or socket under this name.
	OpCreate
	// OpRemove unlinks a file or removes an empty directory. Renaming a directory with its entries
	// is [Profile.AllowsRename].
	OpRemove
	// OpMetadata is chmod, chown, utimes and setxattr.
	OpMetadata
	// OpExec executes a file.
	OpExec
	// OpConnect connects to the Unix socket of this name.
	OpConnect
	// OpLink gives the file a second name (link(2), as the source).
	OpLink
)

var opNames = [...]string{"read", "list", "stat", "write", "create", "remove", "metadata", "exec", "connect", "link"}

// Ops returns every operation.
func Ops() []Op {
	ops := make([]Op, len(opNames))
	for i := range ops {
		ops[i] = Op(i)
	}
	return ops
}

// String returns the operation as one lower-case word.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}
