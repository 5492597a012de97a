#!/usr/bin/env bash
# fuzz.sh [TIME [ROOM…]]: every fuzz target of the rooms (default: all of them,
# 10m each), one after the other. Called by `make fuzz`, and for seconds by the test run.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
time=${1:-10m}
shift || true
rooms=("$@")
[ ${#rooms[@]} -gt 0 ] || rooms=(.)

status=0 targets=0
while IFS=: read -r file name; do
	targets=$((targets + 1))
	echo "fuzz: $(dirname "$file") $name for $time"
	fuzz() { $GO test "./$(dirname "$file")" -timeout 0 -run '^$' -fuzz "^$name\$" -fuzztime "$1" 2>&1; }
	out=$(fuzz "$time") || {
		printf '%s\n' "$out"
		# The end of the time can itself be reported as a failure, by a race in Go's
		# coordinator (golang/go#75804); a count of inputs has no such end.
		if grep -q 'context deadline exceeded' <<<"$out" && ! grep -q 'Failing input' <<<"$out"; then
			echo "fuzz: $name was cut off at the end of its time; once more, counted"
			out=$(fuzz 5000x) || { printf '%s\n' "$out"; status=1; }
		else
			status=1
		fi
	}
	printf '%s\n' "$out" | grep -E '^fuzz: elapsed' | tail -n 1 || true
done < <(grep -rnoE '^func Fuzz[A-Za-z0-9_]*' --include='*_test.go' "${rooms[@]}" | sed -E 's/^([^:]*):[0-9]+:func /\1:/' | sort -u)
[ "$targets" -gt 0 ] || { echo "fuzz: no targets" >&2; exit 1; }
exit $status
