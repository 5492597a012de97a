package shell_test

import (
	"slices"
	"strings"
	"testing"

	"sandboxd/shell"
)

// starters are the ways to start a command that the wrapper table tries, % for the command: the programs of the
// analysis, and others that only their words show.
const starters = `
npm exec -c '%'|npm x -c '%'|npm exec --call='%'|npm exec -- %|npm x -- %|pnpm exec %|yarn exec %|npx -c '%'
npx %|npx concurrently '%'|concurrently '%'|concurrently -n a,b 'ls' '%'|cross-env A=b %|env-cmd %
env-cmd -f .x %|dotenv -- %|dotenv -e .x -- %|dotenvx run -- %|op run -- %|op run --env-file=x -- %
doppler run -- %|infisical run -- %|aws-vault exec p -- %|chamber exec p -- %|nodemon --exec '%'|nodemon -x '%'
watchexec %|watchexec -- %|watchexec -e js '%'|entr %|hyperfine '%'|hyperfine -w 3 'ls' '%'|cargo watch -s '%'
mise x -- %|mise exec -- %|mise exec node@20 -- %|pyenv exec %|rbenv exec %|nodenv exec %|asdf exec %
nvm exec 20 %|volta run %|volta run --node 20 %|fnm exec -- %|fnm exec --using 20 %|corepack %|lerna exec -- %
nx exec -- %|turbo exec %|rush %|nix-shell --run '%'|nix-shell -p x --run '%'|nix develop -c %
nix develop --command %|guix shell -- %|devbox run -- %|devenv shell -- %|flox activate -- %
script -q /dev/null %|script -c '%'|script -qc '%' /dev/null|sshpass -p x %|gdb --args %|perf record -- %
perf record %|perf stat %|rr record %|faketime x %|cpulimit -l 5 %|systemd-cat %|systemd-run --user %
start-stop-daemon --start --exec %|daemonize %|daemon -- %|git difftool -x '%'|git difftool --extcmd='%'
csh -c '%'|tcsh -c '%'|pwsh -c '%'|pwsh -Command '%'|nu -c '%'|xonsh -c '%'|elvish -c '%'|fish -c '%'|zsh -c '%'
dash -c '%'|ksh -c '%'|mksh -c '%'|bash -c '%'|sh -c '%'|bash -lc '%'|bash -euo pipefail -c '%'|pee '%'
mispipe '%' 'cat'|env %|env A=b %|env -i %|env -S '%'|env -u X %|timeout 5 %|timeout -k 1 5 %|nice %|nice -n 5 %
nohup %|setsid %|stdbuf -oL %|time %|command %|exec %|eval '%'|eval %|sudo %|sudo -u x %|doas %|pkexec %
su -c '%'|runuser -u x -- %|chroot / %|unshare -r %|nsenter -a %|strace -f %|ltrace %|valgrind %|xargs %
xargs -n1 %|parallel %|parallel ::: '%'|watch %|watch -n 5 '%'|flock x %|flock x -c '%'|busybox sh -c '%'
xvfb-run %|xvfb-run -a %|setarch x %|linux64 %|unbuffer %|fakeroot %|proot %|rlwrap %|eatmydata %|proxychains %
proxychains4 -q %|prlimit %|setpriv %|numactl -l %|systemd-inhibit %|dbus-run-session %|dbus-run-session -- %
choom -n 5 %|gosu x %|su-exec x %|tini %|tini -- %|dumb-init %|chronic %|torsocks %|torify %|cgexec -g x %
firejail %|bwrap %|uv run %|poetry run %|pipenv run %|rye run %|hatch run %|pdm run %|conda run %
conda run -n x %|bundle exec %|direnv exec . %|docker exec x %|pipx run %|uvx %|bunx %|find . -exec % {} \;
find . -maxdepth 0 -execdir % \;|fd -x %|git bisect run %|git rebase -x '%'|git submodule foreach '%'
git -c alias.x='!%' x|trap '%' EXIT|tmux new -d '%'|tmux new %|screen -dm %|dtach -n x %|abduco -n x %|(%)
{ %; }|! %|if true; then %; fi|for i in 1; do %; done|while %; do :; done|f() { %; }; f|true && %|false \|\| %
echo x; %|cat <(%)|x=$(%)|echo "$(%)"|` + "echo `%`" + `|% &|coproc %|bash <<< '%'|A=b %|\%|/usr/bin/%|% > x
ionice -c 3 %
chrt -b 0 %|taskset 1 %|catchsegv %|caffeinate %|tsp %|ts %|batch-run %|retry %|retry -t 3 -- %|wait-on x && %
wait-for-it x:1 -- %|dockerize -wait x %|supervise %|runit %|s6-setuidgid x %|envdir x %|chpst -u x %
with-contenv %|aws-okta exec p -- %|saml2aws exec -- %|teller run -- %|sops exec-env x '%'|gopass env x %
summon %|envchain x %|keyring-run %|pass-env %|berglas exec -- %|vault-exec %|run-s %|npm-run-all %|wireit %
zx -c '%'|just -c '%'|just --command %|task -- %|foreman run %|honcho run %|overmind run %|hivemind '%'
tox exec -- %|nox -- %|pants run %|bazel run //:x -- %|buck2 run x -- %|earthly %|dagger run %|tilt ci -- %
act -- %|gitlab-runner exec %|mask %|cargo make %
`

// A command that is denied is never run unasked behind a program that starts it, whether it is known or not, under the
// policy that asks least. R-SH-02, R-LY-07
func TestNothingDeniedBehindAnything(t *testing.T) {
	ways := strings.FieldsFunc(strings.ReplaceAll(starters, `\|\|`, "OR"),
		func(c rune) bool { return c == '|' || c == '\n' })
	if len(ways) < 228 {
		t.Fatalf("got %d ways, want at least 228", len(ways))
	}
	if slices.Sort(ways); len(slices.Compact(slices.Clone(ways))) != len(ways) {
		t.Error("a way is in the table twice")
	}
	tool := newTool(t, shell.Config{Permissions: shell.Permissions{
		Deny: []shell.Permission{parsed(t, "Bash(npm publish *)"), parsed(t, "Bash(make deploy *)")},
	}})
	for _, what := range []string{"npm publish", "make deploy"} {
		for _, way := range ways {
			line := strings.ReplaceAll(strings.ReplaceAll(way, "OR", "||"), "%", what)
			v := judgePlain(tool, shell.Command{Line: line, Cwd: "/src/app", Project: "/src/app", Home: "/home/eve"})
			if v.Decision == shell.Auto || v.Contained || v.InLayer {
				t.Errorf("%s: got %s, contained %v (%s [%s]), want a question", line, v.Decision, v.InLayer, v.Why, v.Rule)
			}
		}
	}
}

// A denied command is denied or asked about in every spelling that means it to its program, and no other command is.
// R-SH-02
func TestDeniedInOtherWords(t *testing.T) {
	var deny []shell.Permission
	for _, p := range []string{"npm publish *", "npm run deploy *", "npm install -g *", "rm -rf *", "make deploy *",
		"go install *", "yarn add *", "pip install *", "git push --force *", "cargo run *", "mvn deploy *"} {
		deny = append(deny, parsed(t, "Bash("+p+")"))
	}
	tool := newTool(t, shell.Config{Permissions: shell.Permissions{Deny: deny}})
	for line, want := range map[string]bool{
		"npm pub": true, "npm publ --dry-run": true, "npm --prefix x pub": true, "npm run-script deploy": true,
		"npm rum deploy": true, "npm urn deploy": true, "npm --silent run --if-present deploy": true, "npm i -g x": true,
		"npm runScript deploy": true, "npm run -w a deploy": true, "npm install --global x": true, "npm add x -g": true,
		"rm --recursive --force src": true, "rm --rec --fo src": true, "rm -R -f src": true, "rm src --force -r": true,
		"make all deploy": true, "make V=1 deploy": true, "make -C . deploy": true, "make -j4 deploy": true,
		"make all V=1 deploy x": true, "gmake deploy": true, "go -C . install x": true, "yarn --cwd x add y": true,
		"pip3 install x": true, "python3 -m pip install x": true, "python3 -mpip install x": true,
		"python -I -m pip --quiet install x": true, "pip --proxy x install y": true, "git push -f": true,
		"git -C . push --force": true, "git push origin --forc": true, "cargo r": true, "cargo --config x run": true,
		"mvn clean deploy": true, "mvn -B -f x clean deploy": true,
		"npm p": false, "npm pack": false, "npm run build deploy": false, "npm test deploy": false, "npm install x": false,
		"rm -r src": false, "rm --recursive src": false, "make build": false, "make deployed": false,
		"go build -o install ./x": false, "go test ./install": false, "yarn why add": false, "yarn run add": false,
		"pip list": false, "python3 -m pytest install": false, "python3 x.py install": false, "git push": false,
		"cargo test run": false, "mvn test": false, "cp npm publish x": false, "echo npm publish": false,
		"git commit -m 'npm publish'": false, "grep -rn 'make deploy' .": false, "mkdir make deploy": false,
	} {
		v := judgePlain(tool, shell.Command{Line: line, Cwd: "/src/app", Project: "/src/app", Home: "/home/eve"})
		if v.Objects != want {
			t.Errorf("%s: got objects %v (%s: %s [%s]), want %v", line, v.Objects, v.Decision, v.Why, v.Rule, want)
		}
	}
}

// What a program that is not known may start is judged where it sends or is dangerous, and everyday words are no
// commands. R-LY-07, R-SH-04
func TestCandidatesWithoutRules(t *testing.T) {
	tool := newTool(t, shell.Config{})
	for line, want := range map[string]bool{
		"op run -- git push": false, "sshpass -p x git push": false, "cross-env A=b git push": false,
		"npx concurrently 'git push'": false, "npm exec -c 'git push'": false, "npm x -c 'git push'": false,
		"cargo watch -s 'git push'": false, "op run -- rm -rf src": false, "watchexec 'sudo id'": false,
		"corepack npm publish": false, "nodemon --exec 'ssh h id'": false, "npm pub": false,
		"./run.sh docker": true, "./tool init x": true, "flutter format lib": true, "./manage service list": true,
		"npm run docker:build": true, "pytest -k 'git push'": true, "./tool --title 'push it'": true, "./bench at home": true,
		"hugo --title 'a docker tale'": true, "cross-env A=b npm test": true, "op run -- npm test": true,
		"npx concurrently 'npm test' 'tsc -w'": true, "bd create 'Add a service test'": true,
	} {
		v := judgePlain(tool, shell.Command{Line: line, Cwd: "/src/app", Project: "/src/app", Home: "/home/eve"})
		if v.Decision == shell.Auto || v.InLayer != want {
			t.Errorf("%s: got %s, contained %v (%s [%s]), want %v", line, v.Decision, v.InLayer, v.Why, v.Rule, want)
		}
	}
}
