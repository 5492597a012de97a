#!/usr/bin/env bash
# Compares vendorHash in flake.nix with the modules of go.mod: every change of go.sum changes it.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
$GO mod vendor -o "$work/vendor"
vendor=$($GO run -C packaging/release . nar "$work/vendor")
grep -qF "vendorHash = \"$vendor\"" flake.nix || { echo "vendor-hash: flake.nix: vendorHash is $vendor now" >&2; exit 1; }
