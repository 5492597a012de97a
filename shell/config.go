package shell

// Config is the configuration of the shell tool: the sections [shell] and [permissions], and
// the names of the enabled presets. The zero value is the built-in default: the safe list runs,
// everything else asks.
type Config struct {
	// Default applies to a command that no rule, permission or safe-list entry
	// decides. The zero value means allowed with approval.
	Default Default `toml:"default"`
	// Network is the network of commands in the words of the profile: "none", "loopback",
	// "allowlist", "full". "" means none. The tool copies it to Verdict.Network; the sandbox
	// enforces it.
	Network string `toml:"network"`
	// Rules are tried in order for every simple command; the first match decides.
	Rules []Rule `toml:"rules"`
	// AutoSafe, if false, makes the safe list ask as well. nil means true.
	AutoSafe *bool `toml:"auto_safe"`
	// SafeCommands adds commands to the safe list, as word prefixes ("mytool", "mytool show"). The
	// arguments of a command with a built-in entry are still judged by that entry.
	SafeCommands []string `toml:"safe_commands"`
	// SearchPath lists the absolute directories, in order, in which the names of commands that run
	// unasked are looked up. If empty, DefaultSearchPath is used.
	SearchPath []string `toml:"search_path"`

	// Permissions is the [permissions] section.
	Permissions Permissions `toml:"-"`
	// Presets are the names of the enabled presets (package shell/presets).
	Presets []string `toml:"-"`
	// Hidden and Protected add patterns to defaultHidden and defaultProtected:
	// absolute, "~/…", or a name at any depth.
	Hidden    []string `toml:"-"`
	Protected []string `toml:"-"`
	// ReadRoots are trees outside the project that read-only commands may read unasked. If nil,
	// DefaultReadRoots is used.
	ReadRoots []string `toml:"-"`
	// Paths maps the names of the sandboxes of [files.paths] to their absolute roots, for the
	// paths condition of rules.
	Paths map[string]string `toml:"-"`
}

// Default is the decision for a command that no rule, permission or safe-list entry decides.
type Default struct {
	Allowed  *bool `toml:"allowed"`  // nil: true
	Approval *bool `toml:"approval"` // nil: true
}

// Permissions is the [permissions] section, in the syntax of other agents, such as "Bash(git
// diff *)". See ParsePermission.
type Permissions struct {
	Allow []Permission `toml:"allow"`
	Ask   []Permission `toml:"ask"`
	Deny  []Permission `toml:"deny"`
}

// Rule is one [[shell.rules]] table.
type Rule struct {
	// Pattern is a list of words in shell syntax: "git add" matches every git command whose first
	// words are git and add. A word may contain * and ?. A last word * permits further words,
	// which is also the default without it.
	Pattern string `toml:"pattern"`
	// Exact is true if no further words may follow.
	Exact bool `toml:"exact"`
	// Allowed, if false, blocks in every mode. nil means true.
	Allowed *bool `toml:"allowed"`
	// Approval, if false, runs the matched commands unasked. nil means true.
	Approval *bool `toml:"approval"`
	// Description replaces the generated description of the command.
	Description string `toml:"description"`
	// Paths names sandboxes of [files.paths]: the rule matches only if every path argument is in
	// one of them.
	Paths []string `toml:"paths"`
	// Network is the network of a command that the rule decides, in the words of the profile. ""
	// means Config.Network.
	Network string `toml:"network"`
	// Examples are checked when the configuration is loaded.
	Examples Examples `toml:"examples"`

	// Origin is the file and line of the rule, for people: "/etc/sandboxd/config.toml:12".
	Origin string `toml:"-"`
	// Operator marks a rule of the operator's layer. Only such a rule, and only if it spells out
	// every word, lets a dangerous command run unasked.
	Operator bool `toml:"-"`
}

// Examples are command lines that a rule must and must not match.
type Examples struct {
	Match    []string `toml:"match"`
	NotMatch []string `toml:"not_match"`
}
