#!/usr/bin/env bash
# A walk with a configuration of its own, at a terminal: five minutes, in a directory
# of its own under /tmp, with a daemon of its own. Nothing else is touched.
#   make build && docs/walk.sh
set -u
cd "$(dirname "$0")/.."
PATH=${SBX_BIN:-$PWD/bin}:$PATH
walk=$(mktemp -d /tmp/walk.XXXXXX)
export SBX_SOCKET_DIR=$walk/run SBX_STATE_DIR=$walk/state
config=$walk/config.toml
mkdir "$walk/project" "$walk/data"
echo "42" >"$walk/data/answer.txt"
printf '[approval]\ntimeout = "5m"\n' >"$config"
trap 'sbx stop --now 2>/dev/null; rm -rf "$walk"' EXIT
trap 'exit 129' HUP TERM
cd "$walk/project" || exit
git init -q .

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
try() { # try COMMAND… shows it and runs it; a refusal is part of the walk
	printf '$ %s\n' "$*"
	"$@"
	local status=$?
	[ $status -eq 0 ] || echo "(exit status $status)"
}
sbx() { # waits for what it says of itself, so that nothing comes late
	{
		command sbx --config "$config" "$@" 2>&1 >&3 3>&- | grep -v 'not the usual place' >&2
		return "${PIPESTATUS[0]}"
	} 3>&1
}

say "1. What only reads runs unasked, in a sandbox."
try sbx run -- git status --short

say "2. What writes asks. Deny it: press n, then Enter."
try sbx run -c 'echo hi > notes.md'

say "3. Trust this directory, and try again. Allow it for the session: press s, then Enter."
try sbx trust
try sbx run -c 'echo hi > notes.md'

say "4. In this session it does not ask again."
try sbx run -c 'echo hi > notes.md'

say "5. A file outside of the project is shown by a yes, to this one command: press y, then Enter."
try sbx run -- cat "$walk/data/answer.txt"
say "   For other commands it is not there."
try sbx profile explain "$walk/data/answer.txt"

say "6. Permit it in the configuration: now it is there, and runs unasked."
printf '\n[sandbox]\nread = ["%s"]\n' "$walk/data" | tee -a "$config"
try sbx config reload
try sbx profile explain "$walk/data/answer.txt"
try sbx run -- cat "$walk/data/answer.txt"

say "7. Edit a file, and undo the edit: press y, then Enter."
try sbx file edit notes.md --find hi --replace bye
try cat notes.md
try sbx undo --last
try cat notes.md

say "8. All of it is in the log."
try sbx log
try sbx log verify
