#!/usr/bin/env bash
# `make lint`: formatting, vet and build for both systems, staticcheck with the checks of .golangci.yml, and
# flake.nix against go.sum.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}

unformatted=$(gofmt -l $(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))
if [ -n "$unformatted" ]; then
	echo "lint: not gofmt-formatted: $unformatted" >&2
	exit 1
fi
$GO vet ./...
GOOS=darwin CGO_ENABLED=0 $GO build ./...
GOOS=darwin CGO_ENABLED=0 $GO vet ./...
# The tool has a go.mod of its own, so that the product does not need its modules.
checks=$(sed -n 's/^ *checks: \[\(.*\)\]$/\1/p' .golangci.yml | tr -d '" ')
[ -n "$checks" ] || { echo "lint: .golangci.yml has no line of checks" >&2; exit 1; }
$GO tool -modfile=packaging/lint/go.mod staticcheck -checks "$checks" ./...
GO="$GO" packaging/vendor-hash.sh
