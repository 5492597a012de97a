#!/usr/bin/env bash
# Builds the programs, manual pages, completions and documents of a release into DIR,
# the same bytes from the same source wherever the clone is. The time of every file is
# that of the last commit, or SOURCE_DATE_EPOCH.
#   packaging/stage.sh DIR
#   ARCH=arm64        for another architecture, with Debian's cross compiler
#   GENERATOR=DIR     programs of this machine's architecture that write the manual pages
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
mkdir -p "$1/bin"
STAGE=$(cd "$1" && pwd)
host=$($GO env GOHOSTARCH)
ARCH=${ARCH:-$host}
VERSION=$(cat VERSION)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)}
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C
umask 022

CC=gcc flags='-O2 -g0' libs=-O2
if [ "$ARCH" != "$host" ]; then
	sysroot=$(mktemp -d)
	trap 'rm -rf "$sysroot"' EXIT
	CC=$(packaging/sysroot.sh "$ARCH" "$sysroot")
	flags="$flags -I$sysroot/usr/include"
	libs="$libs -L$(dirname "$(find "$sysroot" -name libseccomp.so)")"
fi
build() { # build CGO PACKAGE [NAME]
	CGO_ENABLED=$1 GOARCH=$ARCH CC=$CC CGO_CFLAGS=$flags CGO_LDFLAGS=$libs GOFLAGS=-mod=readonly \
		$GO build -trimpath $([ "$1" = 0 ] || echo -buildmode=pie) -buildvcs=false \
		-ldflags "-s -w -buildid= -X sandboxd/ipc.Release=$VERSION" -o "$STAGE/bin/${3-}" "$2"
}
CC=$CC cmd/sandboxd-launch/build.sh "$STAGE/bin/sandboxd-launch"
build 0 ./cmd/sbx/front sbx
build 0 ./cmd/sbx sbx-verbs
build 0 ./cmd/sbx/mcp sbx-mcp
build 1 ./cmd/sandboxd

generator=${GENERATOR:-$STAGE/bin}
if [ "$ARCH" != "$host" ] && [ -z "${GENERATOR-}" ]; then
	generator=$sysroot/generator
	mkdir "$generator"
	for part in sbx/front:sbx sbx:sbx-verbs sandboxd:sandboxd; do
		$GO build -ldflags "-X sandboxd/ipc.Release=$VERSION" -o "$generator/${part#*:}" "./cmd/${part%:*}"
	done
fi
GO="$GO" packaging/documents.sh "$generator" "$STAGE"
chmod -R u=rwX,go=rX "$STAGE"
find "$STAGE" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
