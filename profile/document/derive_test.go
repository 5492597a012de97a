package document_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/profile"
	"sandboxd/profile/document"
)

func derive(t *testing.T, change func(*document.Tools)) profile.Profile {
	t.Helper()
	tools := document.Tools{
		Project: "/home/ann/app", Trusted: true, Home: "/home/ann", Limits: profile.DefaultLimits(),
		Environment: profile.DefaultEnvironment(),
	}
	if change != nil {
		change(&tools)
	}
	p, err := document.Derive(tools)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

type expectation struct {
	path string
	ops  string // "+" allowed, "-" refused, by their first letter: r l w c x u(nix socket)
}

var letters = map[byte]profile.Op{'r': profile.OpRead, 'l': profile.OpList, 'w': profile.OpWrite, 'c': profile.OpCreate,
	'x': profile.OpExec, 'u': profile.OpConnect}

func expect(t *testing.T, p profile.Profile, expectations ...expectation) {
	t.Helper()
	for _, e := range expectations {
		allowed := true
		for i := range len(e.ops) {
			switch e.ops[i] {
			case '+', '-':
				allowed = e.ops[i] == '+'
			default:
				if v := p.Allows(letters[e.ops[i]], e.path); v.Allowed != allowed {
					t.Errorf("%s, want %v", v.Why, allowed)
				}
			}
		}
	}
}

// R-OS-07: what everybody gets.
func TestDeriveSystem(t *testing.T) {
	t.Parallel()
	p := derive(t, nil)
	expect(t, p,
		expectation{"/usr/bin/git", "+rx-wc"}, expectation{"/etc/hosts", "+r-w"}, expectation{"/opt/tool/bin/x", "+rx-w"},
		expectation{"/nix/store/h/bin/x", "+rx-w"},
		expectation{"/etc/shadow", "-rw"}, expectation{"/etc/shadow-", "-rw"}, expectation{"/etc/gshadow", "-rw"},
		expectation{"/etc/sudoers.d/x", "-rw"},
		expectation{"/etc/ssh/ssh_host_ed25519_key", "-rw"}, expectation{"/etc/ssh/ssh_host_ed25519_key.pub", "+r-w"},
		expectation{"/etc/ssl/certs/ca.pem", "+r-w"},
		expectation{"/etc/ssl/private/k", "-rl"}, expectation{"/etc/sandboxd/config.toml", "-rw"},
		expectation{"/etc/machine-id", "+r-w"},
		expectation{"/tmp/x", "+rwcx"}, expectation{"/var/tmp/x", "+rwc"}, expectation{"/dev/shm/x", "+rwc"},
		expectation{"/dev/null", "+rw-c"},
		expectation{"/dev/sda", "-rw"}, expectation{"/dev/kmsg", "-rw"}, expectation{"/var/run/docker.sock", "-ru"},
		expectation{"/run/docker.sock", "-ru"},
		expectation{"/proc/self/status", "+r-w"}, expectation{"/proc/sys/kernel/core_pattern", "-w"},
		expectation{"/sys/kernel/uevent_helper", "-rw"},
		expectation{"/sys/devices/system/cpu/online", "+r-w"}, expectation{"/root/.bashrc", "-rw"},
		expectation{"/home/bob/x", "-rw"}, expectation{"/boot/vmlinuz", "-r"},
	)
	for _, path := range []string{"/tmp/x", "/home/ann/x", "/dev/pts/0", "/proc/1/environ"} {
		if v := p.Allows(profile.OpRead, path); !v.Private {
			t.Errorf("%s: the host's", v.Why)
		}
	}
	if n := p.Network(); n.Mode != profile.NetNone {
		t.Errorf("network %s", n)
	}
	if l := p.Limits(); l != profile.DefaultLimits() {
		t.Errorf("limits %s", l)
	}
}

// macOS has its directories elsewhere, under their real names.
func TestDeriveDarwin(t *testing.T) {
	t.Parallel()
	p := derive(t, func(d *document.Tools) { d.OS, d.Home, d.Project = "darwin", "/Users/ann", "/Users/ann/app" })
	expect(t, p,
		expectation{"/System/Library/Frameworks/x", "+rx-w"}, expectation{"/private/etc/hosts", "+r-w"},
		expectation{"/private/etc/master.passwd", "-r"}, expectation{"/Users/ann/app/x", "+rwcx"},
		expectation{"/private/tmp/x", "+rwc"}, expectation{"/Library/Keychains/System.keychain", "-r"},
		expectation{"/proc/self/status", "-r"}, expectation{"/Users/bob/x", "-r"},
	)
	if env, _ := p.Environment().Apply(nil); !slices.Contains(env, "TMPDIR=/private/tmp") {
		t.Errorf("got %q", env)
	}
	later, err := p.With(profile.Grant{Path: "/Users/ann/Library", Access: profile.Read})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, later, expectation{"/Users/ann/Library/Keychains/login.keychain-db", "-r"},
		expectation{"/Users/ann/Library/Fonts/x", "+r"})
}

// R-IP-07: an untrusted root is read-only, whatever the tools are configured for.
func TestDeriveTrust(t *testing.T) {
	t.Parallel()
	rw := []document.Root{{Name: "app", Path: "${project}", Mode: "rw"},
		{Name: "data", Path: "${project}/data", Mode: "rw"}, {Name: "notes", Path: "/srv/notes", Mode: "rw"},
		{Name: "docs", Path: "~/app/docs", Mode: "ro"}}
	trusted := derive(t, func(d *document.Tools) { d.Roots = rw })
	expect(t, trusted,
		expectation{"/home/ann/app/main.go", "+rwcx"}, expectation{"/home/ann/app/data/x", "+rwcx"},
		expectation{"/home/ann/app/docs/x", "+rx-wc"}, expectation{"/srv/notes/x", "+rwc-x"},
		expectation{"/srv/other", "-r"}, expectation{"/home/ann/app/.git/index", "+rwc"},
		expectation{"/home/ann/app/.git/hooks/pre-commit", "+r-wc"},
		expectation{"/home/ann/app/sub/.git/config", "+r-w"}, expectation{"/home/ann/app/.envrc", "+r-w"},
		expectation{"/home/ann/app/.vscode/tasks.json", "+r-wc"},
		expectation{"/home/ann/app/package.json", "+rwc"}, expectation{"/srv/notes/a/.git/hooks/x", "-wc"},
		expectation{"/home/ann/app/.sandboxd.toml", "+r-wc"},
	)
	untrusted := derive(t, func(d *document.Tools) { d.Roots, d.Trusted, d.Write = rw, false, []string{"~/app/out"} })
	expect(t, untrusted,
		expectation{"/home/ann/app/main.go", "+r-wcx"}, expectation{"/home/ann/app/data/x", "+r-wcx"},
		expectation{"/home/ann/app/out/x", "+r-wcx"}, expectation{"/srv/notes/x", "+rwc"},
	)
	if !untrusted.Within(trusted) {
		t.Errorf("the untrusted project has more: %v", untrusted.Exceeds(trusted))
	}
}

// What the named sandboxes leave out of the project, commands do not have either; the most specific one decides, and
// of two with one folder the stricter one. [sandbox] read and write name further paths, but make no read-only sandbox
// writable.
func TestDeriveNamedSandboxes(t *testing.T) {
	t.Parallel()
	named := func(roots ...document.Root) profile.Profile {
		return derive(t, func(d *document.Tools) {
			d.Roots, d.Read = roots, []string{"~/app/lib"}
			d.Write = []string{"~/app/out", "~/app/docs/out", "/srv/ro/out"}
		})
	}
	root := func(path, mode string) document.Root { return document.Root{Name: path, Path: path, Mode: mode} }
	p := named(root("${project}/src", "rw"), root("${project}/src/gen", "ro"), root("${project}/src/gen/cache", "rw"),
		root("${project}/docs", "ro"),
		root("/srv/ro", "ro"), root("/srv/ro/rw", "rw"))
	expect(t, p,
		expectation{"/home/ann/app", "+rl-wc"}, expectation{"/home/ann/app/main.go", "-wc"},
		expectation{"/home/ann/app/.git/HEAD", "-wc"},
		expectation{"/home/ann/app/src/x", "+rwcx"}, expectation{"/home/ann/app/src/gen/x", "+rx-wc"},
		expectation{"/home/ann/app/src/gen/cache/x", "+rwc"},
		expectation{"/home/ann/app/docs/x", "+rx-wc"}, expectation{"/home/ann/app/docs/out/x", "+r-wc"},
		expectation{"/home/ann/app/out/x", "+rwc"}, expectation{"/home/ann/app/lib/x", "+r-wc"},
		expectation{"/srv/ro/x", "+r-wc"}, expectation{"/srv/ro/out/x", "+r-wc"}, expectation{"/srv/ro/rw/x", "+rwc"},
	)
	if v := p.Allows(profile.OpRead, "/home/ann/app/main.go"); !v.Private {
		t.Errorf("a command reads the host's: %+v", v)
	}
	for at, there := range map[string]string{"/srv/x": "/srv/x/f", "~/app/x": "/home/ann/app/x/f"} {
		expect(t, named(root(at, "ro"), root(at, "rw")), expectation{there, "+r-wc"})
		expect(t, named(root(at, "rw"), root(at, "ro")), expectation{there, "+r-wc"})
	}
	expect(t, named(root("/home/ann", "ro")), expectation{"/home/ann/app/main.go", "+rx-wc"})
}

// R-OS-07: secrets stay hidden in what is opened around them, now or later,
// unless they are named.
func TestDeriveSecrets(t *testing.T) {
	t.Parallel()
	p := derive(t, func(d *document.Tools) {
		d.Read = []string{"~/docs"}
		d.Daemon = []string{"/run/user/1000/sandboxd", "/home/ann/.local/state/sandboxd"}
	})
	expect(t, p, expectation{"/home/ann/docs/x", "+r-w"}, expectation{"/run/user/1000/sandboxd/agent.sock", "-ru"})
	home := derive(t, func(d *document.Tools) { d.Read = []string{"~", "~/.npmrc", "~/.ssh/known_hosts"} })
	later, err := p.With(profile.Grant{Path: "/home/ann", Access: profile.Read | profile.Write})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range profile.HomeSecrets() {
		path := "/home/ann/" + secret
		if v := home.Allows(profile.OpRead, path); v.Allowed && secret != ".npmrc" {
			t.Errorf("reading home: %s", v.Why)
		}
		if v := later.Allows(profile.OpRead, path); v.Allowed {
			t.Errorf("home granted: %s", v.Why)
		}
		if v := p.Allows(profile.OpRead, path); v.Allowed && !v.Private {
			t.Errorf("private home: %s", v.Why)
		}
	}
	expect(t, home, expectation{"/home/ann/.npmrc", "+r-w"}, expectation{"/home/ann/.ssh/known_hosts", "+r-w"},
		expectation{"/home/ann/.ssh/id_rsa", "-r"}, expectation{"/home/ann/x", "+r-w"})
	expect(t, later, expectation{"/home/ann/x", "+rwc"}, expectation{"/home/ann/other/.git/hooks/x", "+r-w"},
		expectation{"/home/ann/.bashrc", "+r-w"},
		expectation{"/home/ann/.local/state/sandboxd/audit", "-rw"})
	run, err := p.With(profile.Grant{Path: "/run", Access: profile.Read | profile.Write})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, run, expectation{"/run/user/1000/sandboxd/agent.sock", "-ruw"}, expectation{"/run/user/1000/other", "+rwu"})
}

// The daemon's own paths stay hidden even where the configuration names them.
func TestDeriveHidesTheDaemon(t *testing.T) {
	t.Parallel()
	p := derive(t, func(d *document.Tools) {
		d.Daemon = []string{"/srv/state", "/home/ann/app/.state"}
		d.Write = []string{"/srv", "/srv/state"}
	})
	expect(t, p, expectation{"/srv/x", "+rwc"}, expectation{"/srv/state/audit", "-rwc"},
		expectation{"/home/ann/app/.state/x", "-rwc"})
}

func TestDeriveLists(t *testing.T) {
	t.Parallel()
	p := derive(t, func(d *document.Tools) {
		d.Hidden = []string{"secrets", "${project}/keys", "/usr/share/private", "~/app/**/*.pem"}
		d.Protected = []string{"generated/**", "/home/ann/app/LICENSE"}
		d.Roots = []document.Root{{Name: "app", Path: "${project}", Mode: "rw"}}
		d.Roots = append(d.Roots, document.Root{Name: "data", Path: "/data", Mode: "rw"})
	})
	expect(t, p,
		expectation{"/home/ann/app/a/secrets/x", "-rl"}, expectation{"/home/ann/app/keys/x", "-r"},
		expectation{"/home/ann/app/a/keys/x", "+r"}, expectation{"/usr/share/private/x", "-r"},
		expectation{"/home/ann/app/a/x.pem", "-r"}, expectation{"/home/ann/app/a/generated/x", "+r-wc"},
		expectation{"/home/ann/app/LICENSE", "+r-w"}, expectation{"/home/ann/app/a/LICENSE", "+rw"},
		expectation{"/data/a/secrets", "-r"}, expectation{"/data/a/generated/x", "+r-w"}, expectation{"/data/x.pem", "+r"},
	)
	alone := derive(t, func(d *document.Tools) {
		d.Project, d.Hidden, d.Read = "", []string{"secrets"},
			[]string{"/data"}
	})
	expect(t, alone, expectation{"/data/x", "+r-w"}, expectation{"/data/a/secrets", "-r"})
}

// R-OS-07: a built-in name of several elements holds in a further path in its middle: granting
// "~/x/.git" for a linked worktree does not grant its hooks.
func TestDeriveNamesAcrossFurtherPaths(t *testing.T) {
	t.Parallel()
	p := derive(t, func(t *document.Tools) {
		t.Write = []string{"~/x/.git", "/srv/.github", "/srv/m/.git/modules", "/srv/other/.git/hooks"}
	})
	expect(t, p,
		expectation{"/home/ann/x/.git/HEAD", "+rwc"}, expectation{"/home/ann/x/.git/config", "+r-wc"},
		expectation{"/home/ann/x/.git/hooks", "+r-wc"}, expectation{"/home/ann/x/.git/hooks/pre-push", "+r-wc"},
		expectation{"/home/ann/x/.git/refs/heads/hooks/config", "+rwc"},
		expectation{"/home/ann/x/.git/modules/a/config", "+r-wc"}, expectation{"/home/ann/x/.git/modules/a/HEAD", "+rwc"},
		expectation{"/home/ann/x/.git/worktrees/w/config.worktree", "+r-wc"},
		expectation{"/home/ann/x/.git/worktrees/w/index", "+rwc"},
		expectation{"/srv/.github/workflows/ci.yml", "+r-wc"}, expectation{"/srv/.github/dependabot.yml", "+rwc"},
		expectation{"/srv/m/.git/modules/a/hooks/x", "+r-wc"}, expectation{"/srv/m/.git/modules/a/HEAD", "+rwc"},
		expectation{"/srv/other/.git/hooks/x", "+rwc"}, // named itself
	)
}

func TestDerivePresets(t *testing.T) {
	t.Parallel()
	p := derive(t, func(d *document.Tools) {
		d.Presets = []string{"go", "rust", "node", "python", "c"}
		d.Environment.Set = map[string]string{"EXTRA": "1"}
		d.Cache = "/home/ann/.cache/sandboxd/app"
	})
	expect(t, p,
		expectation{"/home/ann/.cache/sandboxd/app/go-build/00/x", "+rwcx"},
		expectation{"/home/ann/go/pkg/mod/m/x.go", "+r-wc"}, expectation{"/home/ann/go/bin/tool", "+rx-w"},
		expectation{"/home/ann/.cargo/registry/src/x/build.rs", "+r-wcx"},
		expectation{"/home/ann/.cargo/bin/cargo", "+rx-wc"}, expectation{"/home/ann/.rustup/x", "+rx-w"},
		expectation{"/home/ann/.nvm/versions/node", "+rx-w"}, expectation{"/home/ann/.pyenv/shims/python", "+rx-w"},
		expectation{"/home/ann/.cache/sandboxd/app/.github/workflows/ci.yml", "+rwc"},
	)
	for _, other := range []string{".cache/sandboxd/other/go-build/00/x", ".cache/go-build/00/x", ".npm/_npx/x",
		".cache/pre-commit/x", ".ipython/profile_default/startup/x.py"} {
		if v := p.Allows(profile.OpWrite, "/home/ann/"+other); v.Allowed && !v.Private {
			t.Error(v.Why)
		}
	}
	for _, secret := range []string{".cargo/credentials.toml", ".npmrc", ".pypirc", ".config/pip/pip.conf",
		".local/share/uv/credentials/x"} {
		if v := p.Allows(profile.OpRead, "/home/ann/"+secret); v.Allowed && !v.Private {
			t.Error(v.Why)
		}
	}
	env, _ := p.Environment().Apply([]string{"PATH=/home/ann/evil", "HOME=/elsewhere", "GOOS=plan9", "LANG=C",
		"NPM_TOKEN=x"})
	if !slices.Contains(env, "HOME=/home/ann") || !slices.Contains(env, "GOOS=plan9") ||
		!slices.Contains(env, "TMPDIR=/tmp") || !slices.Contains(env, "EXTRA=1") ||
		!slices.Contains(env, "GOCACHE=/home/ann/.cache/sandboxd/app/go-build") {
		t.Errorf("got %q", env)
	}
	for _, entry := range env {
		if strings.HasPrefix(entry, "PATH=") && (strings.Contains(entry, "evil") ||
			!strings.Contains(entry, "/home/ann/.cargo/bin") || !strings.HasSuffix(entry, ":/usr/bin:/sbin:/bin")) {
			t.Errorf("got %q", entry)
		}
	}
	// A preset never reaches into the project.
	odd := derive(t, func(d *document.Tools) {
		d.Project, d.Trusted, d.Presets, d.Cache = "/home/ann/.cache", false, []string{"go"}, "/home/ann/.cache/sandboxd/app"
	})
	expect(t, odd, expectation{"/home/ann/.cache/sandboxd/app/x", "+r-wcx"})
	// Without a cache its variables are not set: the tools' own are in the private home then.
	none := derive(t, func(d *document.Tools) { d.Presets = []string{"go"} })
	if env, _ := none.Environment().Apply(nil); slices.ContainsFunc(env,
		func(e string) bool { return strings.HasPrefix(e, "GOCACHE=") }) {
		t.Errorf("without a cache: %q", env)
	}
}

// R-OS-07: what programs outside execute or trust, their caches included, no
// preset lets a command write; only the project's own cache.
func TestPresetsWriteNothingOfThePersons(t *testing.T) {
	t.Parallel()
	presets := document.Presets()
	for _, name := range []string{"aider", "claude", "codex", "copilot", "gemini", "opencode"} {
		p, ok := document.Agent(name)
		if !ok || p.Description == "" || len(p.Paths.Exec) == 0 || len(p.Network.Hosts) == 0 {
			t.Errorf("the agent %s: got %+v, %t", name, p, ok)
		}
		presets = append(presets, p)
	}
	for _, p := range presets {
		if len(p.Paths.Write) > 0 {
			t.Errorf("preset %s lets commands write %q", p.Name, p.Paths.Write)
		}
		for name, value := range p.Environment.Set {
			value = strings.TrimPrefix(value, "-Dmaven.repo.local=")
			path := strings.ContainsAny(value, "/~$")
			if path && value != "${cache}" && !strings.HasPrefix(value, "${cache}/") {
				t.Errorf("preset %s: %s=%q is no place of the project's own", p.Name, name, value)
			}
		}
		for at, from := range p.Lend {
			inside := func(dir string) bool { return from == dir || strings.HasPrefix(from, dir+"/") }
			if !filepath.IsLocal(at) || !slices.ContainsFunc(slices.Concat(p.Paths.Read, p.Paths.Exec), inside) {
				t.Errorf("preset %s: a link %q leads to %q, which commands may not read", p.Name, at, from)
			}
		}
	}
}

func TestDeriveRefuses(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*document.Tools){
		"holds the home directory":         func(d *document.Tools) { d.Project = "/home" },
		"project \"/\"":                    func(d *document.Tools) { d.Project = "/" },
		"holds the home directory; choose": func(d *document.Tools) { d.Project = "/home/ann" },
		"project \"app\" is not an":        func(d *document.Tools) { d.Project = "app" },
		"home \"/\" is everything":         func(d *document.Tools) { d.Home = "/" },
		"mode \"rx\", there are ro and rw": func(d *document.Tools) {
			d.Roots = []document.Root{{Name: "x", Path: "/x",
				Mode: "rx"}}
		},
		"sandbox \"x\": path \"x\"": func(d *document.Tools) {
			d.Roots = []document.Root{{Name: "x", Path: "x",
				Mode: "ro"}}
		},
		"read: path \"x\" is not absolute":  func(d *document.Tools) { d.Read = []string{"x"} },
		"did you mean \"rust\"":             func(d *document.Tools) { d.Presets = []string{"rast"} },
		"configuration, hidden":             func(d *document.Tools) { d.Hidden = []string{"[a"} },
		"derive profile limits":             func(d *document.Tools) { d.Limits.Processes = -1 },
		"not in /dev":                       func(d *document.Tools) { d.Devices = []string{"/x"} },
		"configuration, protected: path \"": func(d *document.Tools) { d.Protected = []string{"/x/../y"} },
	} {
		tools := document.Tools{Project: "/home/ann/app", Home: "/home/ann"}
		change(&tools)
		if _, err := document.Derive(tools); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "derive profile") && !strings.HasPrefix(err.Error(), "profile preset") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Derived profiles print, parse, and are within everything.
func TestDerivedProfilePrints(t *testing.T) {
	t.Parallel()
	p := session(t)
	d, err := document.Of(p)
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.Print()
	if err != nil {
		t.Fatal(err)
	}
	back, err := document.Parse("printed", text)
	if err != nil {
		t.Fatal(err)
	}
	if q, err := back.Profile(document.Variables{}); err != nil || !q.Equal(p) {
		t.Errorf("not the same: %v", err)
	}
	if more := p.Exceeds(profile.Everything()); more != nil {
		t.Errorf("exceeds everything by %v", more)
	}
}
