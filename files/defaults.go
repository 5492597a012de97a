package files

import (
	"time"

	"sandboxd/profile"
)

// defaultSafe are the safe patterns of the source specification.
func defaultSafe() []string {
	return []string{"*.md", "*.txt", "*.json", "*.log", "*.bak", "tests/**/*.py", "docs/**"}
}

// defaultProtected are the names of R-FS-03: files that hold secrets, and files that other programs
// execute or trust, at once or in a build.
func defaultProtected() []string { return profile.ProtectedNames(profile.Executed, profile.Built) }

// DefaultHidden are names of files with secrets, in any folder.
func DefaultHidden() []string {
	return []string{
		".ssh/id_*", ".ssh/*_key", ".aws/credentials", ".gnupg", ".netrc", ".git-credentials", ".pgpass",
		".config/gh/hosts.yml", ".docker/config.json", ".kube/config", "*.kdbx",
	}
}

// Defaults is the section when no file sets anything: the project is the one
// sandbox.
func Defaults() Config {
	return Config{
		Paths:     map[string]Sandbox{projectRoot: {Root: ".", Mode: "rw"}},
		AutoSafe:  true,
		Safe:      defaultSafe(),
		Protected: defaultProtected(),
		Hidden:    DefaultHidden(),
		HardLinks: "refuse",
		MaxFile:   defaultMaxFile,
		Undo:      Retention{KeepFor: 7 * 24 * time.Hour, KeepBytes: 1 << 30},
	}
}
