package acceptance

import (
	"path/filepath"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// The agents' own tools may do unasked what a command, or the file tool, may do unasked; a rule of the configuration
// comes before that. R-AP-24
func TestHookDefaultRules(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		config := answeredTimes + "[network]\nmode = \"allowlist\"\nallow = [\"*.example.org\"]\n" +
			"deny = [\"evil.example:443\"]\n" +
			"[files]\nhidden = [\"**/vault/**\"]\nauto_safe = true\nsafe = [\"notes/**\"]\n"
		st := newStage(a, config)
		asked := answerAll(t, st, ipc.Answer{Mode: "soft", Note: "no"})
		a.sh("mkdir -p src notes open deep/vault keys && echo s > deep/vault/s && echo x > src/a.txt && " +
			"echo x > keys/id_rsa && echo x > notes/n && echo TOKEN=1 > .env && ln -s deep deepl && ln -s . up && " +
			"ln -s / rootl && ln -s notes notesl && ln -s /etc/shadow open/link && ln -s ../.env src/env && git init -q .")
		for _, c := range hookCalls(a) {
			before := asked.Load()
			decision, reason, _ := a.hook(call("claude", a.project, c.tool, c.input), "claude")
			got := decision
			if asked.Load() > before {
				got = "ask"
			}
			if got != c.want && !(c.want == "ask" && got == "deny") {
				t.Errorf("%s %v: got %s (%s), want %s", c.tool, c.input, got, reason, c.want)
			}
		}
		st.configure(t, config+"[[tools.rules]]\ntool = \"Read\"\ndecision = \"deny\"\n")
		input := call("claude", a.project, "Read", map[string]any{"file_path": filepath.Join(a.project, "README")})
		if decision, reason, _ := a.hook(input, "claude"); decision != "deny" || reason == "" {
			t.Errorf("a rule that denies: got %s (%s)", decision, reason)
		}
	})
}

// hookCall is a call of an agent's own tool and its end: allow is unasked, and so is deny.
type hookCall struct {
	tool  string
	input map[string]any
	want  string // allow, ask or deny
}

func hookCalls(a *actor) []hookCall {
	in := func(name string) string { return filepath.Join(a.project, name) }
	type args = map[string]any
	return []hookCall{
		{"TodoWrite", args{"todos": []any{}}, "allow"},
		{"Task", args{"prompt": "look around"}, "allow"},
		{"Read", args{"file_path": in("src/a.txt")}, "allow"},
		{"read_file", args{"absolute_path": in("README")}, "allow"},
		{"view", args{"path": "README"}, "allow"},
		{"Glob", args{"pattern": "**/*.go"}, "allow"},
		{"Grep", args{"pattern": "x", "path": in("src/a.txt")}, "allow"},
		{"LS", args{"path": in("src")}, "allow"},
		{"Grep", args{"pattern": "x", "path": in("notes")}, "allow"},
		{"Grep", args{"pattern": "/x", "path": "notesl", "output_mode": "content"}, "allow"},
		{"Write", args{"file_path": in("notes/new"), "content": "y"}, "allow"},
		{"Edit", args{"file_path": in("notes/n"), "old_string": "x", "new_string": "y"}, "allow"},
		{"WebFetch", args{"url": "https://docs.example.org/a"}, "allow"},

		{"Read", args{"file_path": in(".env")}, "ask"},
		{"Read", args{"file_path": in("src/env")}, "ask"},
		{"Read", args{"file_path": in("open/link")}, "ask"},
		{"Read", args{"file_path": in("../../etc/passwd/../shadow")}, "ask"},
		{"Read", args{"file_path": "~/.ssh/id_rsa"}, "ask"},
		{"Read", args{"file_path": a.home + "/.ssh/id_rsa"}, "ask"},
		{"Read", args{"file_path": in("README"), "path": "/etc/shadow"}, "ask"},
		{"Read", args{"file_path": []any{in("README")}}, "ask"},
		{"Read", args{"FILE_PATH": in("README")}, "ask"},
		{"Grep", args{"pattern": "x", "path": "/etc"}, "ask"},
		{"Grep", args{"pattern": "TOKEN", "path": in(".")}, "ask"}, // .env is below
		{"Grep", args{"pattern": "x", "path": in("deep")}, "ask"},
		{"Grep", args{"pattern": "x", "path": "deepl"}, "ask"}, // by a link, which the agent's search follows
		{"Grep", args{"pattern": "x", "path": "up"}, "ask"},
		{"Grep", args{"pattern": "x", "path": "notes", "folder": "keys"}, "ask"},
		{"LS", args{"also": []any{"/etc"}}, "ask"},
		{"LS", args{"dir": "rootl"}, "ask"},
		{"list_directory", args{"where": "../.."}, "ask"},
		{"Read", args{"file_path": in("deep/vault/s")}, "ask"},
		{"Grep", args{"pattern": "x", "path": in("src"), "glob": "../.env"}, "ask"},
		{"Glob", args{"pattern": "/etc/**"}, "ask"},
		{"Glob", args{"pattern": "../**"}, "ask"},
		{"Write", args{"file_path": in("notes/n"), "content": "y"}, "ask"}, // loses what it held
		{"Write", args{"file_path": in("src/a.txt"), "content": "y"}, "ask"},
		{"Edit", args{"file_path": in(".git/hooks/pre-commit"), "old_string": "", "new_string": "y"}, "ask"},
		{"Write", args{"file_path": a.home + "/.bashrc", "content": "y"}, "ask"},
		{"create", args{"path": in("notes/new2"), "file_text": "y"}, "allow"},
		{"write", args{"path": in("notes/new3"), "content": "y"}, "ask"}, // by the specification's table
		{"write", args{"path": a.home + "/.bashrc", "content": "y"}, "deny"},
		{"write", args{"path": "~/.bashrc", "content": "y"}, "deny"},
		{"edit", args{"path": "/etc/passwd", "edits": []any{args{"oldText": "root", "newText": "y"}}}, "deny"},
		{"read", args{"path": "@" + a.home + "/.ssh/id_rsa"}, "ask"},
		{"list_files", args{"path": a.home}, "ask"},
		{"WebFetch", args{"url": "https://example.com/"}, "ask"},
		{"WebFetch", args{"url": "https://docs.example.org@example.com/"}, "ask"},
		{"WebFetch", args{"url": "file:///etc/passwd"}, "ask"},
		{"mcp__files__Read", args{"file_path": in("README")}, "ask"},
		{"WebFetch", args{"url": "https://evil.example/"}, "deny"},
	}
}

// A change by the agent's own tool, whatever it is called, shows the content, is confirmed where the path is protected,
// and a yes for the session covers this content alone. R-AP-05, R-AP-24
func TestHookShowsChanges(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, answeredTimes)
		a.sh("git init -q . 2>/dev/null || true; printf 'a\\nb\\n' > notes")
		questions := make(chan ipc.Approval, 100)
		st.persons["terminal"].answering(t, func(q ipc.Approval) ipc.Answer {
			questions <- q
			if q.Confirm {
				return ipc.Answer{Allow: true} // a yes to what is protected is for once
			}
			return ipc.Answer{Allow: true, Scope: "session"}
		})
		type args = map[string]any
		hookFile := filepath.Join(a.project, ".git/hooks/pre-commit")
		for i, c := range []struct {
			tool      string
			input     args
			shown     string // "": it is not asked again
			protected bool
		}{
			{"write", args{"path": "notes", "content": "harmless\n"}, "+harmless", false},
			{"write", args{"path": "notes", "content": "harmless\n"}, "", false},
			{"write", args{"path": "notes", "content": "evil\n"}, "+evil", false},
			{"edit", args{"path": "notes", "edits": []any{args{"oldText": "a", "newText": "z"}}}, "+z", false},
			{"edit", args{"filePath": "notes", "oldString": "b", "newString": "y"}, "+y", false},
			{"write", args{"path": hookFile, "content": "#!/bin/sh\n"}, "#!/bin/sh", true},
			{"Write", args{"file_path": hookFile, "content": "#!/bin/sh\n"}, "#!/bin/sh", true},
			{"write", args{"path": ".env", "content": "TOKEN=1\n"}, "TOKEN=", true},
		} {
			decision, reason, _ := a.hook(call("claude", a.project, c.tool, c.input), "claude")
			if decision != "allow" {
				t.Fatalf("%d: %s %v: got %q (%s), want allow", i, c.tool, c.input, decision, reason)
			}
			shown, protected := "", false
			for len(questions) > 0 { // one, and a second yes
				q := <-questions
				if shown, protected = "-", q.Confirm; q.Presentation != nil {
					shown = q.Presentation.Content
				}
			}
			if !strings.Contains(shown, c.shown) || (shown == "") != (c.shown == "") || protected != c.protected {
				t.Errorf("%d: %s %v: got %q, confirmed %v; want %q, %v", i, c.tool, c.input, shown, protected, c.shown,
					c.protected)
			}
		}
	})
}
