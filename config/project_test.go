package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sandboxd/files"
)

func projectDir(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, ProjectFile), []byte(text), 0o644))
	return dir
}

// What a project's file may say, and what becomes of the rest (DESIGN §10).
func TestProjectOnlyTightens(t *testing.T) {
	const user = `
[network]
mode = "loopback"
listen = [8080, 9090]
[sandbox]
write = ["/srv"]
[sandbox.limits]
wall = "5m"
processes = 0
[[shell.rules]]
pattern = "make"
approval = false
[files.paths.here]
root = "."
mode = "rw"
write_approval = false
`
	for _, c := range []struct {
		name, text string
		key, want  string
		warning    string
	}{
		{"nothing", "", "network.mode", `"loopback"`, ""},
		{"hidden paths", `sandbox.hidden = ["secret"]`, "sandbox.hidden", `["secret"]`, ""},
		{"read-only paths", `files.read_only = ["vendor"]`, "files.read_only", `["vendor"]`, ""},
		{"narrower network", `network.mode = "none"`, "network.mode", `"none"`, ""},
		{"wider network", `network.mode = "full"`, "network.mode", `"loopback"`, `network.mode = "full" is wider than "loopback"`},
		{"fewer ports", `network.listen = [9090]`, "network.listen", `[9090]`, ""},
		{"more ports", `network.listen = [9090, 22]`, "network.listen", `[9090]`, "22 is not within"},
		{"shorter", `sandbox.limits.wall = "1m"`, "sandbox.limits.wall", `"1m"`, ""},
		{"longer", `sandbox.limits.wall = "1h"`, "sandbox.limits.wall", `"5m"`, "wider"},
		{"without limit", `sandbox.limits.wall = "0s"`, "sandbox.limits.wall", `"5m"`, "wider"},
		{"a limit where there was none", `sandbox.limits.processes = 9`, "sandbox.limits.processes", `9`, ""},
		{"a grant", `sandbox.write = ["/etc"]`, "sandbox.write", `["/srv"]`, "a project's file can only tighten"},
		{"a smaller grant", `sandbox.write = []`, "sandbox.write", `["/srv"]`, "a project's file can only tighten"},
		{"a variable", `environment.set = {LD_PRELOAD = "x.so"}`, "environment.set", `{}`, "a project's file can only tighten"},
		{"permission to run", `permissions.allow = ["Bash(rm *)"]`, "permissions.allow", `[]`, "a project's file can only tighten"},
		{"a key that nobody knows", `sandbox.hiden = ["x"]`, "sandbox.hidden", `[]`, `did you mean "hidden"?`},
		{"a wrong value in what it may not set", `daemon.roots = 3`, "daemon.roots", `[]`, "ignored, a project's file cannot set this"},
		{"safe paths", `files.safe = ["**"]`, "files.auto_safe", `true`, "a project's file can only tighten"},
		{"unprotected", `files.unprotected = [".git"]`, "files.unprotected", `[]`, "a project's file can only tighten"},
		{"a question", "[files.paths.here]\nwrite_approval = true\n", "files.paths.here.write_approval", `true`, ""},
		{"read-only sandbox", "[files.paths.here]\nmode = \"ro\"\n", "files.paths.here.mode", `"ro"`, ""},
		{"another root", "[files.paths.here]\nroot = \"/\"\n", "files.paths.here.root", `"."`, ""},
		{"a sandbox of its own", "[files.paths.mine]\nroot = \"/etc\"\n", "files.paths.mine.root", ``, ""},
		{"socket", `daemon.socket_dir = "/tmp/x"`, "daemon.socket_dir", `""`, "a project's file can only tighten"},
		{"gateway", `gateway.listen = "127.0.0.1:1"`, "gateway.listen", `""`, "and cannot set this"},
		{"tools", `tools.unknown = "allow"`, "tools.unknown", `"ask"`, "a project's file can only tighten"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, _ := load(t, "", user)
			before := base.Digest()
			cfg, warnings, err := base.ForProject(projectDir(t, c.text))
			if err != nil {
				t.Fatal(err)
			}
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
			if !strings.Contains(text, c.warning) || c.warning != "" && !strings.Contains(text, ProjectFile+":") {
				t.Errorf("warnings: got %q, want %q", text, c.warning)
			}
			if base.Digest() != before {
				t.Error("the base was changed")
			}
		})
	}
}

// A project's rules ask or deny, say nothing to people, and stand apart.
func TestProjectRules(t *testing.T) {
	base, _ := load(t, "", "")
	dir := projectDir(t, `
[[shell.rules]]
pattern = "rm"
allowed = false
[[shell.rules]]
pattern = "make"
description = "perfectly harmless"
network = "full"
[[shell.rules]]
pattern = "curl"
approval = false
[[tools.rules]]
tool = "browser"
decision = "deny"
[[tools.rules]]
tool = "mail"
decision = "allow"
[permissions]
ask = ["Bash(git push *)"]
deny = ["write_file"]
`)
	cfg, warnings, err := base.ForProject(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Shell.Rules) != 0 || len(cfg.Tools.Rules) != 0 || len(cfg.Shell.Permissions.Deny) != 0 {
		t.Errorf("the project's rules are among the trusted ones: %+v", cfg.Shell)
	}
	p := cfg.Project
	if len(p.Shell.Rules) != 2 || p.Shell.Rules[1].Description != "" || p.Shell.Rules[1].Network != "" ||
		p.Shell.Rules[0].Operator {
		t.Errorf("rules: %+v", p.Shell.Rules)
	}
	if want := filepath.Join(dir, ProjectFile) + ":5"; p.Shell.Rules[1].Origin != want {
		t.Errorf("the rule comes from %q, want %q", p.Shell.Rules[1].Origin, want)
	}
	if len(p.Tools.Rules) != 1 || p.Tools.Rules[0].Tool != "browser" || p.Tools.Unknown != "allow" {
		t.Errorf("tools: %+v", p.Tools)
	}
	if len(p.Shell.Permissions.Ask) != 1 || len(p.Shell.Permissions.Deny) != 1 {
		t.Errorf("permissions: %+v", p.Shell.Permissions)
	}
	if len(warnings) != 4 {
		t.Errorf("warnings: %v", warnings)
	}
	plain, _, err := base.ForProject(t.TempDir())
	if err != nil || plain.Project.File != "" {
		t.Errorf("a project without a file: %+v, %v", plain.Project, err)
	}
	if plain.Digest() == cfg.Digest() {
		t.Error("a project's rules are not part of the digest")
	}
	if got := plain.Shell.Paths["project"]; !filepath.IsAbs(got) {
		t.Errorf("the project's root is %q", got)
	}
}

// What cannot be understood stops the project, not the daemon.
func TestProjectFailsClosed(t *testing.T) {
	outside := write(t, "outside.toml", "[network]\nmode = \"none\"\n")
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"not TOML", text("hidden = ["), "not TOML"},
		{"wrong type of what hides", text("[sandbox]\nhidden = \"secret\"\n"), "sandbox.hidden: want a list"},
		{"wrong element of what hides", text("[files]\nhidden = [\"a\", 3]\n"), "files.hidden[1]"},
		{"a section that is a value", text("sandbox = 3\n"), "sandbox is a table"},
		{"a rule with a wrong value", text("[[shell.rules]]\npattern = 3\nallowed = false\n"), "shell.rules"},
		{"yolo", text("[approval]\nyolo_mode = true\n"), "--mode approve-all"}, // R-AP-18
		{"approve-all", text("[approval]\nmode = \"approve-all\"\n"), "--mode approve-all"},
		{"not enabled", text("[permissions]\nenabled = false\n"), "--mode approve-all"},
		{"too large", text("#" + strings.Repeat("x", maxProjectFile)), "larger than 256KiB"},
		{"not UTF-8", text("# \xff"), "not UTF-8"},
		{"a link that leaves", func(t *testing.T, path string) { must(t, os.Symlink(outside, path)) }, "escapes"},
		{"a link by dots", func(t *testing.T, path string) { must(t, os.Symlink("../x", path)) }, "escapes"},
		{"a dead link", func(t *testing.T, path string) { must(t, os.Symlink("nothing", path)) }, "no such file"},
		{"a FIFO", func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o644)) }, "not a regular file"},
		{"a folder", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o755)) }, "not a regular file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, _ := load(t, "", "")
			dir := t.TempDir()
			c.make(t, filepath.Join(dir, ProjectFile))
			start := time.Now()
			cfg, _, err := base.ForProject(dir)
			if err == nil || cfg != nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "until its file is mended or removed") {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %s", d)
			}
		})
	}
	base, _ := load(t, "", "")
	if _, _, err := base.ForProject("relative"); err == nil {
		t.Error("a relative root is taken")
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "real.toml"), []byte("[network]\nmode = \"none\"\n"), 0o644))
	must(t, os.Symlink("real.toml", filepath.Join(dir, ProjectFile)))
	if _, _, err := base.ForProject(dir); err != nil {
		t.Errorf("a link inside the project: %v", err)
	}
}

func text(s string) func(*testing.T, string) {
	return func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(s), 0o644)) }
}

// Property: whatever a project's file holds, nothing gets wider. The judge
// below looks at the decoded structs, not at how they were merged.
func TestProjectNeverWidens(t *testing.T) {
	var bases []*Config
	for _, user := range []string{"", `
[network]
mode = "full"
listen = [80, 8080]
allow = ["a.example", "b.example:22"]
[sandbox]
read = ["/srv"]
write = ["~/x"]
hidden = ["/srv/secret"]
[sandbox.limits]
wall = "0s"
memory = 0
processes = 100
[files.paths.a]
root = "."
mode = "rw"
write_approval = false
[files.paths.b]
root = "data"
suffixes = [".csv"]
`} {
		cfg, _ := load(t, "", user)
		bases = append(bases, cfg)
	}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		base := bases[rapid.IntRange(0, len(bases)-1).Draw(t, "base")]
		text := projectText(t)
		dir, err := os.MkdirTemp("", "project")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		if err := os.WriteFile(filepath.Join(dir, ProjectFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := base.ForProject(dir)
		if err != nil {
			return // refused: nothing runs
		}
		accepted++
		for _, w := range widened(base, cfg) {
			t.Errorf("%s", w)
		}
		if t.Failed() {
			t.Logf("file:\n%s", text)
		}
	})
	if accepted == 0 {
		t.Error("no generated file was accepted: the test proves nothing")
	}
}

// projectText writes a file out of all keys there are, with values of the right
// type mostly.
func projectText(t *rapid.T) string {
	var b strings.Builder
	n := rapid.IntRange(0, 8).Draw(t, "settings")
	used := map[string]bool{}
	for i := range n {
		k := rapid.SampledFrom(keys).Draw(t, fmt.Sprintf("key%d", i))
		name := strings.ReplaceAll(k.name, "*", rapid.SampledFrom([]string{"a", "b", "project", "new"}).Draw(t, "name"))
		if used[name] {
			continue
		}
		used[name] = true
		fmt.Fprintf(&b, "%s = %s\n", name, anyValue(t, k))
	}
	return b.String()
}

func anyValue(t *rapid.T, k key) string {
	n := shape
	for _, part := range strings.Split(k.name, ".") {
		n = n.children[part]
	}
	switch {
	case len(k.words) > 0:
		return fmt.Sprintf("%q", rapid.SampledFrom(k.words).Draw(t, "word"))
	case k.name == "shell.rules":
		return rapid.SampledFrom([]string{`[{pattern = "make", approval = false}]`, `[{pattern = "rm", allowed = false}]`,
			`[{pattern = "x", network = "full"}, {pattern = "y", allowed = true}]`}).Draw(t, "rules")
	case k.name == "tools.rules":
		return rapid.SampledFrom([]string{`[{tool = "x", decision = "allow"}]`, `[{tool = "x", decision = "deny"}]`}).Draw(t,
			"rules")
	case strings.HasPrefix(k.name, "sandbox.limits."):
		switch {
		case strings.HasSuffix(k.name, "wall"), strings.HasSuffix(k.name, "cpu"):
			return rapid.SampledFrom([]string{`"0s"`, `"1s"`, `"9m"`, `"100h"`}).Draw(t, "span")
		default:
			return rapid.SampledFrom([]string{"0", "1", "99", "513", "999999999999"}).Draw(t, "limit")
		}
	}
	lists := map[string][]string{
		"network.listen": {"[]", "[80]", "[80, 22]", "[8080]"},
		"network.allow":  {`["a.example:443"]`, `["evil.example"]`, `["b.example"]`, "[]"},
	}
	if l, ok := lists[k.name]; ok {
		return rapid.SampledFrom(l).Draw(t, "list")
	}
	return rapid.SampledFrom([]string{`["x"]`, `["x", "y/z"]`, "true", "false", "[]", `"."`, `"/etc"`, `"1h"`, "7",
		`{A = "b"}`}).Draw(t, "any")
}

// widened lists what cfg permits and base does not.
func widened(base, cfg *Config) (out []string) {
	no := func(ok bool, what string) {
		if !ok {
			out = append(out, what)
		}
	}
	same := func(what string, a, b any) { no(fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b), what+" changed") }
	covers := func(what string, have, must []string) {
		for _, m := range must {
			no(slices.Contains(have, m), what+" lost "+m)
		}
	}
	same("daemon", base.Daemon, cfg.Daemon)
	same("approval", base.Approval, cfg.Approval)
	same("environment", base.Environment, cfg.Environment)
	same("audit", base.Audit, cfg.Audit)
	same("gateway", base.Gateway, cfg.Gateway)
	same("presets", base.Presets, cfg.Presets)
	same("tools", base.Tools, cfg.Tools)
	same("permissions", base.Permissions, cfg.Permissions)
	a, b := base.Shell, cfg.Shell
	no(wordIndex(networkModes, b.Network) >= wordIndex(networkModes, a.Network), "shell network")
	a.Network, b.Network, b.Paths = "", "", nil
	same("shell", a.Rules, b.Rules)
	same("shell safe commands", a.SafeCommands, b.SafeCommands)
	same("shell default", *a.Default.Allowed, *b.Default.Allowed)
	same("shell default", *a.Default.Approval, *b.Default.Approval)
	same("shell search path", a.SearchPath, b.SearchPath)

	same("sandbox.read", base.Sandbox.Read, cfg.Sandbox.Read)
	same("sandbox.write", base.Sandbox.Write, cfg.Sandbox.Write)
	same("sandbox.require", base.Sandbox.RequireOSSandbox, cfg.Sandbox.RequireOSSandbox)
	same("sandbox.fallback", base.Sandbox.OSSandboxFallback, cfg.Sandbox.OSSandboxFallback)
	covers("sandbox.hidden", cfg.Sandbox.Hidden, base.Sandbox.Hidden)
	covers("sandbox.read_only", cfg.Sandbox.ReadOnly, base.Sandbox.ReadOnly)
	bl, cl := base.Sandbox.Limits, cfg.Sandbox.Limits
	for _, l := range []struct {
		what string
		a, b int64
	}{
		{"wall", int64(bl.Wall), int64(cl.Wall)}, {"cpu", int64(bl.CPU), int64(cl.CPU)},
		{"memory", int64(bl.Memory), int64(cl.Memory)}, {"processes", int64(bl.Processes), int64(cl.Processes)},
		{"open files", int64(bl.OpenFiles), int64(cl.OpenFiles)}, {"file size", int64(bl.FileSize), int64(cl.FileSize)},
		{"output", int64(bl.Output), int64(cl.Output)}, {"tmp", int64(bl.Tmp), int64(cl.Tmp)},
		{"layer", int64(bl.Layer), int64(cl.Layer)},
	} {
		no(l.a == 0 || l.b != 0 && l.b <= l.a, "limit "+l.what)
	}
	no(cfg.Landing.Deletes <= base.Landing.Deletes, "landing.deletes")
	no(wordIndex(networkModes, cfg.Network.Mode) >= wordIndex(networkModes, base.Network.Mode), "network mode")
	for _, h := range cfg.Network.Allow {
		name, port, _ := strings.Cut(h, ":")
		no(slices.Contains(base.Network.Allow, h) || slices.Contains(base.Network.Allow, name) &&
			(port == "80" || port == "443"), "host "+h)
	}
	for _, p := range cfg.Network.Listen {
		no(slices.Contains(base.Network.Listen, p), fmt.Sprint("port ", p))
	}
	out = append(out, widenedFiles(base.Files, cfg.Files)...)
	return out
}

func widenedFiles(a, b files.Config) (out []string) {
	no := func(ok bool, what string) {
		if !ok {
			out = append(out, "files: "+what)
		}
	}
	no(a.AutoSafe == b.AutoSafe && slices.Equal(a.Safe, b.Safe) && len(b.Unprotected) == len(a.Unprotected), "safe")
	no(a.MaxFile == b.MaxFile && a.Undo == b.Undo, "sizes")
	for what, l := range map[string][2][]string{
		"protected": {a.Protected, b.Protected}, "hidden": {a.Hidden, b.Hidden}, "read_only": {a.ReadOnly, b.ReadOnly},
	} {
		for _, p := range l[0] {
			no(slices.Contains(l[1], p), what+" lost "+p)
		}
	}
	no(len(a.Paths) == len(b.Paths), "number of sandboxes")
	for name, s := range b.Paths {
		old, ok := a.Paths[name]
		no(ok && s.Root == old.Root, "root of "+name)
		no(s.Mode != "rw" || old.Mode == "rw", "mode of "+name)
		no(len(old.Suffixes) == 0 || slices.Equal(s.Suffixes, old.Suffixes), "suffixes of "+name)
		no(s.WriteApproval == nil && old.WriteApproval == nil || s.WriteApproval != nil && *s.WriteApproval ||
			old.WriteApproval != nil && s.WriteApproval != nil && *old.WriteApproval == *s.WriteApproval, "write_approval of "+
			name)
		no(s.ReadApproval == nil && old.ReadApproval == nil || s.ReadApproval != nil &&
			(*s.ReadApproval || old.ReadApproval != nil && *old.ReadApproval == *s.ReadApproval), "read_approval of "+name)
	}
	return out
}
