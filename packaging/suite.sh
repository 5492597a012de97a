# What test.sh and test-all.sh share; they source it in bash, in the top directory, with `set -euo pipefail`.
GO=${GO:-go}
# The programs are built once, by `make build`, and every test that needs them takes them from there. With -trimpath their
# packages are compiled the same way as those of the tests, so that each is compiled once.
export GOFLAGS=${GOFLAGS:--trimpath} SBX_TEST_PROGRAMS=$PWD/bin

log=$(mktemp)
trap 'rm -f "$log" "$log".*' EXIT
status=0
started=$SECONDS

# run GO-TEST-ARGS…: quiet about what passes, loud about the rest. What vet finds, lint has found.
run() {
	local codes start=$SECONDS
	set +e
	$GO test -v -vet=off "$@" 2>&1 | tee -a "$log" | grep -vE '^\s*(=== |--- PASS|PASS$|testing: warning)'
	codes=("${PIPESTATUS[@]}")
	set -e
	echo "test: $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s: go test $*"
	[ "${codes[0]}" -eq 0 ] || status=1
}

# step NAME COMMAND…: what is no go test of ours.
step() {
	local name=$1 start=$SECONDS
	shift
	"$@" || { echo "test: failed: $name" >> "$log"; status=1; }
	echo "test: $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s: $name"
}

# closing [TEST-ALL'S LINE]: what failed, the slowest tests, the counts, and the exit status.
closing() {
	passed=$(grep -cE '^\s*--- PASS' "$log" || true)
	failed=$(grep -cE '^\s*--- FAIL' "$log" || true)
	skipped=$(grep -cE '^\s*--- SKIP' "$log" || true)
	# A package can fail without a test that does: a leaked goroutine, a panic, a build.
	grep -E '^\s*--- (SKIP|FAIL)|^FAIL\s+\S|^test: failed: |^panic: |^goleak: ' "$log" || true
	if [ "$skipped" -gt 0 ] && [ "${CI-}" = true ]; then
		echo "test: a skipped test is a failure in CI" >&2
		status=1
	fi
	[ "$passed" -gt 0 ] || status=1
	grep -E '^ *--- (PASS|FAIL)' "$log" | sed -E 's/^ *--- (PASS|FAIL): (.*) \(([0-9.]+)s\)$/\3 s: \2/' | sort -rn | head -n 12 |
		sed 's/^/test: slowest: /' || true
	echo "test: $(((SECONDS - started) / 60)) min $(((SECONDS - started) % 60)) s in all"
	echo "$passed passed, $failed failed, $skipped skipped"
}
