package shell

// Config is the configuration of the shell tool: the sections [shell] and
// [permissions], and the names of the presets that are on. The zero value is
// the built-in default: the safe list runs, everything else asks.
type Config struct {
	// Default applies to a command that no rule, permission or safe-list entry
	// decides. The zero value means allowed with approval.
	Default Default `toml:"default"`
	// Network says whether commands may use the network at all, in the words
	// of the profile: "none", "loopback", "allowlist", "full". "" is none.
	// The tool hands it on in Verdict.Network; the sandbox enforces it.
	Network string `toml:"network"`
	// Rules are tried in order for every simple command; the first that
	// matches decides.
	Rules []Rule `toml:"rules"`
	// AutoSafe false makes the safe list ask as well. nil is true.
	AutoSafe *bool `toml:"auto_safe"`
	// SafeCommands adds commands to the safe list, as word prefixes ("mytool",
	// "mytool show"). A command that has a built-in entry keeps that entry's
	// judgement of its arguments.
	SafeCommands []string `toml:"safe_commands"`
	// SearchPath is where command names are looked up for what runs unasked,
	// absolute directories in order. Empty is DefaultSearchPath.
	SearchPath []string `toml:"search_path"`

	// Permissions is the [permissions] section.
	Permissions Permissions `toml:"-"`
	// Presets are names of presets that are on (package shell/presets).
	Presets []string `toml:"-"`
	// Hidden and Protected add patterns to DefaultHidden and DefaultProtected:
	// absolute, "~/…", or a name at any depth.
	Hidden    []string `toml:"-"`
	Protected []string `toml:"-"`
	// ReadRoots are trees outside the project that read-only commands may read
	// unasked. nil is DefaultReadRoots.
	ReadRoots []string `toml:"-"`
	// Paths are the named sandboxes of [files.paths], name to absolute root,
	// for the paths condition of rules.
	Paths map[string]string `toml:"-"`
}

// Default is what happens to a command that nothing else decides.
type Default struct {
	Allowed  *bool `toml:"allowed"`  // nil: true
	Approval *bool `toml:"approval"` // nil: true
}

// Permissions is the [permissions] section: the syntax that agents' users
// already write, such as "Bash(git diff *)". See ParsePermission.
type Permissions struct {
	Allow []Permission `toml:"allow"`
	Ask   []Permission `toml:"ask"`
	Deny  []Permission `toml:"deny"`
}

// Rule is one [[shell.rules]] table.
type Rule struct {
	// Pattern is a list of words as in a shell: "git add" matches every git
	// command whose first words are git and add. A word may hold * and ?; a
	// last word * says that more may follow, which is also so without it.
	Pattern string `toml:"pattern"`
	// Exact reports that no further words may follow.
	Exact bool `toml:"exact"`
	// Allowed false blocks, in every mode. nil is true.
	Allowed *bool `toml:"allowed"`
	// Approval false runs unasked what the rule matches. nil is true.
	Approval *bool `toml:"approval"`
	// Description is shown instead of our own words.
	Description string `toml:"description"`
	// Paths names sandboxes of [files.paths]: the rule matches only if every
	// path argument lies in one of them.
	Paths []string `toml:"paths"`
	// Network is the network the command gets when the rule decides, in the
	// words of the profile; "" is Config.Network.
	Network string `toml:"network"`
	// Examples are checked when the configuration is loaded.
	Examples Examples `toml:"examples"`

	// Origin says where the rule stands, for people: "/etc/sandboxd/config.toml:12".
	Origin string `toml:"-"`
	// Operator marks a rule of the operator's layer. Only such a rule, and only
	// word for word, lets a dangerous command run unasked.
	Operator bool `toml:"-"`
}

// Examples are command lines that a rule must and must not match.
type Examples struct {
	Match    []string `toml:"match"`
	NotMatch []string `toml:"not_match"`
}
