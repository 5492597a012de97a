package profile

// The lists below are the built-in defaults as data. Deriving a profile from
// configuration uses them; so may anything else that has to agree with it.

// SystemTrees are readable and executable on Linux.
func SystemTrees() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store",
		"/run/current-system", "/var/lib/alternatives", "/snap", "/home/linuxbrew/.linuxbrew",
	}
}

// systemFiles are readable: a program's view of the kernel.
func systemFiles() []string {
	return []string{
		"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage",
		"/sys/fs/cgroup/cgroup.controllers", "/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf",
	}
}

// hiddenSystemPaths are secrets inside system trees, each a path, or
// "DIR/**/NAME" for a name at any depth.
func hiddenSystemPaths() []string {
	return []string{
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
		"/etc/security/opasswd", "/etc/ssh/**/*_key", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt",
		"/etc/sandboxd", "/etc/krb5.keytab", "/etc/wireguard", "/etc/openvpn", "/etc/ipsec.secrets",
		"/etc/NetworkManager/system-connections", "/etc/netplan", "/etc/wpa_supplicant", "/etc/ppp", "/etc/docker/key.json",
		"/etc/kubernetes", "/etc/rancher", "/etc/crypttab", "/etc/cryptsetup-keys.d", "/etc/credstore",
		"/etc/credstore.encrypted", "/etc/mysql/debian.cnf", "/etc/exim4/passwd.client", "/etc/ldap.secret",
		"/etc/pam_ldap.secret",
	}
}

// PrivateDirs are replaced by empty ones of the sandbox's own.
func PrivateDirs() []string { return []string{"/tmp", "/var/tmp", "/dev/shm", "/dev/pts"} }

// MinimalDevices are the devices that programs expect of any system.
func MinimalDevices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"}
}

// System has the paths of one operating system, as real paths.
type System struct {
	Trees   []string // readable and executable
	Files   []string // readable
	Hidden  []string // secrets among those, as in hiddenSystemPaths
	Private []string // replaced by directories of the sandbox's own
	Devices []string // readable and writable
	Tmp     string   // the value of ${tmp} and TMPDIR
	Path    string   // the system's part of PATH
}

// SystemOf returns the defaults for an operating system as runtime.GOOS names
// it: "darwin", or Linux for any other.
func SystemOf(goos string) System {
	if goos == "darwin" {
		return System{
			Trees: []string{
				"/usr", "/bin", "/sbin", "/System", "/Library", "/opt", "/nix/store", "/private/etc", "/private/var/select",
				"/private/var/db/timezone", "/private/var/db/xcode_select_link", "/Applications/Xcode.app",
				"/Applications/Xcode-beta.app",
			},
			Hidden: []string{
				"/Library/Keychains", "/System/Library/Keychains", "/Library/Preferences/com.apple.TimeMachine.plist",
				"/private/etc/master.passwd", "/private/etc/sudoers", "/private/etc/sudoers.d", "/private/etc/ssh/**/*_key",
				"/private/etc/krb5.keytab", "/private/etc/sandboxd", "/private/etc/wireguard",
				"/Library/Application Support/sandboxd",
			},
			Private: []string{"/private/tmp", "/private/var/tmp"},
			Devices: []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/dtracehelper"},
			Tmp:     "/private/tmp",
			Path:    "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
		}
	}
	return System{
		Trees: SystemTrees(), Files: systemFiles(), Hidden: hiddenSystemPaths(), Private: PrivateDirs(),
		Devices: MinimalDevices(),
		Tmp:     "/tmp", Path: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}
}

// HomeSecrets are paths relative to a home directory that hold credentials,
// or lead to a program that does.
func HomeSecrets() []string {
	return []string{
		// keys
		".ssh", ".gnupg", ".pki", ".password-store", ".age", ".config/sops", ".config/age", ".local/share/keyrings",
		".local/share/kwalletd", ".kde/share/apps/kwallet", ".vault-token", ".config/op", ".op", ".config/Bitwarden CLI",
		".config/keybase", ".config/1Password", ".local/share/pass", "Library/Keychains",
		"Library/Application Support/1Password",
		// clouds and clusters
		".aws", ".azure", ".config/gcloud", ".config/doctl", ".config/hcloud", ".config/scw", ".oci", ".aliyun", ".bluemix",
		".kube", ".config/helm", ".config/linode-cli", ".config/flyctl", ".fly", ".config/heroku", ".netlify",
		".config/netlify", ".vercel", ".config/vercel", ".local/share/com.vercel.cli", ".config/.wrangler", ".wrangler",
		".terraform.d", ".terraformrc", ".pulumi/credentials.json", ".config/rclone", ".s3cfg", ".boto", ".databrickscfg",
		".snowsql", ".config/configstore", ".minikube", ".mc/config.json",
		// forges, registries, package managers
		".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli", ".config/tea",
		".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".config/pip/pip.conf", ".pip/pip.conf", ".pypirc",
		".config/pypoetry/auth.toml", ".local/share/uv/credentials", ".cargo/credentials", ".cargo/credentials.toml",
		".gem/credentials", ".bundle/config", ".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties",
		".ivy2/.credentials", ".sbt/.credentials", ".composer/auth.json", ".config/composer/auth.json", ".nuget/NuGet.Config",
		".config/NuGet", ".hex", ".docker", ".config/containers/auth.json", ".config/helm/registry", ".huggingface",
		".cache/huggingface/token", ".kaggle",
		// databases, mail, chat
		".pgpass", ".my.cnf", ".mylogin.cnf", ".mongorc.js", ".dbshell", ".psqlrc", ".msmtprc", ".mutt", ".mbsyncrc",
		".fetchmailrc", ".thunderbird", ".config/Slack", ".config/discord", ".config/Signal", ".weechat", ".irssi",
		".config/Element",
		// browsers
		".mozilla", ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium", ".config/BraveSoftware",
		".config/microsoft-edge", ".config/opera", ".config/vivaldi", ".librewolf", ".zen", "snap/firefox", "snap/chromium",
		".var/app", "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox", "Library/Safari",
		"Library/Cookies",
		// histories and sessions
		".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history", ".node_repl_history",
		".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history", ".Xauthority", ".ICEauthority",
		".local/share/atuin",
		// agents and this product
		".claude", ".claude.json", ".config/claude", ".codex", ".gemini", ".config/github-copilot", ".copilot", ".cursor",
		".config/Cursor", ".continue", ".aider.conf.yml", ".config/goose", ".config/opencode", ".local/share/opencode",
		".config/anthropic", ".config/openai", ".config/sandboxd", ".local/state/sandboxd",
	}
}

// DefaultEnvironment returns the variables that pass without a configuration: language, time zone
// and terminal.
func DefaultEnvironment() Environment {
	return Environment{Pass: []string{"LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "NO_COLOR", "CI"}}
}
