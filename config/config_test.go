package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sandboxd/files"
	"sandboxd/shell"
)

// write puts a file of mode 0600 into a fresh folder.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t testing.TB, operator, user string) (*Config, []Warning) {
	t.Helper()
	cfg, warnings, err := Load(Paths{Operator: write(t, "operator.toml", operator), User: write(t, "user.toml", user)})
	if err != nil {
		t.Fatal(err)
	}
	return cfg, warnings
}

func shown(t testing.TB, c *Config) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Show(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The table of keys and the structs name the same settings.
func TestKeysMatchStructs(t *testing.T) {
	inStructs := map[string]bool{}
	var walk func(n *node, path []string)
	walk = func(n *node, path []string) {
		if n.leaf {
			inStructs[strings.Join(path, ".")] = true
			return
		}
		for name, c := range n.children {
			walk(c, append(path[:len(path):len(path)], name))
		}
	}
	walk(shape, nil)
	for _, k := range keys {
		if !inStructs[k.name] {
			t.Errorf("keys names %s, the structs do not have it", k.name)
		}
		delete(inStructs, k.name)
		if k.doc == "" {
			t.Errorf("%s has no doc", k.name)
		}
		if k.merge == narrow && k.within == nil && k.words == nil {
			t.Errorf("%s is narrow and has no order", k.name)
		}
	}
	for name := range inStructs {
		t.Errorf("the structs have %s, keys does not name it", name)
	}
}

// With no file at all, what Load gives is the table of defaults in the code.
func TestDefaults(t *testing.T) {
	cfg, warnings, err := Load(Paths{})
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := defaults()
	empty := cmp.FilterValues(
		func(a, b []string) bool { return len(a) == 0 && len(b) == 0 },
		cmp.Comparer(func(a, b []string) bool { return true }),
	)
	opts := cmp.Options{
		empty,
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".layers" }, cmp.Ignore()),
		cmp.Comparer(func(a, b []shell.Permission) bool { return len(a) == len(b) }),
		cmp.Comparer(func(a, b []shell.Rule) bool { return len(a) == len(b) }),
		cmp.Comparer(func(a, b []ToolRule) bool { return len(a) == len(b) }),
		cmp.Comparer(func(a, b map[string]string) bool { return len(a) == len(b) }),
		cmp.Comparer(func(a, b []int) bool { return len(a) == len(b) }),
	}
	if diff := cmp.Diff(want.Files, cfg.Files, opts); diff != "" {
		t.Errorf("files (-code +loaded):\n%s", diff)
	}
	if diff := cmp.Diff(want.Sandbox, cfg.Sandbox, opts); diff != "" {
		t.Errorf("sandbox (-code +loaded):\n%s", diff)
	}
	if diff := cmp.Diff(want.Daemon, cfg.Daemon, opts); diff != "" {
		t.Errorf("daemon (-code +loaded):\n%s", diff)
	}
	if cfg.Approval != want.Approval {
		t.Errorf("approval: got %+v, want %+v", cfg.Approval, want.Approval)
	}
	if o := cfg.Origin("sandbox.limits.wall"); o.String() != "built-in" {
		t.Errorf("origin of a default: %s", o)
	}
}

// What Show prints is a layer that says the same.
func TestShowIsALayer(t *testing.T) {
	cfg, _ := load(t, `
[network]
mode = "loopback"
[environment]
set = {A = "1", "B C" = "\"x\""}
[[shell.rules]]
pattern = "git push"
allowed = false
examples = {match = ["git push origin"], not_match = ["git pull"]}
[files.paths."odd name"]
root = "."
mode = "rw"
suffixes = [".go"]
`, `
[permissions]
deny = ["Bash(curl *)", {tool = "edit", when = {file_path = "*.md"}}]
[sandbox]
require_os_sandbox = ["syscalls"]
`)
	text := shown(t, cfg)
	again, _, err := Load(Paths{User: write(t, "shown.toml", text)})
	if err != nil {
		t.Fatalf("what Show wrote does not load: %v\n%s", err, text)
	}
	if cfg.Digest() != again.Digest() {
		t.Errorf("what Show wrote says something else:\n%s\n--- again\n%s", text, shown(t, again))
	}
}

// Every value keeps its place.
func TestOrigins(t *testing.T) {
	operator := write(t, "operator.toml", "[sandbox.limits]\nwall = \"5m\"\n\n[[shell.rules]]\npattern = \"make\"\n")
	user := write(
		t,
		"user.toml",
		"[files]\nhidden = [\n  \"*.key\",\n  \"*.pem\",\n]\n[[shell.rules]]\npattern = \"ninja\"\n[permissions]\nallow = "+
			"[\"Bash(ls)\",\n \"Bash(pwd)\"]\n",
	)
	cfg, _, err := Load(Paths{Operator: operator, User: user})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"sandbox.limits.wall": operator + ":2",
		"sandbox.limits.cpu":  "built-in",
		"shell.rules[0]":      operator + ":4",
		"shell.rules[1]":      user + ":6",
		"files.hidden[0]":     "built-in",
		"files.hidden[" + itoa(len(files.DefaultHidden())+1) + "]": user + ":4",
		"permissions.allow[1]": user + ":10",
		"no.such.key":          "built-in",
		"shell.rules[99]":      "built-in",
	} {
		if got := cfg.Origin(name).String(); got != want {
			t.Errorf("origin of %s: got %s, want %s", name, got, want)
		}
	}
	if r := cfg.Shell.Rules; r[0].Origin != operator+":4" || !r[0].Operator || r[1].Origin != user+":6" || r[1].Operator {
		t.Errorf("the rules do not know where they stand: %+v", r)
	}
	if a := cfg.Shell.Permissions.Allow[1]; a.Origin != user+":10" || a.Operator {
		t.Errorf("the permission has the wrong origin: %+v", a)
	}
	if text := shown(t, cfg); !strings.Contains(text, `wall = "5m" # `+operator+":2\n") {
		t.Errorf("Show does not name the origin:\n%s", text)
	}
}

// A file that is wrong says where and what to do.
//
//   - Row 001-04 yes (yolo): yolo is in no configuration
//   - Row 001-39 different (safe_file_patterns): safe_file_patterns, regular expressions of one's own
//     | files.safe takes globs (DESIGN 10)
//   - Row 001-77 yes (show_approval_stats): each option of the table has a counterpart, which its
//     error names
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "[daemon\n", `:2:8: not TOML: expected '.' or ']' to end table name`},
		{"unknown section", "[deamon]\n", `:1:2: unknown key "deamon"; did you mean "daemon"?`},
		{"unknown key", "[sandbox]\n  hiden = []\n", `:2:3: unknown key "sandbox.hiden"; did you mean "hidden"?`},
		{"unknown key in an inline table", "sandbox = {limits = {memry = 1}}\n", `:1:22: unknown key "sandbox.limits.memry"; did you mean "memory"?`},
		{"dotted", "sandbox.limits.wal = \"1m\"\n", `:1:16: unknown key "sandbox.limits.wal"; did you mean "wall"?`},
		{"case", "[Sandbox]\n", `:1:2: unknown key "Sandbox"; did you mean "sandbox"?`},
		{"key of another section", "[daemon]\nallow = []\n", `:2:1: unknown key "daemon.allow"; did you mean`},
		{"a slip is nearer than a key of another section", "[network]\nallowed = []\n", `:2:1: unknown key "network.allowed"; did you mean "allow"?`},
		{"presets of commands", "[shell]\npresets = [\"go\"]\n", `:2:1: unknown key "shell.presets"; did you mean presets.use (presets that are on, such as "go") or network.presets (hosts by preset`},
		{"a section in a section", "[sandbox]\nnetwork = \"none\"\n", `:2:1: unknown key "sandbox.network"; did you mean shell.network (network of a command that no rule gives another: none, loopback, allowlist or full) or the section [network]?`},
		{"a preset without hosts", "[network]\npresets = [\"c\"]\n", `:2:12: network.presets[0]: preset "c" has commands and no hosts: it goes into presets.use alone; with hosts there are git, go, jvm, node, python, rust`},
		{"hosts of no preset", "[network]\npresets = [\"cc\"]\n", `:2:12: network.presets[0]: preset "cc": there is none of that name; known are git, go, jvm, node, python, rust`},
		{"commands of a preset", "[presets]\nuse = [\"nod\"]\n", `preset "nod": there is none of that name; did you mean "node"?`},
		{"unknown in a rule", "[[shell.rules]]\npattern = \"ls\"\n[[shell.rules]]\npattern = \"rm\"\nalowed = false\n", `:5:1: unknown key "shell.rules.alowed"; did you mean "allowed"?`},
		{"unknown in a rule's examples", "[[shell.rules]]\npattern = \"ls\"\nexamples = {mtch = []}\n", `did you mean "match"?`},
		{"type", "[approval]\nshow_stats = \"yes\"\n", `:2:1: approval.show_stats: want true or false, got a string`},
		{"list type", "[files]\nhidden = \"x\"\n", `:2:1: files.hidden: want a list, got a string`},
		{"element type", "[files]\nhidden = [\"x\", 3]\n", `:2:16: files.hidden[1]: want a string in quotes, got a number`},
		{"table for a value", "[files.hidden]\n", `files.hidden: want a list, got a table`},
		{"value for a table", "files = 3\n", `:1:1: files is a table, got a number`},
		{"rules as one table", "[tools]\nrules = {tool = \"x\"}\n", `tools.rules: want a list, got a table`},
		{"time span", "[sandbox.limits]\nwall = \"10 minutes\"\n", `:2:1: sandbox.limits.wall: "10 minutes" is not a time span such as "90s" or "10m"`},
		{"negative time span", "[sandbox.limits]\nwall = \"-1s\"\n", `"-1s" is negative`},
		{"size", "[sandbox.limits]\nmemory = \"lots\"\n", `"lots" is not a size such as "512MiB" or "10MB"`},
		{"huge size", "[sandbox.limits]\nmemory = \"99999999999TiB\"\n", `is not a size`},
		{"a host with a scheme", "[network]\nmode = \"allowlist\"\nallow = [\"https://x.com/y\"]\n", `:3:10: network.allow[0]: host "https://x.com/y": want HOST or HOST:PORT, without a scheme`},
		{"word", "[network]\nmode = \"ful\"\n", `:2:1: network.mode: "ful" is none of "full", "allowlist", "loopback", "none"; did you mean "full"?`},
		{"host", "[network]\nallow = [\"0x7f.1:80\"]\n", `write an IPv4 address as four decimal numbers`}, // R-OS-09
		{"port of the host", "[network]\nhost_ports = [80]\n", `ports from 1024 on`},
		{"requirement", "[sandbox]\nrequire_os_sandbox = \"yes\"\n", `true, false or a list of protections, got a string`},
		{"port", "[network]\nlisten = [80, 99999]\n", `99999 is no port`},
		{"pattern", "[files]\nprotected = [\"a\", \"/etc\"]\n", `files.protected[1]: files.protected "/etc": patterns are relative`},
		{"pattern that leaves", "[files]\nhidden = [\"../x\"]\n", `cannot leave`},
		{"whole file system", "[files.paths.x]\nroot = \"/\"\n", `:2:1: files.paths.x.root: files.paths "x": root is the whole file system`},
		{"home in a root", "[files.paths.x]\nroot = \"~/data\"\n", `"~" is not expanded here`},
		{"sandbox mode", "[files.paths.x]\nroot = \"a\"\nmode = \"rx\"\n", `:3:1: files.paths.x.mode: "rx" is none of "rw", "ro"`},
		{"sandbox without a root", "[files.paths.x]\nmode = \"ro\"\n", `:2:1: files.paths.x has no root`},
		{"gateway", "[gateway]\nlisten = \"0.0.0.0:80\"\n", `not a loopback address`},
		{"tool rule", "[[tools.rules]]\ntool = \"x\"\ndecision = \"maybe\"\n", `decision "maybe" is none of`},
		{"everything hidden", "[sandbox]\nhidden = [\"/\"]\n", `:2:11: sandbox.hidden[0]: "/" is too much; name the folders that are meant`},
		{"everything read-only", "[sandbox]\nread_only = [\"/x\", \"//\"]\n", `sandbox.read_only[1]: "//" is too much`},
		{"proc hidden", "[sandbox]\nhidden = [\"/proc/\"]\n", `"/proc/": no command starts without it`},
		{"no pattern", "[sandbox]\nhidden = [\"/srv/[x\"]\n", `sandbox.hidden[0]: "/srv/[x": syntax error in pattern`},
		{"no memory", "[sandbox.limits]\nmemory = \"1MiB\"\n", `:2:1: sandbox.limits.memory: memory: no command starts with less than 8 MiB; 0 is no limit`},
		{"no descriptors", "[sandbox.limits]\nopen_files = 3\n", `no command starts with less than 8`},
		{"another's home", "[sandbox]\nread = [\"~ann/x\"]\n", `only "~/" is understood`},
		{"everything readable", "[sandbox]\nread = [\"/\"]\n", `"/" is too much`},
		{"permission", "[permissions]\nallow = [\"Bash(ls\"]\n", `closing parenthesis`},
		{"permission for more than a command", "[permissions]\nallow = [\"Bash(ls)\", \"Bash(ls > x)\"]\n", `:2:22: permissions.allow[1]: permission "Bash(ls > x)": pattern "ls > x": it is more than the words of one command`},
		{"permission with a variable", "[permissions]\ndeny = [\"Bash(A=1 ls)\"]\n", `:2:9: permissions.deny[0]: `},
		{"permission for another tool's argument", "[permissions]\nask = [\"WebFetch(domain:x)\"]\n", `:2:8: permissions.ask[0]: permission "WebFetch(domain:x)": only Bash takes something in parentheses`},
		{"permission's parameter", "[permissions]\nallow = [{tool = \"Bash\", when = {path = \"x\"}}]\n", `a command has no parameter "path"`},
		{"permission's nameless parameter", "[permissions]\nallow = [{tool = \"Fetch\", when = {\"\" = \"x\"}}]\n", `permissions.allow[0]: permission "Fetch when  = \"x\"": when names a parameter without a name`},
		{"tool rule's nameless parameter", "[[tools.rules]]\ntool = \"x\"\ndecision = \"ask\"\nwhen = {\"\" = \"x\"}\n", `tool "x": when names a parameter without a name`},
		// R-AP-18: no file switches approvals off.
		{"yolo", "[permissions]\nyolo_mode = true\n", "`sandboxd --mode approve-all`"},
		{"yolo, switched off", "yolo_mode = false\n", "`sandboxd --mode approve-all`"},
		{"yolo, in capitals", "[approval]\nYOLO_MODE = true\n", "`sandboxd --mode approve-all`"},
		{"not enabled", "[permissions]\nenabled = false\n", "`sandboxd --mode approve-all`"},
		{"approval not enabled", "[approval]\nenabled = false\n", "`sandboxd --mode approve-all`"},
		{"approve_all", "[approval]\napprove_all = true\n", "`sandboxd --mode approve-all`"},
		{"mode", "[approval]\nmode = \"approve-all\"\n", ":2:1: approvals cannot be switched off from a file; a person starts `sandboxd --mode approve-all`"},
		{"mode, by its specification's name", "[approval]\nmode = \"approve_all\"\n", "`sandboxd --mode approve-all`"},
		{"mode, on one line", "approval = {mode = \"yolo\"}\n", "`sandboxd --mode approve-all`"},
		{"enabled", "[permissions]\nenabled = true\n", `approvals are always on, take the line out`},
		// The specification's options (DESIGN §10).
		{"approval_timeout", "[permissions]\napproval_timeout = 30\n", `here it is approval.timeout`},
		{"auto_approve_safe_commands", "[permissions]\nauto_approve_safe_commands = true\n", `here it is shell.auto_safe`},
		{"auto_approve_safe_paths", "[permissions]\nauto_approve_safe_paths = true\n", `here it is files.auto_safe`},
		{"safe_commands", "[permissions]\nsafe_commands = []\n", `here it is shell.safe_commands`},
		{"safe_commands_only", "[permissions]\nsafe_commands_only = true\n", `here it is approval.safe_commands_only`},
		{"safe_file_patterns", "[permissions]\nsafe_file_patterns = []\n", "here it is files.safe (globs; `sbx rules import --from permission-manager FILE` converts"},
		{"protected_paths", "[permissions]\nprotected_paths = []\n", `here it is files.protected`},
		{"double_confirm_deletes", "[permissions]\ndouble_confirm_deletes = true\n", `here it is approval.double_confirm_deletes`},
		{"show_approval_stats", "[permissions]\nshow_approval_stats = true\n", `here it is approval.show_stats`},
		{"unknown_tools", "[approval]\nunknown_tools = \"ask\"\n", `here it is tools.unknown`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "c.toml", c.text)
			for _, paths := range []Paths{{User: path}, {Operator: path}} {
				cfg, _, err := Load(paths)
				if err == nil || cfg != nil {
					t.Fatalf("loads: %s", c.text)
				}
				if !strings.Contains(err.Error(), "configuration "+path+":") || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got  %v\nwant %s%s", err, path, c.want)
				}
			}
		})
	}
}

// All mistakes of all files are reported at once.
func TestErrorsAreJoined(t *testing.T) {
	operator := write(t, "operator.toml", "[sandbox]\nx = 1\ny = 2\n")
	user := write(t, "user.toml", "[network]\nmode = 3\n")
	_, _, err := Load(Paths{Operator: operator, User: user})
	for _, want := range []string{operator + ":2:1", operator + ":3:1", user + ":2:1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	r := Check(Paths{Operator: operator, User: user}, "")
	b := r.String()
	if r.OK || strings.Count(b, "\nerror: ") != 3 || !strings.Contains(b, "3 errors, 0 warnings") {
		t.Errorf("Check writes:\n%s", b)
	}
}

// All mistakes are in one file, and each counts.
func TestCheckCounts(t *testing.T) {
	user := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(user, []byte("[files]\nhidden = [\"a/../b\"]\nprotected = [\"x/\"]\n[shel]\nx = 1\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	r := Check(Paths{User: user}, "")
	b := r.String()
	if r.OK || strings.Count(b, "\nerror: ") != 3 || !strings.Contains(b, "3 errors, 0 warnings") {
		t.Errorf("Check writes:\n%s", b)
	}
}

func TestCheck(t *testing.T) {
	project := t.TempDir()
	if err := os.WriteFile(filepath.Join(project, ProjectFile), []byte("[network]\nmode = \"full\"\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	r := Check(Paths{Operator: filepath.Join(project, "absent.toml")}, project)
	b := r.String()
	if !r.OK {
		t.Fatal(b)
	}
	for _, want := range []string{"absent.toml (not there)", "user      none", "warning: " +
		filepath.Join(project, ProjectFile) + ":2:1: network.mode", "the configuration is good (1 warning)"} {
		if !strings.Contains(b, want) {
			t.Errorf("no %q in:\n%s", want, b)
		}
	}
}

func TestDigest(t *testing.T) {
	base, _ := load(t, "", "")
	same, _ := load(t, "# a comment\n", "[network]\nmode = \"loopback\"\n")
	other, _ := load(t, "", "[network]\nmode = \"none\"\n")
	if base.Digest() != same.Digest() {
		t.Error("a default that is written out changes the digest")
	}
	if base.Digest() == other.Digest() {
		t.Error("another network has the same digest")
	}
}

func TestSchemaNamesEveryKey(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		at := schema
		for _, part := range strings.Split(k.name, ".") {
			if part == "*" {
				at, _ = at["additionalProperties"].(map[string]any)
				continue
			}
			props, _ := at["properties"].(map[string]any)
			at, _ = props[part].(map[string]any)
		}
		if at["description"] != k.doc {
			t.Errorf("the schema does not describe %s: %v", k.name, at)
		}
	}
}

func TestSizesAndDurations(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "1": 1, "10MB": 10e6, "512MiB": 512 << 20, "2 GiB": 2 << 30,
		"3K": 3 << 10, "7B": 7} {
		var s Size
		if err := s.UnmarshalTOML(text); err != nil || s != want {
			t.Errorf("%q: got %d, %v", text, s, err)
		}
		var again Size
		if err := again.UnmarshalTOML(s.String()); err != nil || again != s {
			t.Errorf("%q is written as %q, which is %d, %v", text, s, again, err)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5GiB", "1 elephant"} {
		var s Size
		if err := s.UnmarshalTOML(text); err == nil {
			t.Errorf("%q is a size: %d", text, s)
		}
	}
	if r := reflect.TypeFor[Require](); !reflect.PointerTo(r).Implements(tomlUnmarshaler) {
		t.Error("Require is not read as a leaf")
	}
}

func itoa(n int) string { return element("", n)[1 : len(element("", n))-1] }

// R-SH-01: a rule that can never match is reported.
func TestRulesForNoSandbox(t *testing.T) {
	rule := "[[shell.rules]]\npattern = \"rm\"\nallowed = false\npaths = [\"data\"]\n"
	file := write(t, "user.toml", rule)
	cfg, warnings, err := Load(Paths{User: file})
	if err != nil || len(warnings) != 1 ||
		!strings.Contains(
			warnings[0].String(),
			`user.toml:1:3: shell.rules: the rule "rm" never matches: there is no [files.paths.data], but project`,
		) {
		t.Errorf("%v, %v", warnings, err)
	}
	if _, warnings, err = Load(Paths{User: write(t, "user.toml", rule+
		"[files.paths.data]\nroot = \"/srv\"\n")}); err != nil ||
		len(warnings) != 0 {
		t.Errorf("a sandbox of the same file: %v, %v", warnings, err)
	}
	text := strings.ReplaceAll(rule, "data", "typo")
	if _, warnings, err = cfg.WithProject("/p", &text); err != nil || len(warnings) != 1 ||
		!strings.Contains(warnings[0].String(), "[files.paths.typo]") {
		t.Errorf("a project's file: %v, %v", warnings, err)
	}
}

// A setting that permits or denies less than it seems to is reported.
func TestPermissionsThatSayLess(t *testing.T) {
	for _, c := range []struct {
		text, want string // "": no warning
	}{
		{`deny = ["Bash(git push)"]`, `permissions.deny: "Bash(git push)" denies just these words; to deny it with further ones, too, write "Bash(git push *)"`},
		{`deny = ["Bash(git push *)", "Bash(reboot)", "Bash(rm -rf)", "Bash(a b c)"]`, ""},
		{`allow = ["Bash(npx -y foo *)"]`, `user.toml:2:10: permissions.allow: "Bash(npx -y foo *)" alone lets nothing run: what it starts is judged by itself, as "Bash(foo *)"`},
		{`allow = ["Bash(npx -y foo *)", "Bash(foo *)"]`, ""},
		{`allow = ["Bash(timeout 5 nice go test *)"]`,
			`never applies: what it starts is judged in its place, as "Bash(go test *)"`},
		{`allow = ["Bash(time make *)", "Bash(git commit *)", "Bash(npx *)", "Bash(timeout 5 make)", "Bash(python3 -m pytest *)"]`, ""},
		{`allow = ["Bash", "Bash(npx -y foo *)"]`, ""},
	} {
		_, warnings, err := Load(Paths{User: write(t, "user.toml", "[permissions]\n"+c.text+"\n")})
		if err != nil || len(warnings) != min(len(c.want), 1) ||
			len(warnings) > 0 && !strings.Contains(warnings[0].String(), c.want) {
			t.Errorf("%s: %v, %v", c.text, warnings, err)
		}
	}
}

// R-OS-05: a list of required protections holds names that a host can report.
func TestUnknownProtections(t *testing.T) {
	for list, want := range map[string]string{
		`["files", "netwrok"]`: `[1]: protection "netwrok": there is none of that name; known are `,
		`["seccomp"]`:          `:2:23: sandbox.require_os_sandbox[0]: protection "seccomp": `,
		`["Files"]`:            `did you mean "files"?`,
		`["files", "limits"]`:  "",
	} {
		_, _, err := Load(Paths{User: write(t, "my.toml", "[sandbox]\nrequire_os_sandbox = "+list+"\n")})
		if got := fmt.Sprint(err); want != "" && !strings.Contains(got, want) || want == "" && err != nil {
			t.Errorf("%s: got %s, want %s", list, got, want)
		}
	}
}
