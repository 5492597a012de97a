package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The user's layer under the operator's (DESIGN §10).
func TestUserUnderOperator(t *testing.T) {
	for _, c := range []struct {
		name, operator, user string
		key                  string // join of the path
		want                 string // as show writes it
		warning              string // "" for none
	}{
		{"user alone", "", `network.mode = "full"`, "network.mode", `"full"`, ""},
		{"user is narrower", `network.mode = "full"`, `network.mode = "loopback"`, "network.mode", `"loopback"`, ""},
		{"user is wider", `network.mode = "loopback"`, `network.mode = "full"`, "network.mode", `"loopback"`, `network.mode = "full" is wider than the operator's "loopback"`},
		{"limit, smaller", `sandbox.limits.memory = "1GiB"`, `sandbox.limits.memory = 10000000`, "sandbox.limits.memory", `10000000`, ""},
		{"limit, larger", `sandbox.limits.memory = "1GiB"`, `sandbox.limits.memory = "2GB"`, "sandbox.limits.memory", `"1GiB"`, "wider"},
		{"limit, none", `sandbox.limits.processes = 10`, `sandbox.limits.processes = 0`, "sandbox.limits.processes", `10`, "wider"},
		{"limit, only the default above", "", `sandbox.limits.wall = "0s"`, "sandbox.limits.wall", `"0s"`, ""},
		{"wall, shorter in other words", `sandbox.limits.wall = "10m"`, `sandbox.limits.wall = "600s"`, "sandbox.limits.wall", `"600s"`, ""},
		{"strict stays", `approval.mode = "strict"`, `approval.mode = "interactive"`, "approval.mode", `"strict"`, "wider"},
		{"inline stays off", `approval.inline = false`, `approval.inline = true`, "approval.inline", "false", "wider"},
		{"required stays", `sandbox.require_os_sandbox = true`, `sandbox.require_os_sandbox = ["syscalls"]`, "sandbox.require_os_sandbox", "true", "wider"},
		{"required, more", `sandbox.require_os_sandbox = ["ipc"]`, `sandbox.require_os_sandbox = ["files", "ipc"]`, "sandbox.require_os_sandbox", `["files", "ipc"]`, ""},
		{"required, less", `sandbox.require_os_sandbox = ["ipc", "files"]`, `sandbox.require_os_sandbox = ["ipc"]`, "sandbox.require_os_sandbox", `["ipc", "files"]`, "wider"},
		{"fallback", `sandbox.os_sandbox_fallback = "fail_fast"`, `sandbox.os_sandbox_fallback = "refuse_tools"`, "sandbox.os_sandbox_fallback", `"fail_fast"`, "wider"},
		{"plain", `daemon.idle_timeout = "1m"`, `daemon.idle_timeout = "1h"`, "daemon.idle_timeout", `"1h"`, ""},
		{"granted paths", `sandbox.write = ["/srv/a", "~/b"]`, `sandbox.write = ["/srv/a/x", "/srv", "~/b", "/srv/ab"]`, "sandbox.write", `["/srv/a/x", "~/b"]`, `"/srv" is not within the operator's`},
		{"granted path by dots", `sandbox.read = ["/srv/a"]`, `sandbox.read = ["/srv/a/../b"]`, "sandbox.read", `[]`, "not within"},
		{"granted hosts", `network.allow = ["a.example", "b.example:22"]`, `network.allow = ["a.example:443", "a.example:22", "b.example"]`, "network.allow", `["a.example:443"]`, "not within"},
		{"granted ports", "network.allow = [\"a.example\"]\nnetwork.ports = [443]", `network.allow = ["a.example", "a.example:80"]`, "network.allow", `["a.example"]`, "not within"},
		{"granted hosts below", `network.allow = ["*.a.example:443"]`, `network.allow = ["b.a.example:443", "a.example:443", "*.b.a.example:443"]`, "network.allow", `["b.a.example:443", "*.b.a.example:443"]`, "not within"},
		{"ports stay the operator's", `network.allow = ["a.example"]`, `network.ports = [22, 443]`, "network.ports", `[443]`, "22 is not within"},
		{"denied hosts", `network.deny = ["a.example"]`, `network.deny = ["b.example"]`, "network.deny", `["a.example", "b.example"]`, ""},
		{"granted variables", `environment.pass = ["LC_*", "TZ"]`, `environment.pass = ["LC_ALL", "L*", "TZ", "HOME"]`, "environment.pass", `["LC_ALL", "TZ"]`, "not within"},
		{"variables of both", `environment.set = {A = "1"}`, `environment.set = {A = "2", B = "3"}`, "environment.set", `{A = "1", B = "3"}`, "the operator sets A"},
		{"forbidden by both", `sandbox.hidden = ["/a"]`, `sandbox.hidden = ["/b", "/a"]`, "sandbox.hidden", `["/a", "/b"]`, ""},
		{"denied by both", `permissions.deny = ["a"]`, `permissions.deny = ["b"]`, "permissions.deny", `["a", "b"]`, ""},
		{"rules in order", `shell.rules = [{pattern = "o"}]`, `shell.rules = [{pattern = "u"}]`, "shell.rules", `[{pattern = "o"}, {pattern = "u"}]`, ""},
		{"allowed in order", `permissions.allow = ["o"]`, `permissions.allow = ["u"]`, "permissions.allow", `["o", "u"]`, ""},
		{"unprotected, of the built-in ones", "", `files.unprotected = ["Makefile"]`, "files.unprotected", `["Makefile"]`, ""},
		{"unprotected, of the operator's", `files.protected = ["Makefile"]`, `files.unprotected = ["go.sum", "Makefile"]`, "files.unprotected", `["go.sum"]`, "the operator has"},
		{"unprotected, of the operator's in another case", `files.protected = ["Deploy"]`, `files.unprotected = ["deploy", "go.sum"]`, "files.unprotected", `["go.sum"]`, "the operator has"},
		{"presets", `presets.use = ["go"]`, `presets.use = ["node", "go"]`, "presets.use", `["go"]`, `"node" is not within`},
		{"sandbox, narrowed", "[files.paths.a]\nroot = \"x\"\nmode = \"rw\"\n", "[files.paths.a]\nmode = \"ro\"\n", "files.paths.a.mode", `"ro"`, ""},
		{"sandbox, widened", "[files.paths.a]\nroot = \"x\"\nmode = \"ro\"\n", "[files.paths.a]\nmode = \"rw\"\n", "files.paths.a.mode", `"ro"`, "wider"},
		{"sandbox, moved", "[files.paths.a]\nroot = \"x\"\n", "[files.paths.a]\nroot = \"/srv\"\n", "files.paths.a.root", `"x"`, "wider"},
		{"sandbox, question switched off", "[files.paths.a]\nroot = \"x\"\n", "[files.paths.a]\nwrite_approval = false\n", "files.paths.a.write_approval", "", "wider"},
		{"sandbox, new inside", "[files.paths.a]\nroot = \"x\"\nmode = \"rw\"\n", "[files.paths.b]\nroot = \"x/y\"\nmode = \"rw\"\n", "files.paths.b.mode", `"rw"`, ""},
		{"sandbox, new inside read-only", "[files.paths.a]\nroot = \"x\"\n", "[files.paths.b]\nroot = \"x/y\"\nmode = \"rw\"\n", "files.paths.b.mode", "", "read-only: mode ignored"},
		{"sandbox, new outside", "[files.paths.a]\nroot = \"x\"\n", "[files.paths.b]\nroot = \"y\"\n", "files.paths.b.root", "", "is in none"},
		{"sandbox, new in what is hidden", "files.hidden = [\"keys\"]\n", "[files.paths.b]\nroot = \"Keys/y\"\n", "files.paths.b.root", "", "the operator's files.hidden"},
		{"sandbox, new in what is read-only", "files.read_only = [\"vendor\"]\n", "[files.paths.b]\nroot = \"/srv/vendor\"\nmode = \"rw\"\n", "files.paths.b.root", "", "the operator's files.read_only"},
		{"sandbox, new in what is protected", "[files.paths.a]\nroot = \"x\"\nmode = \"rw\"\n", "[files.paths.b]\nroot = \"x/.git\"\nmode = \"rw\"\n", "files.paths.b.root", "", "files.protected names"},
		{"sandbox, new in what is protected of the project", "[files.paths.a]\nroot = \".\"\nmode = \"rw\"\n", "[files.paths.b]\nroot = \".git\"\nmode = \"rw\"\n", "files.paths.b.root", "", "files.protected names"},
		{"sandbox, inside the operator's that is such a name", "[files.paths.a]\nroot = \".git\"\nmode = \"rw\"\n", "[files.paths.b]\nroot = \".git/y\"\nmode = \"rw\"\n", "files.paths.b.root", `".git/y"`, ""},
		{"sandbox, of the user's own hidden", "", "files.hidden = [\"keys\"]\n[files.paths.b]\nroot = \"keys\"\n", "files.paths.b.root", `"keys"`, ""},
		{"sandbox, suffixes kept", "[files.paths.a]\nroot = \"x\"\nsuffixes = [\".go\"]\n", "[files.paths.b]\nroot = \"x/y\"\n", "files.paths.b.suffixes", `[".go"]`, ""},
		{"sandbox, suffixes not emptied", "[files.paths.a]\nroot = \"x\"\nsuffixes = [\".go\"]\n", "[files.paths.a]\nsuffixes = []\n", "files.paths.a.suffixes", `[".go"]`, "wider"},
		{"sandbox, the user's only", "", "[files.paths.a]\nroot = \"x\"\n", "files.paths.project.root", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, warnings := load(t, c.operator, c.user)
			got := ""
			if e, ok := cfg.layers.entries[c.key]; ok {
				got = show(e.value)
			}
			if got != c.want {
				t.Errorf("%s: got %s, want %s", c.key, got, c.want)
			}
			text := ""
			for _, w := range warnings {
				text += w.String() + "\n"
			}
			if (c.warning == "") != (text == "") || !strings.Contains(text, c.warning) {
				t.Errorf("warnings: got %q, want %q", text, c.warning)
			}
		})
	}
}

// R-SH-05: a deny that holds for fewer commands than it seems to says so.
func TestBarelyDenied(t *testing.T) {
	_, warnings := load(
		t,
		`permissions.deny = ["Bash(git push)", "Bash(git push *)", "Bash(rm)", "Bash(npm publish:*)", "Bash(rm -rf)", "WebFetch", "Bash(make a b)"]`,
		"",
	)
	if len(warnings) != 1 || warnings[0].Origin.Line != 1 ||
		!strings.Contains(warnings[0].Text, `write "Bash(git push *)"`) {
		t.Errorf("warnings: %v", warnings)
	}
}

func TestShellNetworkFollows(t *testing.T) {
	for _, c := range []struct{ user, want string }{
		{"", "loopback"},
		{`network.mode = "full"`, "full"},
		{"network.mode = \"full\"\nshell.network = \"loopback\"", "loopback"},
		{`shell.network = "full"`, "loopback"},
	} {
		cfg, _ := load(t, "", c.user)
		if cfg.Shell.Network != c.want {
			t.Errorf("%q: the shell gets %q, want %q", c.user, cfg.Shell.Network, c.want)
		}
	}
}

// A file that others could have written does not count.
func TestWhoMayWrite(t *testing.T) {
	good := "[network]\nmode = \"none\"\n"
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want string // "" loads
	}{
		{"own", func(t *testing.T, path string) {}, ""},
		{"group-writable", func(t *testing.T, path string) { must(t, os.Chmod(path, 0o660)) },
			"can be written by others (mode 0660); `chmod go-w "},
		{"world-writable", func(t *testing.T, path string) { must(t, os.Chmod(path, 0o602)) }, "can be written by others"},
		{"folder", func(t *testing.T, path string) { must(t, os.Chmod(filepath.Dir(path), 0o777)) },
			"can be written by others"},
		{"sticky folder", func(t *testing.T, path string) { must(t, os.Chmod(filepath.Dir(path), 0o777|os.ModeSticky)) }, ""},
		{"a FIFO", func(t *testing.T, path string) { must(t, os.Remove(path)); must(t, syscall.Mkfifo(path, 0o600)) },
			"not a regular file"},
		{"a folder", func(t *testing.T, path string) { must(t, os.Remove(path)); must(t, os.Mkdir(path, 0o700)) },
			"not a regular file"},
		{"too large", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte("#"+strings.Repeat("x", maxFile)), 0o600))
		}, "larger than 1MiB"},
		{"not UTF-8", func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("# \xff\n"), 0o600)) },
			"not UTF-8"},
		{"a link to a file of ours", func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".real"))
			must(t, os.Symlink(path+".real", path))
		}, ""},
		// A limit behind a link to what is not mounted is not "no limit".
		{"a link to nothing", func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, os.Symlink("/nosuch/c.toml", path))
		}, `a link to "/nosuch/c.toml", which is not there`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "c.toml", good)
			c.make(t, path)
			dir := filepath.Join(t.TempDir(), "profile.d")
			must(t, os.Mkdir(dir, 0o700))
			_, _, err := Load(Paths{User: path})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if os.Geteuid() == 0 {
		path := write(t, "c.toml", good)
		must(t, os.Chown(path, 12345, 12345))
		if _, _, err := Load(Paths{Operator: path}); err == nil || !strings.Contains(err.Error(), "belongs to uid 12345") {
			t.Errorf("another user's file: %v", err)
		}
	}
}

func TestProfileDirectory(t *testing.T) {
	dead := filepath.Join(t.TempDir(), "profile.d")
	must(t, os.Symlink("/nosuch", dead))
	if _, _, err := Load(Paths{ProfileDir: dead}); err == nil || !strings.Contains(err.Error(), "which is not there") {
		t.Errorf("a folder that is a dead link: %v", err)
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "b.toml"), []byte("base = \"everything\"\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "a.toml"), []byte("# a\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("no"), 0o600))
	cfg, _, err := Load(Paths{ProfileDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Profiles) != 2 || cfg.Profiles[0].Text != "# a\n" || cfg.Profiles[0].Document == nil ||
		cfg.Profiles[1].File != filepath.Join(dir, "b.toml") {
		t.Errorf("got %+v", cfg.Profiles)
	}
	must(t, os.WriteFile(filepath.Join(dir, "a.toml"), []byte("\nbaze = 1\n"), 0o600))
	if _, _, err := Load(Paths{ProfileDir: dir}); err == nil ||
		!strings.Contains(err.Error(), filepath.Join(dir, "a.toml")+":2:1") {
		t.Errorf("a profile with an unknown key: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "a.toml"), []byte("# a\n"), 0o600))
	must(t, os.Chmod(filepath.Join(dir, "a.toml"), 0o666))
	if _, _, err := Load(Paths{ProfileDir: dir}); err == nil ||
		!strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("a profile that others can write: %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "a.toml")))
	must(t, os.Symlink("nowhere", filepath.Join(dir, "a.toml")))
	if _, _, err := Load(Paths{ProfileDir: dir}); err == nil {
		t.Error("a profile that is a dead link is left out silently")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// The words of the specifications for sandboxes are refused with those of ours.
//
//   - Row 000-39 yes: the key [sandbox.paths.X] of the specification is refused by naming
//     [files.paths.X]
//   - Row 000-48 yes: the key sandbox_paths of a rule is refused by naming paths
//   - Row 000-62 yes: tool_rules is gone: one place of configuration for each tool
func TestSpecificationWords(t *testing.T) {
	for text, want := range map[string]string{
		"[sandbox.paths.notes]\nroot = \"notes\"\n":                       "here it is [files.paths.NAME]",
		"sandbox = {paths = {notes = {root = \"notes\"}}}\n":              "here it is [files.paths.NAME]",
		"[[shell.rules]]\npattern = \"x\"\nsandbox_paths = [\"notes\"]\n": "here it is paths of a [[shell.rules]]",
		"[tool_rules]\nwrite_file = \"ask\"\n":                            "here it is tools.rules",
	} {
		if _, _, err := Load(Paths{User: write(t, "c.toml", text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
