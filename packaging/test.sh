#!/usr/bin/env bash
# `make test`: every guarantee once. Called by make; arguments go to `go test`. What repeats them with the other user, the
# other back end, the race detector or a hundred times as many cases is test-all.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
. packaging/suite.sh

# The acceptance tests wait more than they compute. Beside them, with their own output: lint, the tests of every room, and
# the bwrap back end by a smoke list.
smoke=(EscapeCatalogue ForbiddenActs Limits Jobs ExitStatuses HomeThatIsHidden)
(
	step lint packaging/lint.sh
	run -timeout 60m "$@" $($GO list ./... | grep -v '^sandboxd/acceptance$')
	ACCEPTANCE_BACKEND=bwrap run -timeout 30m "$@" -run "^Test($(IFS='|' && echo "${smoke[*]}"))\$" ./acceptance
	exit $status
) > "$log.beside" 2>&1 &
run -timeout 60m "$@" ./acceptance
wait $! || status=1
cat "$log.beside"
# A moment of fuzzing what strangers can send, and the decoder of sandboxd-launch; make fuzz does it for long.
step fuzz packaging/fuzz.sh 2s ipc sandbox
closing
exit $status
