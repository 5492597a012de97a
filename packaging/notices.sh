#!/usr/bin/env bash
# Prints the licences and notices of every module that is linked into the
# programs of the package, as Apache-2.0 §4, MIT and BSD demand. A module without a
# licence file is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}

cat <<TEXT
Third-party notices of sandboxd

The programs of sandboxd contain the following modules, under the licences below.
TEXT
one() { # one NAME VERSION DIR
	local files
	files=$(find "$3" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'notice*' -o -iname 'copying*' \) ! -name '*.go' | LC_ALL=C sort)
	[ -n "$files" ] || { echo "notices: module $1: no licence file in it; do not ship it" >&2; exit 1; }
	printf '\n%s\n%s %s\n' "$(printf '=%.0s' {1..80})" "$1" "$2"
	while IFS= read -r f; do printf '\n--- %s\n\n' "${f##*/}"; cat "$f"; done <<< "$files"
}
one go "$($GO env GOVERSION)" "$($GO env GOROOT)"
CGO_ENABLED=1 $GO list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' \
	./cmd/sandboxd ./cmd/sbx ./cmd/sbx/front ./cmd/sbx/mcp | LC_ALL=C sort -u |
	while read -r name version dir; do one "$name" "$version" "$dir"; done
