#!/usr/bin/env bash
# Makes the pictures in docs/img: runs the real sbx and daemon in tmux and
# draws what the terminal shows. Needs tmux, python3, chromium and fonts-dejavu.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/docs/img
make -s build
work=$(mktemp -d /tmp/shoot.XXXXXX)
project=/tmp/web programs=/tmp/sandboxd
for dir in "$project" "$programs"; do
	if [ -e "$dir" ]; then
		echo "shoot: $dir is in the way; move it" >&2
		exit 1
	fi
done
mkdir -p "$programs"
cp -r bin/* "$programs"
mkdir -p "$project/notes" "$project/build"
printf '# Weekly Report\n## Summary\nAll is well.\n' >"$project/notes/report.py"
git -C "$project" init -q
unset SBX_SOCKET_DIR
mkdir -m 700 "$work/run"
export XDG_RUNTIME_DIR=$work/run SBX_STATE_DIR=$work/state PATH=$programs:$PATH LANG=C.UTF-8 COLORTERM= NO_COLOR=
unset NO_COLOR
t() { tmux -u -S "$work/tmux" -f /dev/null "$@"; }
finish() {
	sbx stop --now >/dev/null 2>&1 || true
	t kill-server 2>/dev/null || true
	rm -rf "$work" "$project" "$programs"
}
trap finish EXIT
t new-session -d -s base "sleep 10000" # keeps the server

# scene NAME COLUMNS ROWS COMMAND starts a terminal.
scene() {
	name=$1 columns=$2 rows=$3
	t kill-session -t shot 2>/dev/null || true
	t new-session -d -s shot -x "$columns" -y "$rows" "cd $project; TERM=screen-256color $4; sleep 1000"
	t set -g status off
	t resize-window -t shot -x "$columns" -y "$rows"
}
# see PATTERN waits until the terminal shows it.
see() {
	for _ in $(seq 200); do
		t capture-pane -p -t shot | grep -q -- "$1" && return
		sleep 0.1
	done
	echo "$name: never saw $1" >&2
	t capture-pane -p -t shot >&2
	exit 1
}
press() { t send-keys -t shot "$@"; }
# shoot draws what is on the screen.
shoot() {
	sleep 1
	t capture-pane -e -p -t shot | python3 "$here/ansi2svg.py" "$columns" "$rows" >"$work/$name.svg"
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/chromium" --force-device-scale-factor=1.5 \
		--window-size=$((columns * 783 / 100 + 28)),$((rows * 17 + 24)) --screenshot="$here/$name.png" "file://$work/$name.svg" >"$work/chromium.log" 2>&1
	echo "docs/img/$name.png"
}
# elsewhere COMMAND… runs it as a process that is unrelated to the approver: the
# daemon refuses the requester's own answer.
elsewhere() { (cd "$project" && setsid "$@" </dev/null >/dev/null 2>&1 &); }

scene run 74 14 "sbx run -c 'echo \"# Notes\" > notes.md && wc -l notes.md' 2>/dev/null"
see 'Only this once'
sleep 1
press y
see '> 3'
shoot
press Escape
sleep 1
press C-c

sbx trust "$project" 2>/dev/null
for line in 'npm run build' 'npm run lint' 'npm run lint -- src' 'npm run test'; do # for the log
	elsewhere sbx run -c "$line"
	until sbx pending --json | jq -e '.approvals[0]' >/dev/null; do sleep 0.1; done
	sbx approve "$(sbx pending --json | jq -r '.approvals[0].id')" --deny >/dev/null
done
scene queue 74 12 'sbx approve 2>/dev/null'
see 'Waiting for requests'
elsewhere sbx run --agent-name reviewer -c 'npm run lint -- --fix'
see 'npm run lint'
elsewhere sbx run --agent-name reviewer -c 'touch done.txt'
see '2 requests'
shoot

name=chooser rows=26
t resize-window -t shot -x "$columns" -y "$rows"
sleep 1
press 3
see 'exactly this request'
sleep 1
press Down Down
see 'npm run test'
shoot
press Escape
sleep 1
press n
see '> 4'
press Enter
see '1 request'
sleep 1
press n
see '> 4'
press Enter

scene danger 74 16 'sbx approve 2>/dev/null'
see 'Waiting for requests'
elsewhere sbx run --agent-name reviewer -c 'rm -rf build ../other && git push --force'
see 'DANGEROUS'
sleep 1
press y
see '> 1'
press Enter
see 'To really allow it'
shoot
press C-c
sbx approve "$(sbx pending --json | jq -r '.approvals[0].id')" --deny >/dev/null

scene diff 90 20 'sbx approve 2>/dev/null'
see 'Waiting for requests'
elsewhere sbx file edit notes/report.py --find '## Summary' --replace '## Executive Summary'
see 'Executive Summary'
shoot
press C-c
sleep 1

elsewhere sbx run -- git status --short
until sbx log --json | grep -q '"git","status"'; do sleep 0.1; done
scene log 130 14 'SBX_PAGER= sbx log -n 12 2>/dev/null'
see 'denied'
shoot
