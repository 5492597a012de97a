#!/usr/bin/env bash
# `make release`: dist/ with all that a release has, byte for byte the same from the same
# commit, with the same versions of Go and gcc, wherever the clone is: tarballs, deb and rpm for
# amd64 and arm64, the source, a CycloneDX bill of materials, a Homebrew formula,
# SHA256SUMS and, with RELEASE_KEY, its signature.
#   packaging/release.sh [DIR]     into DIR instead of dist
#   RELEASE_KEY=FILE               a secret key of minisign(1), from outside the tree; without one nothing is signed
#   RELEASE_HOMEPAGE=URL           in the Homebrew formula
#   ARCHS='amd64 arm64'
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go} TZ=UTC LC_ALL=C
umask 022
out=${1:-dist}
VERSION=$(cat VERSION)
[ -z "$(git status --porcelain)" ] || { echo "release: the tree has changes that no commit has: commit or stash them" >&2; exit 1; }
grep -q "^## \[$VERSION\]" CHANGELOG.md || { echo "release: CHANGELOG.md has no section [$VERSION]" >&2; exit 1; }
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
HOMEPAGE=${RELEASE_HOMEPAGE:-https://localhost.localdomain/sandboxd}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

packaging/vendor-hash.sh

rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
archive() { # archive DIR NAME: DIR/NAME as NAME.tar.gz
	tar -C "$1" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$2" |
		gzip -9n > "$out/$2.tar.gz"
}
git archive --prefix="sandboxd-$VERSION/" HEAD | gzip -9n > "$out/sandboxd-$VERSION.tar.gz"
host=$($GO env GOHOSTARCH)
for arch in "$host" $(printf '%s\n' ${ARCHS:-amd64 arm64} | grep -vx "$host"); do
	ARCH=$arch GENERATOR=$([ "$arch" = "$host" ] || echo "$work/$host/bin") packaging/stage.sh "$work/$arch"
	ARCH=$arch STAGE=$work/$arch packaging/package.sh "$out" > /dev/null
	name=sandboxd-$VERSION-linux-$arch
	PREFIX=/ DESTDIR=$work/tar/$name PROGRAMS=$work/$arch/bin STAGE=$work/$arch packaging/install.sh
	archive "$work/tar" "$name"
done
programs=("$work/$host"/bin/{sandboxd,sbx,sbx-verbs,sbx-mcp})
$GO run -C packaging/sbom . "$VERSION" "${programs[@]}" > "$out/sandboxd-$VERSION.cdx.json"
source=$(sha256sum "$out/sandboxd-$VERSION.tar.gz")
sed "s|@VERSION@|$VERSION|g; s|@HOMEPAGE@|$HOMEPAGE|g; s|@SHA256@|${source%% *}|" packaging/homebrew.rb > "$out/sandboxd.rb"
cp flake.nix "$out/"
(cd "$out" && sha256sum -- * > SHA256SUMS)
if [ -n "${RELEASE_KEY-}" ]; then
	minisign -S -s "$RELEASE_KEY" -m "$out/SHA256SUMS" -t "sandboxd $VERSION" -c "sandboxd $VERSION" > /dev/null
else
	echo "release: not signed: RELEASE_KEY names no key" >&2
fi
ls -l "$out"
