#!/usr/bin/env bash
# The whole test run. Called by `make test`; arguments go to `go test`.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}

packaging/lint.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
run() { # run GO-TEST-ARGS…: quiet about what passes, loud about the rest
	local codes start=$SECONDS
	set +e
	$GO test -v "$@" 2>&1 | tee -a "$log" | grep -vE '^\s*(=== |--- PASS|PASS$|testing: warning)'
	codes=("${PIPESTATUS[@]}")
	set -e
	[ "${codes[0]}" -eq 0 ] || status=1
	echo "test: $(((SECONDS - start) / 60)) min: go test $*"
}
run -timeout 60m "$@" ./...
# The native back end, with what shows that it holds: above it was bwrap's turn.
SANDBOX_BACKEND=native run -timeout 10m "$@" ./sandbox
ACCEPTANCE_BACKEND=native run -timeout 20m "$@" \
	-run '^Test(EscapeCatalogue|Limits|PidMaxBindsRoot|NoLitter|RefusalsAreReported|SessionInsideSandbox)$' ./acceptance
# The rooms with goroutines of their own again, under the race detector. Where
# there are fewer steps with -short, that is enough to find a race.
run -timeout 30m -race -short "$@" ./approval/... ./audit ./broker ./ipc/... ./sandbox ./supervisor/...
# A moment of fuzzing what strangers can send, and the decoder of sandboxd-launch; make fuzz does it for long.
packaging/fuzz.sh 2s ipc sandbox || status=1

passed=$(grep -cE '^\s*--- PASS' "$log" || true)
failed=$(grep -cE '^\s*--- FAIL' "$log" || true)
skipped=$(grep -cE '^\s*--- SKIP' "$log" || true)
grep -E '^\s*--- (SKIP|FAIL)' "$log" || true
if [ "$skipped" -gt 0 ] && [ "${CI-}" = true ]; then
	echo "test: a skipped test is a failure in CI" >&2
	status=1
fi
[ "$passed" -gt 0 ] || status=1
echo "$passed passed, $failed failed, $skipped skipped"
exit $status
