package files

import (
	"strings"
	"testing"

	"sandboxd/approval"
)

func rulesFor(t testing.TB, change func(*Config), place func(*Place)) *Rules {
	t.Helper()
	cfg := Defaults()
	if change != nil {
		change(&cfg)
	}
	at := Place{Project: "/p", Roots: map[string]string{}}
	for name, s := range cfg.Paths {
		at.Roots[name] = s.Root
		if !strings.HasPrefix(s.Root, "/") {
			at.Roots[name] = strings.TrimSuffix("/p/"+s.Root, "/.")
		}
	}
	if place != nil {
		place(&at)
	}
	r, err := NewRules(cfg, at)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fact is a path that is what it seems.
func fact(p string, kind Kind) Fact { return Fact{Asked: p, Real: p, Kind: kind} }

func facts(p string, kind Kind, to ...Fact) Facts {
	f := Facts{Path: fact(p, kind)}
	if len(to) > 0 {
		f.To = &to[0]
	}
	return f
}

const (
	auto   = "auto"
	ask    = "ask"
	twice  = "ask twice" // what approval confirms twice
	block  = "block"
	plainF = "/p/src/main.c" // neither safe nor protected
	safeF  = "/p/docs/notes.md"
	protF  = "/p/.git/hooks/pre-commit"
)

func outcome(v Verdict) string {
	switch {
	case v.Decision == Auto:
		return auto
	case v.Decision == Block:
		return block
	case v.Protected || v.Delete:
		return twice
	}
	return ask
}

// Acceptance 5, R-FS-02, R-FS-03: the operation table of the source
// specification (3.2 File Operations) with its default actions, and what
// REQUIREMENTS decides otherwise: rmdir asks twice; a copy is auto only where
// creating its destination would be; a move is judged as a delete of its source
// and a create or overwrite of its destination; mkdir of a protected name asks.
func TestOperationTable(t *testing.T) {
	r := rulesFor(t, nil, nil)
	for _, c := range []struct {
		spec             string // the specification's name
		req              Request
		kind             Kind // of what the operation finds
		plain, safe, prt string
	}{
		{"file_edit", Request{Op: Edit}, File, ask, auto, twice},
		{"file_edit", Request{Op: MultiEdit}, File, ask, auto, twice},
		{"file_create", Request{Op: Create}, Absent, ask, auto, twice},
		{"file_create", Request{Op: Write}, Absent, ask, auto, twice},
		{"file_create_overwrite", Request{Op: Write}, File, ask, ask, twice},
		{"file_delete", Request{Op: Delete}, File, twice, twice, twice},
		{"file_append", Request{Op: Append}, File, ask, auto, twice},
		{"file_insert_after", Request{Op: Insert}, File, ask, auto, twice},
		{"file_insert_before", Request{Op: Insert, Before: true}, File, ask, auto, twice},
		{"file_mkdir", Request{Op: Mkdir}, Absent, auto, auto, twice},
		{"file_rmdir", Request{Op: Rmdir}, Dir, twice, twice, twice},
		{"file_rmdir", Request{Op: Rmdir, Recursive: true}, Dir, twice, twice, twice},
		{"file_read", Request{Op: Read}, File, auto, auto, auto},
		{"file_grep", Request{Op: Grep}, Dir, auto, auto, auto},
		{"file_list", Request{Op: List}, Dir, auto, auto, auto},
		{"file_stat", Request{Op: Stat}, File, auto, auto, auto},
	} {
		for _, at := range []struct{ path, want string }{{plainF, c.plain}, {safeF, c.safe}, {protF, c.prt}} {
			v := r.Judge(c.req, facts(at.path, c.kind))
			if got := outcome(v); got != at.want {
				t.Errorf("%s (%s) of %s: got %s (%s), want %s", c.spec, c.req.Op, at.path, got, v.Why, at.want)
			}
			if c.req.Op != MultiEdit && v.Tool != c.spec {
				t.Errorf("%s is called %s", c.spec, v.Tool)
			}
		}
	}
	for _, c := range []struct {
		op       Op
		from, to Fact
		want     string
	}{
		{Copy, fact(plainF, File), fact("/p/src/b.c", Absent), ask},
		{Copy, fact(plainF, File), fact("/p/docs/b.md", Absent), auto},
		{Copy, fact(plainF, File), fact("/p/docs/b.md", File), ask},
		{Copy, fact(plainF, File), fact(protF, Absent), twice},
		{Copy, fact(plainF, File), fact(protF, File), twice},
		{Copy, fact(protF, File), fact("/p/docs/b.md", Absent), auto},
		{Move, fact(plainF, File), fact("/p/src/b.c", Absent), twice},
		{Move, fact(safeF, File), fact("/p/docs/b.md", Absent), twice},
		{Move, fact(safeF, File), fact("/p/docs/b.md", File), twice},
		{Move, fact(safeF, File), fact(protF, Absent), twice},
		{Move, fact(protF, File), fact(safeF, Absent), twice},
	} {
		v := r.Judge(Request{Op: c.op}, facts(c.from.Real, c.from.Kind, c.to))
		if got := outcome(v); got != c.want {
			t.Errorf("%s %s to %s (%s): got %s (%s), want %s", c.op, c.from.Real, c.to.Real, c.to.Kind, got, v.Why, c.want)
		}
		if c.op == Move && !v.Delete {
			t.Errorf("move %s is no delete", c.from.Real)
		}
	}
}

// R-FS-03: what is safe and what is protected, and that protected wins.
//
//   - Row 001-42 yes: protected: .env, .git, venv, .venv
func TestSafeAndProtected(t *testing.T) {
	r := rulesFor(t, nil, nil)
	for path, want := range map[string]string{
		// safe, of the source specification
		"README.md": auto, "a/b/notes.txt": auto, "data.json": auto, "x.log": auto, "x.bak": auto,
		"tests/test_a.py": auto, "tests/a/b/test_c.py": auto, "docs/anything.c": auto, "docs/a/b.go": auto,
		// not safe
		"main.go": ask, "src/tests/x.py": ask, "xdocs/a.c": ask, "md": ask, "a.md.exe": ask, "README.MD": ask,
		// protected, of the source specification
		".env": twice, ".git/config": twice, ".git/HEAD": twice, "venv/bin/activate": twice, ".venv/x.md": twice,
		// protected, R-FS-03
		".env.local": twice, ".envrc": twice, "sub/.git/hooks/x": twice, ".bashrc": twice, ".zshrc": twice, ".profile": twice,
		"Makefile": twice, "sub/Makefile": twice, "package.json": twice, "package-lock.json": twice, "yarn.lock": twice,
		"tsconfig.json": twice, "conftest.py": twice, "tests/conftest.py": twice, ".vscode/settings.json": twice,
		".idea/x.xml": twice, ".cursorrules": twice, ".cursor/rules/x.md": twice, ".mcp.json": twice, "AGENTS.md": twice,
		"CLAUDE.md": twice, "docs/CLAUDE.md": twice, "GEMINI.md": twice, "skills/x/SKILL.md": twice,
		".claude/settings.json": twice, ".codex/config.toml": twice, ".github/workflows/ci.yml": twice,
		".gitlab-ci.yml": twice, "Jenkinsfile": twice, ".sandboxd.toml": twice,
		// and what programs read as soon as they are started in a folder, or git runs a hook
		"mise.local.toml": twice, ".config/mise/config.toml": twice, "lefthook-local.yml": twice, ".lintstagedrc.json": twice,
		".Rprofile": twice, "src/.irbrc": twice, ".pdbrc": twice, ".iex.exs": twice, "appveyor.yml": twice,
		".github/skills/x/SKILL.md": twice, ".factory/settings.json": twice,
		// by other spellings that some file system takes for the same
		".GIT/hooks/x": twice, ".Git/config": twice, "makefile": twice, "MAKEFILE": twice, ".gıt/x.md": auto,
		".g\u200cit/hooks/x": twice, "claude.MD": twice, "PACKAGE.JSON": twice, "Agents.md": twice, ".ſandboxd.toml": twice,
		// trusted by others, though safe by pattern
		"requirements.txt": ask, "requirements-dev.txt": ask, "composer.json": ask, "CMakeLists.txt": ask,
	} {
		v := r.Judge(Request{Op: Create}, facts("/p/"+path, Absent))
		if got := outcome(v); got != want {
			t.Errorf("create %q: got %s (%s), want %s", path, got, v.Why, want)
		}
	}
}

// TestConfiguredLists is evidence for the specifications.
//
//   - Row 001-41 yes: auto_approve_safe_paths
//   - Row 001-43 yes: protected: a list of one's own
func TestConfiguredLists(t *testing.T) {
	r := rulesFor(t, func(c *Config) {
		c.Safe = []string{"gen/**", "*.c"}
		c.Protected = append(c.Protected, "main.c")
		c.Unprotected = []string{"Makefile", ".git", ".git/hooks"}
		c.Hidden = append(c.Hidden, "secret", "*.pem")
		c.ReadOnly = []string{"vendor"}
	}, nil)
	for _, c := range []struct {
		op   Op
		path string
		want string
	}{
		{Create, "gen/x", auto}, {Create, "a.c", auto}, {Create, "README.md", ask},
		{Create, "main.c", twice}, {Create, "sub/main.c", twice}, {Create, "main.c/x.c", twice},
		{Create, "Makefile", ask}, {Create, ".git/x", ask},
		{Create, ".git/hooks/x", twice}, {Create, ".sandboxd.toml", twice}, // always protected
		{Read, "secret", block}, {Read, "sub/secret/x", block}, {Create, "secret/x.c", block}, {List, "secret", block},
		{Read, "x.pem", block}, {Read, "SECRET", block}, {Stat, "x.PEM", block}, {Read, "secrets", auto},
		{Read, "vendor/x", auto}, {Create, "vendor/x.c", block}, {Delete, "vendor/x", block}, {Mkdir, "vendor/x", block},
	} {
		kind := Absent
		if c.op == Read || c.op == Delete || c.op == Stat {
			kind = File
		}
		v := r.Judge(Request{Op: c.op}, facts("/p/"+c.path, kind))
		if got := outcome(v); got != c.want {
			t.Errorf("%s %s: got %s (%s), want %s", c.op, c.path, got, v.Why, c.want)
		}
	}
	r = rulesFor(t, func(c *Config) { c.AutoSafe = false }, nil)
	if got := outcome(r.Judge(Request{Op: Create}, facts("/p/a.md", Absent))); got != ask {
		t.Errorf("auto_safe = false, a safe path: %s", got)
	}
}

// R-FS-01, and the example of the first specification: named sandboxes, mode,
// suffixes, approvals; a path in none is blocked; the most specific root wins.
func TestNamedSandboxes(t *testing.T) {
	yes, no := true, false
	r := rulesFor(t, func(c *Config) {
		c.Paths = map[string]Sandbox{
			"notes": {Root: "notes", Mode: "rw", Suffixes: []string{".txt", ".log"}, WriteApproval: &yes, ReadApproval: &no},
			"cache": {Root: "cache", Mode: "rw", WriteApproval: &no},
			"inner": {Root: "cache/inner", Mode: "ro", ReadApproval: &yes},
			"other": {Root: "/srv/data", Mode: "rw"},
		}
	}, nil)
	for _, c := range []struct {
		op   Op
		path string
		kind Kind
		want string
	}{
		{Write, "/p/notes/log.txt", Absent, ask}, // a safe path, but the sandbox asks
		{Write, "/p/notes/log.txt", File, ask},
		{Read, "/p/notes/log.txt", File, auto},
		{Read, "/p/notes/x.md", File, block}, {Write, "/p/notes/x.md", Absent, block},
		{Write, "/p/notes/.txt", Absent, auto + " or ask"},
		{List, "/p/notes", Dir, auto}, {Mkdir, "/p/notes/sub", Absent, ask}, {Read, "/p/notes/x.txt.gz", File, block},
		{Write, "/p/cache/x", Absent, auto}, {Write, "/p/cache/x", File, auto}, {Edit, "/p/cache/x", File, auto},
		{Delete, "/p/cache/x", File, twice}, {Write, "/p/cache/.env", Absent, twice},
		{Write, "/p/cache/inner/x", Absent, block}, {Read, "/p/cache/inner/x", File, ask},
		{Write, "/srv/data/x.md", Absent, auto}, {Write, "/srv/data/x.c", Absent, ask},
		{Read, "/p/main.c", File, block}, {Read, "/etc/passwd", File, block}, {Read, "/srv/database", File, block},
		{Read, "/p/notesx/a.txt", File, block},
		{Delete, "/p/cache", Dir, block}, {Rmdir, "/srv/data", Dir, block},
	} {
		v := r.Judge(Request{Op: c.op}, facts(c.path, c.kind))
		if got := outcome(v); !strings.Contains(c.want, got) {
			t.Errorf("%s %s: got %s (%s), want %s", c.op, c.path, got, v.Why, c.want)
		}
	}
	v := r.Judge(Request{Op: Write}, facts("/srv/data/x.c", Absent))
	if !v.Outside || v.Sandbox != "other" || v.Risk != approval.RiskHigh {
		t.Errorf("another sandbox than the project's: %+v", v)
	}
	if v := r.Judge(Request{Op: Copy}, facts("/p/cache/inner/x", File, fact("/p/cache/y", Absent))); outcome(v) != ask ||
		!v.Quiet {
		t.Errorf("a copy of a file that needs a question to be read: %+v", v)
	}
}

// R-FS-03: a name of several elements holds although a sandbox's root is in the middle of it;
// naming a root includes the names that end at it or above it.
func TestNamesAcrossRoots(t *testing.T) {
	r := rulesFor(t, func(c *Config) {
		c.Paths = map[string]Sandbox{"project": {Root: ".", Mode: "rw"}, "config": {Root: "config", Mode: "rw"},
			"git": {Root: "sub/.git", Mode: "rw"}, "far": {Root: "/srv/config", Mode: "rw"}}
		c.Hidden, c.ReadOnly, c.Protected = []string{"config/keys"}, []string{"config/*.lock"}, []string{"config", ".git"}
	}, nil)
	for _, c := range []struct {
		op   Op
		path string
		want string
	}{
		{Read, "/p/config/keys", block}, {Read, "/p/config/keys/a", block}, {Read, "/p/a/config/keys", block},
		{Read, "/p/config/a", auto},
		{Create, "/p/config/x.lock", block}, {Create, "/p/config/x.md", auto}, {Create, "/p/config/config/x.md", twice},
		{Create, "/p/a/config/x.md", twice},
		{Create, "/p/sub/.git/x.md", auto}, {Create, "/p/sub/.git/hooks/x.md", twice},
		{Read, "/srv/config/keys", auto},
	} {
		kind := Absent
		if c.op == Read {
			kind = File
		}
		if v := r.Judge(Request{Op: c.op}, facts(c.path, kind)); outcome(v) != c.want {
			t.Errorf("%s %s: got %s (%s), want %s", c.op, c.path, outcome(v), v.Why, c.want)
		}
	}
}

// What counts is where a path leads, and also how it was spelled.
func TestJudgeByRealPath(t *testing.T) {
	r := rulesFor(t, func(c *Config) { c.Hidden = append(c.Hidden, "secret") }, nil)
	for _, c := range []struct {
		name string
		f    Fact
		op   Op
		want string
	}{
		{"a safe name for a protected file", Fact{Asked: "/p/a.md", Real: "/p/.git/config", Kind: File}, Edit, twice},
		{"a protected name for a safe file", Fact{Asked: "/p/.git/x", Real: "/p/a.md", Kind: File}, Edit, twice},
		{"a safe name for another file", Fact{Asked: "/p/a.md", Real: "/p/a.c", Kind: File}, Edit, ask},
		{"a name for a hidden file", Fact{Asked: "/p/a.md", Real: "/p/secret/a", Kind: File}, Read, block},
		{"a hidden name for another file", Fact{Asked: "/p/secret", Real: "/p/a.md", Kind: File}, Read, block},
		{"a name for a file outside", Fact{Asked: "/p/a.md", Real: "/etc/passwd", Kind: File}, Read, block},
	} {
		if v := r.Judge(Request{Op: c.op}, Facts{Path: c.f}); outcome(v) != c.want {
			t.Errorf("%s: got %s (%s), want %s", c.name, outcome(v), v.Why, c.want)
		}
	}
	holds := Facts{Path: Fact{Asked: "/p/pkg", Real: "/p/pkg", Kind: Dir, Holds: []string{".git/hooks"}},
		To: &Fact{Asked: "/p/x", Real: "/p/x", Kind: Absent}}
	if v := r.Judge(Request{Op: Move}, holds); outcome(v) != twice || !v.Protected {
		t.Errorf("a folder that holds protected things: %+v", v)
	}
}

// The request that an approver sees: name, one line, a payload without content,
// and suggestions that match it (R-AP-05, R-AP-07).
//
//   - Row 000-41 yes: a write names its sandbox, as notes:path
func TestRequestForApproval(t *testing.T) {
	r := rulesFor(t, nil, nil)
	v := r.Judge(Request{Op: Edit, Edits: []Replacement{{Find: "geheim", Replace: "x"}}}, facts("/p/src/a/b.c", File))
	req, err := v.Request()
	if err != nil || req == nil {
		t.Fatal(req, err)
	}
	if req.Tool != "file_edit" || req.Description != "Edit file: /p/src/a/b.c" {
		t.Errorf("got %q, %q", req.Tool, req.Description)
	}
	want := map[string]any{"op": "edit", "sandbox": "project", "path": "/p/src/a/b.c"}
	if !approval.EqualPayload(req.Payload, want) {
		t.Errorf("payload %v, want %v", req.Payload, want)
	}
	if len(req.Suggestions) != 3 {
		t.Fatalf("suggestions: %v", req.Suggestions)
	}
	notes := rulesFor(t, func(c *Config) { c.Paths["notes"] = Sandbox{Root: "notes", Mode: "rw"} }, nil)
	v = notes.Judge(Request{Op: Edit}, facts("/p/notes/a/b.md", File))
	if v.Description != "Edit file: /p/notes/a/b.md (notes:a/b.md)" {
		t.Errorf("in a named sandbox: %q", v.Description)
	}
	other := map[string]any{"op": "edit", "sandbox": "project", "path": "/p/src/c.c"}
	for i, s := range req.Suggestions {
		if !s.Pattern.Matches(req.Tool, req.Payload) {
			t.Errorf("suggestion %q does not match its own request", s.Label)
		}
		if got := s.Pattern.Matches(req.Tool, other); got != (i > 0) {
			t.Errorf("suggestion %q matches %v: %v", s.Label, other, got)
		}
		if s.Pattern.Matches("file_delete", req.Payload) {
			t.Errorf("suggestion %q matches another tool", s.Label)
		}
	}
	for _, v := range []Verdict{
		r.Judge(Request{Op: Delete}, facts("/p/a.c", File)),
		r.Judge(Request{Op: Edit}, facts("/p/.env", File)),
	} {
		if req, _ := v.Request(); len(req.Suggestions) > 0 {
			t.Errorf("%s offers %v", req.Description, req.Suggestions)
		}
	}
	if req, err := r.Judge(Request{Op: Read}, facts("/p/a.c", File)).Request(); req != nil || err != nil {
		t.Errorf("reading: %v, %v", req, err)
	}
	if _, err := r.Judge(Request{Op: Read}, facts("/etc/passwd", File)).Request(); err == nil {
		t.Error("outside is not blocked")
	}
}

// TestOpOf: the names of file tools mean these operations.
func TestOpOf(t *testing.T) {
	for tool, want := range map[string]Op{"file_read": Read, "file_insert_before": Insert, "file_rmdir": Rmdir,
		"file_multi_edit": MultiEdit, "file_list": List} {
		if op, ok := OpOf(tool); !ok || op != want {
			t.Errorf("%s: %s, %v", tool, op, ok)
		}
	}
	for _, tool := range []string{"bash", "read", "file_", "file_undo", "stat", ""} {
		if op, ok := OpOf(tool); ok {
			t.Errorf("%q is taken for %s", tool, op)
		}
	}
}
