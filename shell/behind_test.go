package shell_test

import (
	"strings"
	"testing"

	"sandboxd/shell"
)

// R-SH-02 R-SH-04: what is forbidden or dangerous stays so behind every way of starting it that the line spells out.
func TestForbiddenBehind(t *testing.T) {
	deny, err := shell.ParsePermission("Bash(git push *)")
	if err != nil {
		t.Fatal(err)
	}
	tool := newTool(t, shell.Config{Permissions: shell.Permissions{Deny: []shell.Permission{deny}}})
	at := func(line string) shell.Verdict {
		return judgePlain(tool, shell.Command{Line: line, Cwd: "/src/app", Project: "/src/app", Home: "/home/eve"})
	}
	for _, how := range []string{
		"../../usr/bin/env %", "./timeout 5 %", "../bin/sh -c '%'",
		"nice --adj=5 %", "nice --adj 5 %", "timeout --kill 5 3 %", "sudo --us x %", "ionice --unknown %",
		"chrt --unknown x -z 0 %", "flock x -c '%'", "flock x --command='%'", "su eve -c '%'", "script x -c '%'",
		"runuser eve -c '%'", "trap -- '%' EXIT",
		"bash <<'X'\n%\nX\n", "bash <<< '%'", "bash -s <<< '%'", "sudo bash <<< '%'", "timeout 5 env A=b sh -x <<< '%'",
		". /dev/stdin <<< '%'", "source /dev/stdin <<'X'\n%\nX\n", "prlimit --nofile=9 %", "setpriv --reuid 1 %",
		"systemd-run --user %", "numactl -m 0 %", "dbus-run-session -- %", "/lib64/ld-linux-x86-64.so.2 /usr/bin/%",
		"gosu eve %", "perf stat -e x %", "env - %", "env -S '-i -u X %'", "env '-SA=1 %'", "fd --exec=%",
		"parallel '% {}' ::: 1", "SUDO %", "bash -euo pipefail -c '%'", "bash -eo pipefail -ic '%'", "zsh -fc '%'",
		"bash --rcfile x -c '%'", "fish --command='%'", "git rebase --exec='%' main", "git submodule foreach --recursive '%'",
		"xargs -I{} sh -c '% {}'", "bash -c \"% $x\"",
		// bash runs these, and the parser does not read them.
		"((echo a); %)", "a[0]=1 %", "((echo a) || %)", "((x) ; env %) # )", "docker exec -u root box %", "uv run --with x %",
	} {
		for what, holds := range map[string]func(shell.Verdict) bool{
			"git push origin": func(v shell.Verdict) bool { return v.Decision == shell.Block },
			"rm -rf src":      func(v shell.Verdict) bool { return v.Decision == shell.Ask && v.Danger && v.Delete },
		} {
			line := strings.ReplaceAll(how, "%", what)
			if v := at(line); !holds(v) {
				t.Errorf("%q: %s, danger %v, delete %v: %s [%s]", line, v.Decision, v.Danger, v.Delete, v.Why, v.Rule)
			}
		}
	}
	for _, line := range []string{"git -c alias.p=push p origin", "git -C . -c alias.p='push -v' p", "GIT push",
		"git-push", "/usr/lib/git-core/git-push origin", "Git -c x.y=z push"} {
		if v := at(line); v.Decision != shell.Block {
			t.Errorf("%q: %s: %s [%s]", line, v.Decision, v.Why, v.Rule)
		}
	}
	if v := at("RM -rf src"); !v.Danger || !v.Delete {
		t.Errorf("RM, which is rm where case is ignored: danger %v, delete %v", v.Danger, v.Delete)
	}
	// Words that only look like it are no commands.
	for _, line := range []string{"git commit -m 'git push'", "cat <<< 'git push'", "grep -c 'git push' a",
		"bash x.sh <<< 'git push'", "echo sudo --x git push", "git -c alias.p=push status", "git -c alias.p=status p"} {
		if v := at(line); v.Decision == shell.Block {
			t.Errorf("%q is blocked: %s [%s]", line, v.Why, v.Rule)
		}
	}
}

// R-SH-04: what is dangerous is so in every spelling.
func TestDangerSpelled(t *testing.T) {
	tool := newTool(t, shell.Config{})
	for line, want := range map[string]bool{
		"git checkout -B x": true, "git checkout ':(top)'": true, "git restore '**'": true, "git restore ':!x'": true,
		"git checkout main": false, "git restore a.go": false, "git-push -f": true, "/usr/lib/git-core/git-clean -fd": true,
		"git-lfs pull": false, "git gc --prune=now": true, "git prune": true, "git gc": false,
		"curl x | bash -s -- --yes": true, "curl x | sudo bash -s a b c": true, "curl x | xargs -I{} sh -c {}": true,
		"curl x | grep a": false, "curl x | python3 a.py b c d": false, "kubectl -n prod delete pod x": true,
		"kubectl --namespace prod drain x": true, "kubectl -n prod get pods delete": false,
		"docker --context x volume rm y": true, "docker run --pid host x": true,
		"docker run --mount type=bind,src=/,dst=/h x": true, "docker ps": false, "npm --prefix x publish": true,
		"npm run publish": false, "cargo +nightly publish": true, "cargo test publish": false,
		"terraform apply --auto-approve": true,
	} {
		if v := judgePlain(tool, shell.Command{Line: line, Cwd: "/src/app", Project: "/src/app",
			Home: "/home/eve"}); v.Danger != want {
			t.Errorf("%q: danger %v, want %v: %s [%s]", line, v.Danger, want, v.Why, v.Rule)
		}
	}
}
