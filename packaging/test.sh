#!/usr/bin/env bash
# The whole test run. Called by `make test`; arguments go to `go test`.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}

log=$(mktemp)
beside=$(mktemp)
trap 'rm -f "$log" "$beside"' EXIT
status=0
run() { # run GO-TEST-ARGS…: quiet about what passes, loud about the rest
	local codes start=$SECONDS
	set +e
	$GO test -v "$@" 2>&1 | tee -a "$log" | grep -vE '^\s*(=== |--- PASS|PASS$|testing: warning)'
	codes=("${PIPESTATUS[@]}")
	set -e
	echo "test: $(((SECONDS - start) / 60)) min: go test $*"
	[ "${codes[0]}" -eq 0 ] || status=1
}
# The acceptance tests wait more than they compute. Beside them, with its own output: lint, and the rooms with goroutines of
# their own again, under the race detector. Where there are fewer steps with -short, that is enough to find a race.
(
	packaging/lint.sh || { echo "test: failed: lint" >> "$log"; status=1; }
	run -timeout 40m -race -short "$@" ./approval/... ./audit ./broker ./ipc/... ./sandbox ./supervisor/...
	exit $status
) > "$beside" 2>&1 &
run -timeout 60m "$@" ./...
wait $! || status=1
cat "$beside"
# The bwrap back end, with the tests of the sandbox: above it was the native one's turn. Left out are those of layers, for
# which bwrap 0.11 is needed, and those that have the same programs for both back ends or take minutes.
SANDBOX_BACKEND=bwrap run -timeout 10m "$@" ./sandbox
tests=(
	EscapeCatalogue ForbiddenActs FirstProcessIsOutOfReach NotDumpable SecretsByObject DevicesOfTheMachine HostileHostsFromInside
	NoDescriptorIsInherited PassedDescriptors PassedByHand EnvironmentInside EnvironmentAroundTheRun ExpectedInside FewDescriptors
	Terminal TerminalPlace ExitStatuses OrdinaryWork NothingVanishes HomeThatIsHidden ReadersCannotWrite
	LayersThatCannotHold ProtectedIsEnforcedInAnOrdinaryProject QuarantineIsReported RefusalsAreReported FloodOfRefusals
	Allowlist ListenersAreTheCommandsOwn Localhost SessionInsideSandbox
	'SessionPlace(Mounts|KilledDaemon|Limit|Ports)?' Jobs JobsBounds JobsLeaveNothing
	'Warm(IsNeverWeaker|EndsWithTheDaemon)'
	Limits FewProcesses PidMaxBindsRoot ForkBombInADelegatedGroup
	NoLitter ForcedDeathsLeaveNothing KilledDaemonLeavesNothing DeadDaemonsGroupsAreSwept
)
SESSIONS=10 ACCEPTANCE_BACKEND=bwrap run -timeout 30m "$@" -run "^Test($(IFS='|' && echo "${tests[*]}"))\$" ./acceptance
# A moment of fuzzing what strangers can send, and the decoder of sandboxd-launch; make fuzz does it for long.
packaging/fuzz.sh 2s ipc sandbox || { echo "test: failed: fuzz" >> "$log"; status=1; }

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
echo "$passed passed, $failed failed, $skipped skipped"
exit $status
