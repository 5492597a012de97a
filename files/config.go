package files

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// Config is the section [files] of the configuration.
//
// The zero value names no sandbox, so that every path is blocked; Defaults returns the values for
// an empty file.
type Config struct {
	// Paths are the named sandboxes. A path outside all of them is blocked; where roots are nested,
	// the most specific one decides.
	Paths map[string]Sandbox `toml:"paths"`
	// AutoSafe lets writes to Safe paths run without a question.
	AutoSafe bool `toml:"auto_safe"`
	// Safe are globs of paths, relative to a sandbox's root, whose creation
	// and change need no question. A pattern without a slash matches the
	// base name at any depth; "**" crosses folders.
	Safe []string `toml:"safe"`
	// Protected are names, with "*" and "?" within a name, that match at any depth: every change of
	// a match, or of anything below it, asks twice, also where Safe matches.
	Protected []string `toml:"protected"`
	// Unprotected takes names, spelled as listed but for their case, out of
	// Protected. It cannot take out alwaysProtected.
	Unprotected []string `toml:"unprotected"`
	// AskBuild has the landing of a layered command ask about files from which programs run when a person builds.
	AskBuild bool `toml:"ask_build"`
	// Hidden are names in the same form as Protected: a match, and all below it, cannot be
	// read, listed, searched, or changed.
	Hidden []string `toml:"hidden"`
	// ReadOnly are names in the same form as Protected: a match, and all below it, can be
	// read, and every change is blocked.
	ReadOnly []string `toml:"read_only"`
	// MaxFile is the largest file, in bytes, that an operation reads whole or
	// changes. 0 means the built-in 64 MiB. Reads with offset and limit are
	// streamed and not bound by it.
	MaxFile int64 `toml:"max_file"`
	// HardLinks is "refuse" (also when empty), or "read" to permit reading
	// files that have more than one name.
	HardLinks string `toml:"hard_links"`
	// Undo bounds the age and size of stored content.
	Undo Retention `toml:"undo"`
}

// Sandbox is one [files.paths.NAME].
type Sandbox struct {
	// Root is a folder: absolute, or relative to the project. "." is the
	// project itself.
	Root string `toml:"root"`
	// Mode is "ro" or "rw"; empty means "ro".
	Mode string `toml:"mode"`
	// Suffixes are the only file name endings that may be touched, such as
	// ".txt"; empty means every name.
	Suffixes []string `toml:"suffixes"`
	// WriteApproval: true asks before every change, also of a safe path;
	// false lets creating, overwriting and editing run unasked (deleting and
	// protected paths still ask); absent follows the table of operations.
	WriteApproval *bool `toml:"write_approval"`
	// ReadApproval: true asks before every read; absent and false do not.
	ReadApproval *bool `toml:"read_approval"`
}

// Retention bounds the undo store.
type Retention struct {
	// KeepFor is how long an operation can be undone. 0 means without limit.
	KeepFor time.Duration `toml:"keep_for"`
	// KeepBytes is how much old content is kept; the oldest of the session that has
	// the most goes first. 0
	// means no bound.
	KeepBytes int64 `toml:"keep_bytes"`
}

// defaultMaxFile is MaxFile where the configuration leaves it at 0.
const defaultMaxFile = 64 << 20

// alwaysProtected are patterns that no configuration can unprotect.
var alwaysProtected = []string{".sandboxd.toml", ".git/hooks", ".git/config"}

// Validate reports every value that cannot be used, each as
// `operation "object": cause`.
func (c Config) Validate() error {
	var errs []error
	names := make([]string, 0, len(c.Paths))
	for name := range c.Paths {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := c.Paths[name].validate(); err != nil {
			errs = append(errs, fmt.Errorf("files.paths %q: %w", name, err))
		}
	}
	for _, list := range []struct {
		key      string
		patterns []string
		check    func(string) error
	}{
		{"safe", c.Safe, checkPattern}, {"protected", c.Protected, checkName},
		{"hidden", c.Hidden, checkName}, {"read_only", c.ReadOnly, checkName},
	} {
		for _, p := range list.patterns {
			if err := list.check(p); err != nil {
				errs = append(errs, fmt.Errorf("files.%s %q: %w", list.key, p, err))
			}
		}
	}
	if c.HardLinks != "" && c.HardLinks != "refuse" && c.HardLinks != "read" {
		errs = append(errs, fmt.Errorf("files.hard_links %q: neither \"refuse\" nor \"read\"", c.HardLinks))
	}
	if c.MaxFile < 0 {
		errs = append(errs, fmt.Errorf("files.max_file %q: must not be negative", fmt.Sprint(c.MaxFile)))
	}
	if c.Undo.KeepFor < 0 || c.Undo.KeepBytes < 0 {
		errs = append(errs, errors.New(`files.undo: must not be negative`))
	}
	return errors.Join(errs...)
}

func (s Sandbox) validate() error {
	switch {
	case s.Root == "":
		return errors.New("root is missing; name a folder, \".\" is the project")
	case strings.ContainsRune(s.Root, 0):
		return errors.New("root holds a NUL byte")
	case s.Root == "~" || strings.HasPrefix(s.Root, "~/"):
		return fmt.Errorf("root %q: \"~\" is not expanded here; write the folder in full", s.Root)
	case strings.Contains(s.Root, "${"):
		return fmt.Errorf("root %q: variables are not expanded here; a relative root is the project's own folder", s.Root)
	case filepath.Clean(s.Root) == "/":
		return errors.New("root is the whole file system; name the folder that is meant")
	case below("/proc", filepath.Clean(s.Root)), below("/sys", filepath.Clean(s.Root)),
		below("/dev", filepath.Clean(s.Root)) && !below("/dev/shm", filepath.Clean(s.Root)):
		return errors.New("root is in a file system of the kernel's own, where names are not files")
	case s.Mode != "" && s.Mode != "ro" && s.Mode != "rw":
		return fmt.Errorf("mode %q is neither \"ro\" nor \"rw\"", s.Mode)
	}
	for _, suffix := range s.Suffixes {
		if suffix == "" || strings.ContainsAny(suffix, "/\x00") {
			return fmt.Errorf("suffix %q is not the end of a file name, such as \".txt\"", suffix)
		}
	}
	return nil
}
