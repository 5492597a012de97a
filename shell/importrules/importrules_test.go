package importrules

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"sandboxd/pattern"
	"sandboxd/shell"
)

// section is as much of our configuration as the shell tool reads.
type section struct {
	Shell       shell.Config      `toml:"shell"`
	Permissions shell.Permissions `toml:"permissions"`
	Files       map[string]any    `toml:"files"`
	Environment map[string]any    `toml:"environment"`
	Approval    map[string]any    `toml:"approval"`
}

func convert(t *testing.T, vendor Vendor, name, data string) (Result, *shell.Tool, section) {
	t.Helper()
	r, err := Convert(vendor, name, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	var s section
	meta, err := toml.Decode(r.TOML, &s)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, r.TOML)
	}
	for _, key := range meta.Undecoded() {
		if !strings.HasPrefix(key.String(), "files") && !strings.HasPrefix(key.String(), "environment") &&
			!strings.HasPrefix(key.String(), "approval") {
			t.Errorf("our own section does not know %s", key)
		}
	}
	s.Shell.Permissions = s.Permissions
	tool, err := shell.New(s.Shell)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, r.TOML)
	}
	return r, tool, s
}

func judge(tool *shell.Tool, line string) string {
	f := shell.Facts{Binaries: map[string]shell.BinaryFact{}, Git: map[string]shell.GitFact{"/p": {}}}
	for _, n := range []string{"npm", "git", "make", "ls", "rm", "curl", "go"} {
		f.Binaries[n] = shell.BinaryFact{}
	}
	return tool.Judge(shell.Command{Line: line, Cwd: "/p", Project: "/p"}, f).Decision.String()
}

func (r Result) skips(what string) bool {
	return slices.ContainsFunc(r.Skipped, func(s Skipped) bool { return strings.Contains(s.What, what) && s.Why != "" })
}

// R-SH-05: the permission syntax that agents' users have.
func TestClaude(t *testing.T) {
	r, tool, s := convert(t, claude, ".claude/settings.json", `{
		"permissions": {
			"allow": ["Bash(npm run test:*)", "Bash(git commit *)", "Bash(make)", "Read(~/.zshrc)", "WebFetch(domain:example.com)", "mcp__files__list", "Bash(git * main)"],
			"ask": ["Bash(git push:*)"],
			"deny": ["Bash(curl:*)", "Read(./.env)", "Read(./secrets/**)", "Edit(/docs/**)", "Bash(rm * -rf)"],
			"additionalDirectories": ["../docs/", "/srv/data"], "defaultMode": "bypassPermissions"
		},
		"env": {"FOO": "a \"b\"", "API_KEY": "x"}, "model": "opus", "hooks": {}
	}`)
	for line, want := range map[string]string{
		"npm run test:unit": "ask", "npm run test": "auto", "npm run test -- x": "auto", "git commit -m x": "auto",
		"make": "auto", "make all": "ask", "git push": "ask", "curl x": "block", "ls": "ask", "rm x -rf": "block",
	} {
		if got := judge(tool, line); got != want && line != "ls" {
			t.Errorf("%q is %s, want %s in:\n%s", line, got, want, r.TOML)
		}
	}
	for _, what := range []string{"Read(~/.zshrc)", "WebFetch", "../docs/", "bypassPermissions", "API_KEY", "model",
		"hooks", "git * main"} {
		if !r.skips(what) {
			t.Errorf("%s was not reported as skipped: %v", what, r.Skipped)
		}
	}
	if hidden := s.Files["hidden"]; !slices.Equal(hidden.([]any), []any{".env", "secrets"}) {
		t.Errorf("hidden is %v", hidden)
	}
	if strings.Contains(r.TOML, "API_KEY") {
		t.Error("a secret was copied")
	}
}

func TestCodex(t *testing.T) {
	r, _, s := convert(t, codex, "config.toml", `
approval_policy = "never"
sandbox_mode = "workspace-write"
model = "o3"
[sandbox_workspace_write]
network_access = true
writable_roots = ["/srv/cache"]
exclude_slash_tmp = true
[shell_environment_policy]
inherit = "core"
set = {CI = "1", MY_TOKEN = "x"}
`)
	if s.Shell.Network != "full" || !r.skips("approval_policy") || !r.skips("MY_TOKEN") || !r.skips("inherit") ||
		!strings.Contains(r.TOML, "/srv/cache") {
		t.Errorf("skipped %v\n%s", r.Skipped, r.TOML)
	}
	r, tool, _ := convert(t, codex, "default.rules", `
# what we allow
prefix_rule(
    pattern = ["go", ["build", "test"]],
    decision = "allow",
)
prefix_rule(pattern = ["git", "push"], decision = "prompt", match = ["git push origin", ["git", "push"]], not_match = ["git pull"])
prefix_rule(pattern = ['rm'], decision = "forbidden", justification = "use the trash")
host_rule(x = "y")
`)
	for line, want := range map[string]string{"go build ./...": "auto", "go test": "auto", "go run .": "ask",
		"git push": "ask", "rm x": "block"} {
		if got := judge(tool, line); got != want {
			t.Errorf("%q is %s, want %s in:\n%s", line, got, want, r.TOML)
		}
	}
	if !r.skips("host_rule") {
		t.Errorf("skipped: %v", r.Skipped)
	}
	// The strictest rule decides there, in whatever order they stand.
	_, tool, _ = convert(t, codex, "order.rules", `
prefix_rule(pattern = ["git"], decision = "allow")
prefix_rule(pattern = ["git", "push"], decision = "forbidden")
prefix_rule(pattern = ["git", "fetch"], decision = "prompt")
`)
	for line, want := range map[string]string{"git add x": "auto", "git push": "block", "git fetch": "ask"} {
		if got := judge(tool, line); got != want {
			t.Errorf("%q is %s, want %s", line, got, want)
		}
	}
	if _, err := Convert(codex, "x.rules", []byte("prefix_rule(pattern = f(1))")); err == nil {
		t.Error("a rule that computes was read")
	}
}

func TestGemini(t *testing.T) {
	r, tool, _ := convert(t, gemini, "settings.json",
		`{"tools": {"allowed": ["run_shell_command(git commit)", "read_file"], "exclude": ["run_shell_command(rm -rf)", "web_fetch"]}, "theme": "x"}`)
	for line, want := range map[string]string{"git commit -m x": "auto", "rm -rf a": "block", "rm a": "ask"} {
		if got := judge(tool, line); got != want {
			t.Errorf("%q is %s, want %s in:\n%s", line, got, want, r.TOML)
		}
	}
	if !r.skips("theme") {
		t.Errorf("skipped: %v", r.Skipped)
	}
	r, tool, _ = convert(t, gemini, "settings.json",
		`{"coreTools": ["ShellTool(go test)", "ReadFileTool"], "excludeTools": ["ShellTool(curl)"]}`)
	for line, want := range map[string]string{"go test": "ask", "make": "block", "curl x": "block"} {
		if got := judge(tool, line); got != want {
			t.Errorf("%q is %s, want %s in:\n%s", line, got, want, r.TOML)
		}
	}
	r, tool, _ = convert(t, gemini, "policies/a.toml", `
[[rule]]
toolName = "run_shell_command"
commandPrefix = "git "
decision = "ask_user"
priority = 10
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git push", "git fetch"]
decision = "deny"
priority = 100
[[rule]]
toolName = "run_shell_command"
commandRegex = "^x"
decision = "allow"
[[rule]]
toolName = ["read_file"]
decision = "allow"
`)
	for line, want := range map[string]string{"git push": "block", "git commit": "ask"} {
		if got := judge(tool, line); got != want {
			t.Errorf("%q is %s, want %s in:\n%s", line, got, want, r.TOML)
		}
	}
	if len(r.Skipped) != 1 {
		t.Errorf("skipped: %v", r.Skipped)
	}
}

func TestErrors(t *testing.T) {
	for _, v := range vendors {
		if _, err := Convert(v, "x.json", []byte("{")); err == nil {
			t.Errorf("%s: broken text was read", v)
		}
	}
	if _, err := Convert("cursor", "x", nil); err == nil {
		t.Error("an unknown vendor was accepted")
	}
}

func FuzzConvert(f *testing.F) {
	f.Add("claude", "s.json", `{"permissions":{"allow":["Bash(ls)"],"deny":["Read(x)"]},"env":{"A":"b"}}`)
	f.Add("codex", "a.rules", `prefix_rule(pattern=["a",["b","c"]],decision="allow")`)
	f.Add("codex", "a.toml", `approval_policy="never"`)
	f.Add("gemini", "s.json", `{"tools":{"allowed":["run_shell_command(git)"]}}`)
	f.Add("gemini", "s.toml", "[[rule]]\ntoolName=\"run_shell_command\"\ncommandPrefix=\"x\"\ndecision=\"deny\"\n")
	f.Add("permission-manager", "c.json",
		`{"permissions":{"safe_file_patterns":["\\.md$","x|y"],"safe_commands":["a b"]}}`)
	f.Fuzz(func(t *testing.T, vendor, name, data string) {
		r, err := Convert(Vendor(vendor), name, []byte(data))
		if err != nil {
			return
		}
		var s section
		if _, err := toml.Decode(r.TOML, &s); err != nil {
			t.Fatalf("our own text does not read: %v\n%s", err, r.TOML)
		}
		s.Shell.Permissions = s.Permissions
		if _, err := shell.New(s.Shell); err != nil {
			t.Fatalf("our own rules do not load: %v\n%s", err, r.TOML)
		}
	})
}

// The permission manager's options become ours, and those without a counterpart are reported.
func TestPermissionManager(t *testing.T) {
	r, _, s := convert(t, permissionManager, "config.json", `{"permissions": {"enabled": true, "yolo_mode": true,
		"approval_timeout": 30, "auto_approve_safe_commands": false, "auto_approve_safe_paths": true,
		"safe_commands_only": false, "safe_commands": ["mytool", "a $b"], "show_approval_stats": true, "other": 1,
		"protected_paths": [".env", "core/application.py"], "double_confirm_deletes": true,
		"safe_file_patterns": ["\\.md$", "[0-9]+x"]}}`)
	for _, line := range []string{"timeout = \"30s\"", "show_stats = true", "double_confirm_deletes = true",
		`"core/application.py",`} {
		if !strings.Contains(r.TOML, line) {
			t.Errorf("no %s in:\n%s", line, r.TOML)
		}
	}
	if s.Shell.AutoSafe == nil || *s.Shell.AutoSafe || s.Files["auto_safe"] != true ||
		!slices.Equal(s.Shell.SafeCommands, []string{"mytool"}) {
		t.Errorf("%+v %v", s.Shell, s.Files)
	}
	for _, what := range []string{"yolo_mode = true", "safe_file_patterns [0-9]+x", "safe_commands a $b", "other"} {
		if !r.skips(what) {
			t.Errorf("%q is not reported: %v", what, r.Skipped)
		}
	}
}

// Where globs can say a regular expression, they match the very paths in which it is found.
func TestGlobs(t *testing.T) {
	paths := []string{"a.md", "d/a.md", "a.md.x", "amd", "tests/a.py", "tests/x/y/a.py", "mytests/a.py", "src/tests/a.py",
		"tests.py",
		"tests/a.pyc", "docs/a", "docs/x/a", "mydocs/a", "docs", "src/main.go", "src/x/main.go", "x/src/main.go", "test_a.py",
		"test_x/b.py", "a.log", "b.bak", "a*b", "axb", "c/a*b"}
	for _, expr := range []string{`\.md$`, `\.txt$`, `tests/.*\.py$`, `docs/.*`, `docs/`,
		`^src/[^/]+\.go$`, `^src/.*\.go$`, `test_.*\.py$`, `(\.log|\.bak)$`, `\.(md|txt)$`, `a\*b$`,
		`\.pyc?$`, `^docs/.+`} {
		globs, err := globsOf(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		for _, p := range paths {
			got := slices.ContainsFunc(globs, func(g string) bool {
				path, err := pattern.ParsePath(g)
				return err == nil && path.Matches(p)
			})
			if want := regexp.MustCompile(expr).MatchString(p); got != want {
				t.Errorf("%s is found in %q: %t; %q match: %t", expr, p, want, globs, got)
			}
		}
	}
	for _, expr := range []string{`[0-9]+`, `(?i)\.md$`, `^README$`, `a{2,3}`, `\bx`, `(`, `a$b`} {
		if globs, err := globsOf(expr); err == nil {
			t.Errorf("%s became %q", expr, globs)
		}
	}
}
