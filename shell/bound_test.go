package shell_test

import (
	"strings"
	"testing"

	"sandboxd/shell"
)

// R-SH-03: words whose value follows from the directory or from the line alone count as
// literal, and the command runs with that value; beside each is a line that must still ask.
func TestBoundWords(t *testing.T) {
	tool := newTool(t, shell.Config{Presets: []string{"go"}})
	for _, c := range []struct{ line, run, asks string }{
		{"echo $HOME", `'echo' '/home/eve'`, "HOME=/x; echo $HOME"},
		{"cat ~/app/a.txt", `'cat' '/home/eve/app/a.txt'`, "cat ~/.ssh/id_ed25519"},
		{"cat \"$HOME/app/a.txt\"", `'cat' '/home/eve/app/a.txt'`, "cat \"$HOME/.aws/credentials\""},
		{"ls $PWD/sub", `'ls' '/home/eve/app/sub'`, "cd x; ls $PWD/sub"},
		{"git -C ~/app log -3", `'git' '-C' '/home/eve/app' 'log' '--no-ext-diff' '--no-textconv' '-3'`,
			"git -C ~/other log -3"},
		{"cd ~/app && ls", `'cd' '/home/eve/app' && 'ls'`, "cd ~ && ls"},
		{"ls ~/app", `'ls' '/home/eve/app'`, "ls ~/app/*"},
		{"grep -n $? a.txt", "", "grep -n $? a.txt"},
		{"ls; echo \"exit: $?\"", `'ls'; 'echo' 'exit: '"$?"`, "ls; cat $?"},
		{"go test ./... | tail -5; echo ${PIPESTATUS[0]}", `'go' 'test' './...' | 'tail' '-5'; 'echo' "${PIPESTATUS[0]}"`,
			"ls | tail; echo ${PIPESTATUS[$x]}"},
		{"go vet ./...; test $? -eq 0 && echo ok", `'go' 'vet' './...'; 'test' "$?" '-eq' '0' && 'echo' 'ok'`,
			"ls; test $UID -eq 0"},
		{"echo \"$USER $PATH\"", `'echo' "$USER"' '"$PATH"`, "echo $GITHUB_TOKEN"},
		{"set -euo pipefail; ls | head", `'set' '-euo' 'pipefail'; 'ls' | 'head'`, "set -x; ls"},
		{"cd sub || exit 1; ls", `'cd' 'sub' || 'exit' '1'; 'ls'`, "cd sub || return 1; ls"},
		{"for f in a b; do echo \"== $f\"; head -3 $f.txt; done",
			`{ 'echo' '== a'; 'head' '-3' 'a.txt'; 'echo' '== b'; 'head' '-3' 'b.txt'; }`,
			"for f in a b; do echo \"== $f\"; rm $f.txt; done"},
		{"for p in a b; do go test ./$p; done | tail", `{ 'go' 'test' './a'; 'go' 'test' './b'; } | 'tail'`,
			"for p in a b; do go $p; done"},
		{"for f in a.txt; do cat $f; done", `{ 'cat' 'a.txt'; }`, "for f in /etc/shadow; do cat $f; done"},
		{"for f in a b; do cat $f; done", `{ 'cat' 'a'; 'cat' 'b'; }`, "for f in a .env; do cat $f; done"},
		{"for c in a b; do echo $c; done", `{ 'echo' 'a'; 'echo' 'b'; }`, "for c in ls rm; do $c x; done"},
		{"for o in -l -a; do ls $o; done", `{ 'ls' '-l'; 'ls' '-a'; }`, "for o in -n -i; do sed $o 1p a; done"},
		{"for f in a; do cat $f; done; ls", `{ 'cat' 'a'; }; 'ls'`, "for f in a; do cat $f; done; cat $f"},
		{"for f in a b; do ls $f; done 2>/dev/null", `{ 'ls' 'a'; 'ls' 'b'; } 2>/dev/null`,
			"for f in a b; do ls $f; done > out"},
		{"git config user.email", "'git' 'config' 'user.email'", "git config user.email a@example.com"},
		{"node -v", "'node' '-v'", "node -v x.js"},
	} {
		judge := func(line string) shell.Verdict {
			return judgePlain(tool, shell.Command{Line: line, Cwd: "/home/eve/app", Project: "/home/eve/app", Home: "/home/eve"})
		}
		if v := judge(c.line); c.run != "" {
			got := v.Run.Script
			if got == "" {
				got = "'" + strings.Join(v.Run.Argv, "' '") + "'"
			}
			if v.Decision != shell.Auto || got != c.run {
				t.Errorf("%q is %s and runs %s, want %s: %s", c.line, v.Decision, got, c.run, v.Why)
			}
			if again := judge(got); again.Decision != shell.Auto {
				t.Errorf("%q is written as %s, which asks: %s", c.line, got, again.Why)
			}
		}
		if v := judge(c.asks); v.Decision != shell.Ask {
			t.Errorf("%q is %s and runs %+v, want ask", c.asks, v.Decision, v.Run)
		}
	}
}

// R-AP-07: a pattern grant is for words as they stand, which the words of a loop are not.
func TestLoopHasNoPattern(t *testing.T) {
	v := judgePlain(newTool(t, shell.Config{}), shell.Command{Line: "for f in a b; do frob $f; done", Cwd: "/p",
		Project: "/p"})
	if v.Decision != shell.Ask || v.Payload["plain"] != nil || len(v.Suggestions) > 0 {
		t.Errorf("a loop that asks is %s with the payload %v and suggests %v", v.Decision, v.Payload, v.Suggestions)
	}
	if len(v.Parts) != 1 {
		t.Errorf("its one command is explained %d times: %v", len(v.Parts), v.Parts)
	}
}
