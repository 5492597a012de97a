package acceptance

import (
	"path/filepath"
	"testing"

	"sandboxd/ipc"
)

// The agents' own tools may do unasked what a command, or the file tool, may do unasked; a rule of the configuration
// comes before that. R-AP-24
func TestHookDefaultRules(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		config := shortTimes + "[network]\nmode = \"allowlist\"\nallow = [\"*.example.org\"]\n" +
			"deny = [\"evil.example:443\"]\n" +
			"[files]\nhidden = [\"**/vault/**\"]\nauto_safe = true\nsafe = [\"notes/**\"]\n"
		st := newStage(a, config)
		asked := answerAll(t, st, ipc.Answer{Mode: "soft", Note: "no"})
		a.sh("mkdir -p src notes open deep/vault keys && echo s > deep/vault/s && echo x > src/a.txt && " +
			"echo x > keys/id_rsa && echo x > notes/n && echo TOKEN=1 > .env && ln -s deep deepl && ln -s . up && " +
			"ln -s / rootl && ln -s notes notesl && ln -s /etc/shadow open/link && ln -s ../.env src/env && git init -q .")
		in := func(name string) string { return filepath.Join(a.project, name) }
		type args = map[string]any
		for _, c := range []struct {
			tool  string
			input args
			want  string // allow: unasked; ask; deny: unasked
		}{
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
			{"WebFetch", args{"url": "https://example.com/"}, "ask"},
			{"WebFetch", args{"url": "https://docs.example.org@example.com/"}, "ask"},
			{"WebFetch", args{"url": "file:///etc/passwd"}, "ask"},
			{"mcp__files__Read", args{"file_path": in("README")}, "ask"},
			{"WebFetch", args{"url": "https://evil.example/"}, "deny"},
		} {
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
		input := call("claude", a.project, "Read", args{"file_path": in("README")})
		if decision, reason, _ := a.hook(input, "claude"); decision != "deny" || reason == "" {
			t.Errorf("a rule that denies: got %s (%s)", decision, reason)
		}
	})
}
