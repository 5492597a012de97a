#!/usr/bin/env bash
# `make packages`: dist/*.deb and dist/*.rpm, the same bytes from the same source
# wherever the clone is.
#   packaging/package.sh [DIR]     into DIR instead of dist
#   ARCH=arm64                     for another architecture
#   STAGE=DIR                      of programs that packaging/stage.sh has built
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go}
out=${1:-dist}
mkdir -p "$out"
out=$(cd "$out" && pwd)

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)}
VERSION=$(cat VERSION)
export SOURCE_DATE_EPOCH VERSION
export ARCH=${ARCH:-$($GO env GOHOSTARCH)}
MTIME=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${STAGE-}" ]; then
	STAGE=$work/stage
	packaging/stage.sh "$STAGE"
fi
export MTIME STAGE LAUNCH=/usr/bin/sandboxd-launch
export TZ=UTC LC_ALL=C
umask 022

cp -R "$STAGE/doc" packaging/systemd "$work/"
cp packaging/deb/copyright "$work/doc/copyright"
gzip -9nc CHANGELOG.md > "$work/doc/changelog.gz"
cat > "$work/changelog.yaml" <<EOF
- semver: $VERSION-1
  date: $MTIME
  packager: sandboxd <sandboxd@localhost.localdomain>
  deb: {urgency: medium, distributions: [unstable]}
  changes: [{note: "See changelog.gz, which is that of the source."}]
EOF
chmod -R u=rwX,go=rX "$work"
find "$work" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

# The tool has a go.mod of its own, so that what it needs is not what we need.
nfpm() { $GO tool -modfile=packaging/nfpm/go.mod nfpm "$@"; }
sed -e "s|\${STAGE}|$STAGE|; s|\${WORK}|$work|; s|\${LAUNCH}|$LAUNCH|; s|\${ARCH}|$ARCH|; s|\${VERSION}|$VERSION|; s|\${MTIME}|$MTIME|" \
	packaging/nfpm.yaml |
	while IFS= read -r line; do
		[ "$line" = '#DOCS' ] || { printf '%s\n' "$line"; continue; }
		documentation() { # documentation DIR UNDER TO
			(cd "$1" && find "$2" -type f | sort | while read -r f; do
				printf '  - {src: "%s/%s", dst: "%s/%s", type: doc, packager: rpm, file_info: {mode: 0644}}\n' "$1" "$f" "$3" "${f#doc/}"
			done)
		}
		documentation "$STAGE" man /usr/share
		documentation "$work" doc /usr/share/doc/sandboxd
	done > "$work/nfpm.yaml"
for kind in deb rpm; do
	nfpm package --config "$work/nfpm.yaml" --packager "$kind" --target "$out/" >&2
done
ls -l "$out"/sandboxd*
