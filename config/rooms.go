package config

import (
	"sandboxd/approval"
	"sandboxd/files"
	"sandboxd/profile/document"
	"sandboxd/shell"
)

// Config is the configuration as it counts: every layer merged.
type Config struct {
	Daemon   Daemon          `toml:"daemon"`
	Approval approval.Config `toml:"approval"`
	Tools    Tools           `toml:"tools"`
	Files    files.Config    `toml:"files"`
	// Shell is [shell] with [permissions] and [presets] filled in; of its
	// Paths only ForProject can know the absolute roots.
	Shell       shell.Config      `toml:"shell"`
	Permissions shell.Permissions `toml:"permissions"`
	Sandbox     Sandbox           `toml:"sandbox"`
	Environment Environment       `toml:"environment"`
	Network     Network           `toml:"network"`
	Audit       Audit             `toml:"audit"`
	Presets     Presets           `toml:"presets"`
	Gateway     Gateway           `toml:"gateway"`

	// Profiles are the operator's profiles, by file name; all bind.
	Profiles []Profile `toml:"-"`
	// Project holds the rules of the project's file, which only tighten:
	// every call is judged by them too, and the stricter answer counts. The
	// lists that only forbid are in the sections above already.
	Project ProjectRules `toml:"-"`

	layers layers
}

// Profile is one file of the profile directory.
type Profile struct {
	File     string
	Text     string
	Document *document.Document
}

// ProjectRules are the rules of a project's file. Each asks or denies; what
// none of them names is allowed here, so that the other judgement counts.
type ProjectRules struct {
	// File is the project's file; empty when there is none, and then nothing
	// needs to be judged twice.
	File  string
	Shell shell.Config
	Tools Tools

	layers layers
}

func defaults() Config {
	yes := true
	return Config{
		Daemon:   defaultDaemon(),
		Approval: approval.DefaultConfig(),
		Tools:    Tools{Unknown: "ask"},
		Files:    files.Defaults(),
		Shell: shell.Config{
			Default:  shell.Default{Allowed: &yes, Approval: &yes},
			Network:  "none",
			AutoSafe: &yes,
		},
		Sandbox:     defaultSandbox(),
		Environment: defaultEnvironment(),
		Network:     defaultNetwork(),
		Audit:       Audit{RotateSize: 64 << 20},
	}
}
