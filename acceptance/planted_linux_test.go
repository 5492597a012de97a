package acceptance

import "testing"

// What a command plants for programs outside is found wherever the command puts it: where the daemon could not list
// it, could not move it, or would not look. For root the modes say nothing; an ordinary user's daemon meets them.
// R-OS-03
func TestPlantedOutOfSight(t *testing.T) {
	t.Parallel()
	repository := func(dir string) string {
		return `d=` + dir + `; mkdir -p $d/objects $d/refs && cp .git/HEAD $d/HEAD && printf '[core]\n\tfsmonitor = touch pwned\n' > $d/config; `
	}
	plants := []struct{ name, command, check string }{
		{"a repository that can't be listed", repository("e/.git") + "chmod 111 $d e",
			"[ $(stat -c %a e) = 111 ] && cd e && ! git config core.fsmonitor"},
		{"a project that can't be listed or written", "echo x > .envrc; chmod 111 .",
			"[ $(stat -c %a .) = 111 ]; chmod 755 .; [ ! -e .envrc ]"},
		{"a folder that can't be written", "mkdir -p src/.vscode && echo x > src/.vscode/tasks.json && chmod 555 " +
			"src/.vscode src", "chmod 755 src; [ ! -e src/.vscode ]"},
		{"a repository in the object store", repository(".git/objects/ab") +
			"mkdir s; echo 'gitdir: ../.git/objects/ab' > s/.git",
			"cd s && ! git config core.fsmonitor"},
		{"what version control, editors and agents read",
			`for f in .githooks/pre-commit .jj/repo/config.toml .helix/languages.toml .opencode/plugin/x.js opencode.json mise.toml x.code-workspace .github/hooks/x.json QWEN.md; do mkdir -p $(dirname $f); echo x > $f; done`,
			"! ls -d .githooks/* .jj/repo/* .helix/* .opencode/plugin/* opencode.json mise.toml *.code-workspace " +
				".github/hooks/* QWEN.md"},
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		a.direct()
		for _, p := range plants {
			if r := a.sbx("run", "-c", p.command); r.code != 0 {
				t.Errorf("%s: %v", p.name, r)
			}
			if c := a.do(nil, "/bin/bash", "-euc", p.check); c.code != 0 {
				t.Errorf("%s is there: %v", p.name, c)
			}
		}
	})
}
