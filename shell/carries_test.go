package shell_test

import (
	"context"
	"testing"

	"sandboxd/shell"
	"sandboxd/shell/facts"
)

// R-LY-07: where a permission asks or denies, a line that carries a command in another way than as its words is not
// contained: what it runs may be that command.
func TestContainedCarriesNoCommand(t *testing.T) {
	dir := t.TempDir()
	var asked shell.Permissions
	for _, p := range []string{"Bash(touch *)", "Bash(git push *)"} {
		parsed, err := shell.ParsePermission(p)
		if err != nil {
			t.Fatal(err)
		}
		asked.Ask = append(asked.Ask, parsed)
	}
	deny := shell.Permissions{Deny: asked.Ask}
	no := false
	rule := []shell.Rule{{Pattern: "touch", Allowed: &no}, {Pattern: "git push"}}
	tools := []*shell.Tool{newTool(t, shell.Config{Permissions: asked}), newTool(t, shell.Config{Permissions: deny}),
		newTool(t, shell.Config{Rules: rule})}
	contained := func(tool *shell.Tool, line string) bool {
		v, _ := facts.Judge(context.Background(), tool,
			shell.Command{Line: line, Cwd: dir, Project: dir, Home: "/nosuch"}, facts.Options{})
		return v.Decision == shell.Auto || v.Contained && !v.Configured
	}
	for _, line := range []string{
		"mapfile -C 'git push origin' -c 1 x < f", "readarray -c1 -C 'touch P' x < f", `x='git push'; eval "$x"`,
		"jobs -x touch P", "hash -p /usr/bin/touch foo; foo P", "compgen -C 'touch P' x", "complete -C 'touch P' x",
		"shopt -s expand_aliases; alias g='touch P'\ng", "BASH_ENV=<(echo touch P) bash -c :",
		"PROMPT_COMMAND='touch P' bash -i", `bash -c 'eval "$0"' 'touch P'`, "echo touch P | xargs env",
		"printf 'touch P' | bash", "bash <<'E'\ntouch P\nE", "sh <<E\ntouch P\nE", "bash <<< 'touch P'",
		"source <(echo touch P)", ". /dev/stdin <<< 'touch P'",
		"git config alias.p '!touch P' && git p", "git config set alias.p '!touch P'; git p",
		`x='$(touch P)'; echo "${x@P}"`, `test -v 'a[$(touch P)]'`, `[ -v 'a[$(touch P)]' ]`, `[[ -v 'a[$(touch P)]' ]]`,
		`printf -v 'a[$(touch P)]' x`, `read 'a[$(touch P)]' <<< x`, `x='a[$(touch P)]'; ((x))`,
		`x='a[$(touch P)]'; echo $((x))`, `unset 'a[$(touch P)]'`, `declare 'a[$(touch P)]=1'`,
		`x='a[$(touch P)]'; let x`, `x='a[$(touch P)]'; [[ $x -eq 1 ]]`, `wait -p 'a[$(touch P)]' -n`,
		"parallel ::: 'git push' 'touch P'", "runcon x touch P", "capsh -- -c 'touch P'", "sg root 'touch P'",
		"sg root -c 'touch P'", "tmux new -d 'touch P'", "tmux new-session -d touch P",
		"screen -dm touch P", "expect -c 'spawn touch P'", "dtach -n s touch P", "PS4='$(touch P)' bash -xc :",
		"enable -f ./x.so touch", "bind -x '\"a\": touch P'", "coproc touch P", "CC='touch P' make",
		"GIT_PAGER='touch P' git log", "git -c core.pager='touch P' log",
		"cat f | while read c; do $c; done", "f() { $1 P; }; f touch", "exec -a x touch P", "fc -e touch",
		"find . -name x -exec {} P \\;", "xargs -a f env", "env -S 'touch P'", "busybox touch P", "setsid -w touch P",
		"trap 'touch P' EXIT", "export GIT_EDITOR='touch P'; git commit", "git config core.editor 'touch P'; git commit",
		"uv run touch P",
	} {
		for i, tool := range tools {
			if contained(tool, line) {
				t.Errorf("%q runs unasked with configuration %d", line, i)
			}
		}
	}
	for _, line := range []string{"mapfile -C 'touch P' -c 1 x < f", "readarray -tCtouch x < f", "jobs -x touch P",
		"hash -p /usr/bin/touch foo; foo P", "compgen -C 'touch P' x", "alias g='touch P'", "tmux new -d 'touch P'",
		"screen -dm touch P", "runcon x touch P", "capsh -- -c 'touch P'", "sg root 'touch P'", "parallel ::: 'touch P'",
		"dtach -n s touch P"} {
		v := judgePlain(tools[1], shell.Command{Line: line, Cwd: dir, Project: dir})
		if v.Decision != shell.Block {
			t.Errorf("%q: %s though the permission denies it: %s", line, v.Decision, v.Why)
		}
	}
	plain := newTool(t, shell.Config{})
	for _, line := range []string{`x=1; ((x++)); echo $((x + 1))`, "printf 'touch P' | bash", `x=id; eval "$x"`} {
		if !contained(plain, line) {
			t.Errorf("%q asks though nothing is configured", line)
		}
	}
	for _, line := range []string{
		"python3 build.py", "make test", `for f in *.txt; do echo more >> "$f"; done`, "npm test", "bash build.sh",
		"cat > gen.sh <<'E'\necho made\nE\nbash gen.sh", "cp a b && sed -i s/a/b/ b",
		"pytest -q | tail -5", "go build ./... 2>&1 | head", `d=$(mktemp -d); echo "$d"`,
		"GIT_PAGER=cat git log -p > log", "PATH=$PWD/bin:$PATH make", "CC=clang make", "git config user.name me",
		`git commit -qm 'use $(x)'`, "awk '{print $1}' a > b", "bash -c 'make test'",
	} {
		for i, tool := range append(tools, plain) {
			if !contained(tool, line) {
				t.Errorf("%q asks with configuration %d", line, i)
			}
		}
	}
}
