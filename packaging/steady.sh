#!/usr/bin/env bash
# steady.sh [N]: N runs of test.sh in a row, each whole and green, beside `stress-ng --cpu 4`. It resumes where it was cut
# off: what passed stands in .cache/steady, for one tree. Called by `make steady`.
set -euo pipefail
cd "$(dirname "$0")/.."
want=${1:-10}
git diff --quiet HEAD || { echo "steady: commit first: runs are counted for one tree" >&2; exit 2; }
dir=.cache/steady/$(git rev-parse HEAD:)
mkdir -p "$dir"
stress-ng --cpu 4 --quiet &
load=$!
trap 'kill "$load" 2>/dev/null || true' EXIT
for ((i = 1; i <= want; i++)); do
	[ ! -e "$dir/$i.passed" ] || continue
	if ! CI=true packaging/test.sh -count=1 > "$dir/$i.log" 2>&1; then
		mv "$dir/$i.log" "$dir/$i.failed.$(date -u +%s)"
		echo "steady: run $i failed: $dir/$i.failed.*; the count begins again" >&2
		rm -f "$dir"/*.passed
		exit 1
	fi
	mv "$dir/$i.log" "$dir/$i.passed"
	echo "steady: $i of $want: $(tail -n 1 "$dir/$i.passed")"
done
