package files

import (
	"slices"
	"time"

	"sandboxd/profile"
)

// DefaultSafe are the safe patterns of the source specification.
func DefaultSafe() []string {
	return []string{"*.md", "*.txt", "*.json", "*.log", "*.bak", "tests/**/*.py", "docs/**"}
}

// DefaultProtected are the paths of R-FS-03: what holds secrets, and what other
// programs execute or trust without asking. The profile holds most of them
// against commands, too; what ordinary commands have to write (package.json,
// go.sum) only the file tool does.
func DefaultProtected() []string {
	return unique(slices.Concat([]string{
		// of the source specification
		".git", ".env", ".env*", "venv", ".venv",
		// what a later command executes
		"Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "Rakefile",
		"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb",
		"Cargo.lock", "go.sum", "poetry.lock", "uv.lock", "Pipfile.lock", "Gemfile.lock", "composer.lock",
		"tsconfig.json", "tsconfig.*.json", "jsconfig.json", "conftest.py", "sitecustomize.py", "usercustomize.py",
		".cargo", "*.code-workspace", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".gitattributes",
		".vimrc", ".exrc", ".nvimrc", ".emacs", ".dir-locals.el", ".gdbinit", ".lldbinit", ".screenrc", ".tmux.conf",
		// agents
		".claude.json", ".opencode", "opencode.json", ".junie", "AGENTS.override.md", ".devcontainer.json",
		".woodpecker", ".ci", ".sandboxd", ".config/sandboxd", ".config/git", ".ssh", ".netrc",
	}, profile.ProtectedNames()))
}

// watched are names that are not safe, whatever pattern makes them so: other
// programs trust them, but not so much that a change should ask twice.
func watched() []string { return profile.WatchedNames() }

func unique(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s string) bool {
		if seen[s] {
			return true
		}
		seen[s] = true
		return false
	})
}

// DefaultHidden are names whose content is a secret wherever it lies.
func DefaultHidden() []string {
	return []string{
		".ssh/id_*", ".ssh/*_key", ".aws/credentials", ".gnupg", ".netrc", ".git-credentials",
		".config/gh/hosts.yml", ".docker/config.json", ".kube/config", "*.kdbx",
	}
}

// Defaults is the section when no file sets anything: the project is the one
// sandbox.
func Defaults() Config {
	return Config{
		Paths:     map[string]Sandbox{"project": {Root: ".", Mode: "rw"}},
		AutoSafe:  true,
		Safe:      DefaultSafe(),
		Protected: DefaultProtected(),
		Hidden:    DefaultHidden(),
		HardLinks: "refuse",
		MaxFile:   DefaultMaxFile,
		Undo:      Retention{KeepFor: 7 * 24 * time.Hour, KeepBytes: 1 << 30},
	}
}
