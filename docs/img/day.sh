#!/usr/bin/env bash
# Counts what 60 commands of the list of a day (shell/testdata/day-commands.jsonl) ask in a real Go and a real Node
# project under the policy contained, once at a terminal and once in a browser, where a script answers as a person
# would, and draws the questions: docs/img/day-terminal.svg and docs/img/day-browser.jpg. CONFIG is configuration besides,
# KEEP a directory for what the commands gave. Needs tmux, python3, node, npm, Go, chromium, and the registries of Go and npm.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD here=$PWD/docs/img count=${COUNT:-60} columns=100 rows=40
work=$(mktemp -d /tmp/day.XXXX)
bin=$work/bin # whose path is in the pictures
cp -r bin "$bin"
cache=$(go env GOMODCACHE) npm_config_cache=$(npm config get cache)
unset SBX_SOCKET_DIR NO_COLOR
export HOME=$work/home npm_config_cache GOTOOLCHAIN=local
export XDG_RUNTIME_DIR=$work/run SBX_STATE_DIR=$work/state PATH=$bin:$PATH LANG=C.UTF-8
mkdir -m 700 "$work/run" "$HOME"
git config --global user.name anna
git config --global user.email anna@example.org
(umask 077 && printf '[gateway]\nlisten = "127.0.0.1:0"\n%b\n' "${CONFIG:-}" >"$work/config.toml")
start() { (cd "$work/node-first" && setsid sbx --config "$work/config.toml" run -- true </dev/null); }
t() { tmux -u -S "$work/tmux" -f /dev/null "$@"; }
finish() {
	for project in "$work"/*/{toml,shop}; do sbx trust --remove "$project" >/dev/null 2>&1 || true; done # and its caches
	sbx stop --now >/dev/null 2>&1 || true
	t kill-server 2>/dev/null || true
	chmod -R u+rwx "$work"
	rm -rf "$work"
}
trap finish EXIT

# The projects: a Go module as published, and a Node project as its template makes it, with a test and a linter.
GOMODCACHE=$cache go mod download github.com/BurntSushi/toml@v1.4.0
(
	cd "$work"
	npm create --yes --silent vite@6 node-first -- --template vanilla-ts >/dev/null </dev/null
	cd node-first
	npm pkg set scripts.test='vitest run' scripts.start='vite preview --port 3000'
	npm install --silent --no-fund --no-audit --save-dev vitest@2 eslint@9
	mkdir test
	printf 'export const add = (a: number, b: number): number => a + b\n' >src/add.ts
	printf 'import { expect, test } from "vitest"\nimport { add } from "../src/add"\ntest("adds", () => expect(add(40, 2)).toBe(42))\n' >test/add.test.ts
)
# projects DIR makes both in a new directory.
projects() {
	mkdir "$1"
	cp -r "$cache/github.com/!burnt!sushi/toml@v1.4.0" "$1/toml"
	chmod -R u+w "$1/toml"
	cp -a "$work/node-first" "$1/shop"
	for project in toml shop; do
		git -C "$1/$project" init -q -b main
		git -C "$1/$project" add -A
		git -C "$1/$project" commit -qm first
	done
}
loop() { echo "python3 $here/day-loop.py $root/shell/testdata/day-commands.jsonl $1/toml $1/shop $count $1/record"; }
# screen waits until the terminal is still, and prints it.
screen() {
	local before='' now
	for _ in $(seq 50); do
		now=$(t capture-pane -p -t day)
		[ "$now" = "$before" ] && break
		before=$now
		sleep 0.4
	done
	echo "$now"
}

projects "$work/terminal"
start
t new-session -d -s day -x "$columns" -y "$rows" "cd $work/terminal; TERM=screen-256color bash --norc"
t set -g status off
t send-keys -t day "$(loop "$work/terminal")" Enter
shots=() asked=0
until grep -qs '^done$' "$work/terminal/record"; do
	sleep 0.5
	now=$(screen)
	grep -q 'Enter confirm' <<<"$now" || continue
	asked=$((asked + 1))
	t capture-pane -e -p -t day >"$work/shot-$asked"
	shots+=("Question $asked, before command $(($(wc -l <"$work/terminal/record" 2>/dev/null || echo 0) + 1))=$work/shot-$asked")
	if grep -q 'v shows' <<<"$now"; then # all of it has to be on the screen
		t send-keys -t day v
		sleep 1.5
		grep -q 'all of it' <<<"$(screen)" || t send-keys -t day Enter # a first question only selects by keys
		sleep 1.5
		t send-keys -t day End
		sleep 1.5
		t send-keys -t day q
		sleep 1.5
	fi
	if grep -q 'DANGEROUS' <<<"$now"; then
		t send-keys -t day n
	elif grep -q 'Trust, and run' <<<"$now"; then
		for _ in $(seq 10); do # a card that has just come takes no key yet
			t send-keys -t day 1
			grep -q '> 1\. Trust' <<<"$(screen)" && break
		done
	else
		t send-keys -t day y
	fi
	sleep 1
	t send-keys -t day Enter
	sleep 1
done
python3 "$here/ansi2svg.py" "$columns" "${shots[@]}" >"$here/day-terminal.svg"
echo "at the terminal: $asked questions for $count commands"
[ -z "${KEEP:-}" ] || cp "$work/terminal/record" "$KEEP/record-terminal"

# In a browser: the loop is a process without a terminal, and unrelated to the one that opens the page.
sbx stop --now >/dev/null 2>&1
export SBX_STATE_DIR=$work/state-browser
start
mkdir "$work/modules"
(cd "$work/modules" && echo '{}' >package.json && npm install --silent --no-fund --no-audit playwright-core@1.58 axe-core@4)
projects "$work/browser"
# shellcheck disable=SC2046
(setsid $(loop "$work/browser") </dev/null >"$work/browser/log" 2>&1 &)
BIN=$bin MODULES=$work/modules PLAYWRIGHT_BROWSERS_PATH=0 node "$here/day.mjs" "$work/browser/record" "$here/day-browser.jpg"
[ -z "${KEEP:-}" ] || cp "$work/browser/record" "$work/browser/log" "$KEEP"
