#!/usr/bin/env bash
# Writes DIR/man, DIR/completions and DIR/doc: what an installation has besides programs.
#   packaging/documents.sh PROGRAMS DIR     PROGRAMS: the directory of a built sbx and sandboxd
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
mkdir -p "$2"
programs=$1 dir=$(cd "$2" && pwd)
at=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
day=$(date -u -d "@$at" +%Y-%m-%d 2>/dev/null || date -u -r "$at" +%Y-%m-%d) # GNU's, BSD's
rm -rf "$dir"/{man,completions,doc}
mkdir -p "$dir"/{man/man1,man/man5,man/man8,completions,doc}

"$programs/sbx" gen man "$dir/man/man1"
"$programs/sandboxd" config man > "$dir/man/man5/sandboxd.toml.5"
for section in 1 5 8; do cp packaging/man/*."$section" "$dir/man/man$section/"; done
for page in "$dir"/man/*/*; do
	sed "1s/^\(\.TH [^ ]* [0-9]\) \"\"/\1 \"$day\"/" "$page" | gzip -9n > "$page.gz"
	rm "$page"
done
"$programs/sbx" completion bash > "$dir/completions/sbx.bash"
"$programs/sbx" completion zsh > "$dir/completions/_sbx"
"$programs/sbx" completion fish > "$dir/completions/sbx.fish"
$GO run -C packaging/release . documents "$PWD" "$dir/doc"
GO="$GO" packaging/notices.sh | gzip -9nc > "$dir/doc/THIRD-PARTY-NOTICES.gz"
