#!/usr/bin/env bash
# `make run`: the main job on real input. With an argument: that command line.
set -uo pipefail
cd "$(dirname "$0")/.."
sbx=$PWD/bin/sbx
say() { printf '\n\033[1m%s\033[0m\n' "$*" >&2; }
[ -t 2 ] && [ -z "${NO_COLOR-}" ] || say() { printf '\n%s\n' "$*" >&2; }

outcome() {
	case $1 in
	0) say "→ it ran and succeeded." ;;
	124) say "→ it took too long and was ended (exit status 124)." ;;
	125) say "→ sandboxd itself failed (exit status 125); see the message above." ;;
	126) say "→ it did not run: it was refused (exit status 126)." ;;
	*) say "→ it ran and ended with exit status $1." ;;
	esac
}

if [ $# -gt 0 ]; then
	say "\$ sbx run -c $(printf %q "$1")"
	"$sbx" run -c "$1"
	status=$?
	outcome $status
	exit $status
fi

say "1. A command that only reads runs unasked, inside a sandbox:"
say "\$ sbx run -- ls -l cmd"
"$sbx" run -- ls -l cmd
first=$?
outcome $first

say "2. A command that writes asks first. Without a terminal nobody can answer, and that means no:"
say "\$ sbx run -c 'echo hello > bin/hello.txt'"
"$sbx" run -c 'echo hello > bin/hello.txt'
second=$?
outcome $second

say "What was decided is on record:"
"$sbx" log | tail -n 4
say "Next: sbx status, sbx doctor, sbx run -- YOUR COMMAND (binaries are in bin/)"
[ $first -eq 0 ] && { [ $second -eq 0 ] || [ $second -eq 126 ]; }
