#!/usr/bin/env bash
# `make test-arm64`: vets and compiles every package for arm64, and runs the tests of the rooms
# in which no kernel has a part under qemu-user. The sandbox itself needs an arm64 machine.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
export GOOS=linux GOARCH=arm64
sysroot=$(mktemp -d)
trap 'rm -rf "$sysroot"' EXIT
CC=$(packaging/sysroot.sh arm64 "$sysroot")
export CC CGO_ENABLED=1 CGO_CFLAGS="-O2 -I$sysroot/usr/include" CGO_LDFLAGS="-L$(dirname "$(find "$sysroot" -name libseccomp.so)")"
$GO vet ./...
cmd/sandboxd-launch/build.sh "$sysroot/sandboxd-launch"
export CGO_ENABLED=0
# Under emulation TestSpeed and TestLongLines measure the emulator, and TestFacts asks a kernel.
$GO test -short -exec qemu-aarch64-static -timeout 20m -skip '^(TestSpeed|TestLongLines|TestFacts)$' \
	./approval ./approval/answerer ./bwrap ./display ./git ./landlock/lsm ./mcp ./profile/... ./seatbelt ./seccomp ./secret ./shell/...
