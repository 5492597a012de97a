package config

import (
	"sandboxd/approval"
	"sandboxd/files"
	"sandboxd/notify"
	"sandboxd/profile/document"
	"sandboxd/shell"
)

// Config is the merged configuration.
type Config struct {
	Daemon   Daemon          `toml:"daemon"`
	Approval approval.Config `toml:"approval"`
	Tools    Tools           `toml:"tools"`
	Files    files.Config    `toml:"files"`
	Landing  Landing         `toml:"landing"`
	// Shell is [shell] with [permissions] and [presets] filled in. ForProject sets the absolute
	// roots of its Paths.
	Shell       shell.Config      `toml:"shell"`
	Permissions shell.Permissions `toml:"permissions"`
	Sandbox     Sandbox           `toml:"sandbox"`
	Environment Environment       `toml:"environment"`
	Network     Network           `toml:"network"`
	Audit       Audit             `toml:"audit"`
	Presets     Presets           `toml:"presets"`
	Gateway     Gateway           `toml:"gateway"`
	Notify      notify.Config     `toml:"notify"`

	// Profiles are the operator's profiles, by file name; all of them apply.
	Profiles []Profile `toml:"-"`
	// Project holds the rules of the project's file. They only restrict: every call is judged by
	// them too, and the stricter result applies. The sections above already include the restrict
	// lists of the project.
	Project ProjectRules `toml:"-"`

	layers layers
}

// Profile is one file of the profile directory.
type Profile struct {
	File     string
	Text     string
	Document *document.Document
}

// ProjectRules are the rules of a project's file. Each asks or denies. They allow a call that
// none of them names, so that the other judgement decides.
type ProjectRules struct {
	// File is the project's file. If it is empty, there are no such rules.
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
		Landing:  Landing{Deletes: 50},
		Shell: shell.Config{
			Default:  shell.Default{Allowed: &yes, Approval: &yes},
			Network:  "loopback",
			AutoSafe: &yes,
		},
		Sandbox:     defaultSandbox(),
		Environment: defaultEnvironment(),
		Network:     defaultNetwork(),
		Audit:       Audit{RotateSize: 64 << 20},
		Notify:      notify.Defaults(),
	}
}
