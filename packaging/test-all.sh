#!/usr/bin/env bash
# `make test-all [SHARD=K/N]`: everything that `make test` tries once, for the other user, the other back end, under the race
# detector and at the sizes of a campaign. A shard is the same jobs for the same number; it leaves one line in docs/campaigns.
# VENDORS=1 and VM=1 add the agents' own programs and the virtual machine.
#   packaging/test-all.sh [K/N]        runs a shard (1/1: all)
#   packaging/test-all.sh --list [K/N] prints its jobs
set -euo pipefail
cd "$(dirname "$0")/.."
list=
if [ "${1-}" = --list ]; then
	list=yes
	shift
fi
shard=${1:-1/1}
if ! [[ $shard =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]] || [ "${BASH_REMATCH[1]}" -gt "${BASH_REMATCH[2]}" ]; then
	echo "test-all: SHARD=$shard is no K/N with 1 <= K <= N" >&2
	exit 2
fi
number=${BASH_REMATCH[1]} of=${BASH_REMATCH[2]}
. packaging/suite.sh
export ACCEPTANCE_USERS=both # of the campaigns, too

# part K N PACKAGE: a pattern of every Nth test of a package, by the order of their names.
part() {
	$GO test -list '^Test' "$3" | grep ^Test | grep -vE "^Test($campaigns)\$" | sort | awk -v k="$1" -v n="$2" 'NR % n == k % n' |
		paste -sd '|' | sed 's/^/^(/; s/$/)$/'
}
# What has jobs of its own below.
campaigns='LayerDeaths|LayerConflicts|GitSearch|EscapeCatalogueDirect|JobsLeaveNothing|ForcedDeathsLeaveNothing'

acceptance() { # acceptance BACKEND K N: a part of all tests for both users
	ACCEPTANCE_ALL=1 ACCEPTANCE_BACKEND=$1 run -count=1 -timeout 2h -run "$(part "$2" "$3" ./acceptance)" ./acceptance
}
# Left out are tests of layers, for which bwrap 0.11 is needed, and those that have the same programs for both back ends.
bwrap=(
	EscapeCatalogue ForbiddenActs FirstProcessIsOutOfReach NotDumpable SecretsByObject DevicesOfTheMachine HostileHostsFromInside
	NoDescriptorIsInherited PassedDescriptors PassedByHand EnvironmentInside EnvironmentAroundTheRun ExpectedInside FewDescriptors
	Terminal TerminalPlace ExitStatuses OrdinaryWork NothingVanishes HomeThatIsHidden ReadersCannotWrite
	LayersThatCannotHold ProtectedIsEnforcedInAnOrdinaryProject QuarantineIsReported RefusalsAreReported FloodOfRefusals
	Allowlist ListenersAreTheCommandsOwn Localhost SessionInsideSandbox
	'SessionPlace(Mounts|KilledDaemon|Limit|Ports)?' Jobs JobsBounds
	'Warm(IsNeverWeaker|EndsWithTheDaemon)'
	Limits FewProcesses PidMaxBindsRoot ForkBombInADelegatedGroup
	NoLitter KilledDaemonLeavesNothing DeadDaemonsGroupsAreSwept
)
bwrap() {
	SANDBOX_BACKEND=bwrap run -count=1 -timeout 20m ./sandbox
	ACCEPTANCE_BACKEND=bwrap run -count=1 -timeout 1h -run "^Test($(IFS='|' && echo "${bwrap[*]}"))\$" ./acceptance
}
rooms() { run -count=1 -timeout 1h $($GO list ./... | grep -v '^sandboxd/acceptance$'); }
races() { run -count=1 -timeout 2h -race "$@"; }
campaign() { # campaign TARGET [VARIABLE=VALUE…]: a target of the Makefile, whose lines are counted
	make "$@" 2>&1 | tee -a "$log"
}
packages() { # Debian with git-lfs, openssh-server, watchman, zsh and fish: the host does not matter
	[ "$(id -u)" -ne 0 ] || apt-get install -y -qq --no-install-recommends git-lfs openssh-server watchman zsh fish >&2
	run -count=1 -timeout 1h ./...
}

# One line a job: minutes that it takes on two processors, and its command.
jobs=$(cat <<END
40 acceptance native 1 4
40 acceptance native 2 4
40 acceptance native 3 4
40 acceptance native 4 4
30 bwrap
12 rooms
25 packages
15 races ./supervisor/...
10 races ./sandbox ./layer
12 races ./approval/... ./audit ./broker ./config ./egress ./files/... ./git ./hook ./ipc/... ./mcp/... ./notify ./process ./shell/...
10 campaign laws
12 campaign layers
8 campaign layers-mutations
20 campaign layers-deaths
20 campaign layers-conflicts
15 campaign deaths
25 campaign sandbox-deaths
20 campaign git-search
8 campaign escapes-direct
12 campaign sessions SESSIONS=200
15 campaign differential
20 campaign keystrokes
30 campaign fuzz ROOM=. FUZZTIME=40s
10 campaign fuzz-launch MINUTES=10
10 campaign test-arm64
15 campaign test-release
END
)
[ -z "${WORKLOADS-}" ] || jobs+=$'\n90 campaign workloads'
[ -z "${VENDORS-}" ] || jobs+=$'\n45 campaign vendors'
[ -z "${VM-}" ] || jobs+=$'\n45 campaign vm-test'

# The longest first, each to the shard that has least: the same for the same number.
mine=$(sort -k1,1rn -k2 <<<"$jobs" | awk -v of="$of" -v number="$number" '{
	least = 1
	for (i = 2; i <= of; i++) if (sum[i] + 0 < sum[least] + 0) least = i
	sum[least] += $1
	if (least == number) print
}')
if [ -n "$list" ]; then
	echo "$mine"
	exit 0
fi
while read -r minutes command; do
	echo "test-all: $command (about $minutes min)"
	case $command in
	campaign*) step "$command" $command ;;
	*) $command ;;
	esac < /dev/null
done <<<"$mine"
closing
mkdir -p docs/campaigns
commit=$(git rev-parse --short=12 HEAD)$(git diff --quiet HEAD -- || echo +)
echo "$(date -u +%F) $commit shard $shard $passed passed $failed failed $(((SECONDS - started) / 60)) min$([ "$status" -eq 0 ] || echo ' FAILED')" |
	tee "docs/campaigns/$(date -u +%F)-$commit-${shard/\//-of-}"
exit $status
