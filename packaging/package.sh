#!/usr/bin/env bash
# `make packages`: dist/*.deb and dist/*.rpm, the same bytes from the same source
# wherever the clone lies. The time of everything in them is that of the last
# commit, or SOURCE_DATE_EPOCH.
#   packaging/package.sh [DIR]     into DIR instead of dist
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
out=${1:-dist}
mkdir -p "$out"
out=$(cd "$out" && pwd)

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)}
VERSION=$(cat VERSION)
export SOURCE_DATE_EPOCH VERSION
export ARCH=${ARCH:-$($GO env GOARCH)}
MTIME=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
STAGE=$(mktemp -d)
trap 'rm -rf "$STAGE"' EXIT
export MTIME STAGE LAUNCH=/usr/bin/sandboxd-launch
export TZ=UTC LC_ALL=C
umask 022

build() { # build CGO PACKAGE [NAME]
	CGO_ENABLED=$1 GOFLAGS=-mod=readonly $GO build -trimpath $([ "$1" = 0 ] || echo -buildmode=pie) -buildvcs=false \
		-ldflags "-s -w -buildid= -X sandboxd/ipc.Release=$VERSION" -o "$STAGE/bin/${3-}" "$2"
}
mkdir -p "$STAGE"/{bin,man/man1,man/man5,man/man8,completions,doc}
cmd/sandboxd-launch/build.sh "$STAGE/bin/sandboxd-launch"
build 0 ./cmd/sbx/front sbx
build 0 ./cmd/sbx sbx-verbs
build 0 ./cmd/sbx/mcp sbx-mcp
CGO_CFLAGS='-O2 -g0' CGO_LDFLAGS='-O2' build 1 ./cmd/sandboxd

"$STAGE/bin/sbx" gen man "$STAGE/man/man1"
"$STAGE/bin/sandboxd" config man > "$STAGE/man/man5/sandboxd.toml.5"
cp packaging/man/*.1 "$STAGE/man/man1/"
cp packaging/man/*.5 "$STAGE/man/man5/"
cp packaging/man/*.8 "$STAGE/man/man8/"
find "$STAGE/man" -type f -exec sed -i "1s/^\(\.TH [^ ]* [0-9]\) \"\"/\1 \"${MTIME%T*}\"/" {} +
find "$STAGE/man" -type f -exec gzip -9n {} +
"$STAGE/bin/sbx" completion bash > "$STAGE/completions/sbx.bash"
"$STAGE/bin/sbx" completion zsh > "$STAGE/completions/_sbx"
"$STAGE/bin/sbx" completion fish > "$STAGE/completions/sbx.fish"

cp README.md SECURITY.md "$STAGE/doc/"
cp packaging/deb/copyright "$STAGE/doc/copyright"
GO="$GO" packaging/notices.sh | gzip -9nc > "$STAGE/doc/THIRD-PARTY-NOTICES.gz"
cat > "$STAGE/changelog.yaml" <<EOF
- semver: $VERSION-1
  date: $MTIME
  packager: sandboxd <sandboxd@localhost.localdomain>
  deb: {urgency: medium, distributions: [unstable]}
  changes: [{note: "See changelog.gz, which is that of the source."}]
EOF
gzip -9nc CHANGELOG.md > "$STAGE/doc/changelog.gz"
cp -R packaging/systemd "$STAGE/systemd"
chmod -R u=rwX,go=rX "$STAGE"
find "$STAGE" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +

# The tool has a go.mod of its own, so that what it needs is not what we need.
nfpm() { $GO tool -modfile=packaging/nfpm/go.mod nfpm "$@"; }
sed -e "s|\${STAGE}|$STAGE|; s|\${LAUNCH}|$LAUNCH|; s|\${ARCH}|$ARCH|; s|\${VERSION}|$VERSION|; s|\${MTIME}|$MTIME|" packaging/nfpm.yaml |
	while IFS= read -r line; do
		[ "$line" = '#DOCS' ] || { printf '%s\n' "$line"; continue; }
		(cd "$STAGE" && find man -type f | sort | while read -r f; do
			printf '  - {src: "%s/%s", dst: "/usr/share/%s", type: doc, packager: rpm, file_info: {mode: 0644}}\n' "$STAGE" "$f" "$f"
		done
		for f in doc/*; do
			printf '  - {src: "%s/%s", dst: "/usr/share/doc/sandboxd/%s", type: doc, packager: rpm, file_info: {mode: 0644}}\n' "$STAGE" "$f" "${f#doc/}"
		done)
	done > "$STAGE/nfpm.yaml"
for kind in deb rpm; do
	nfpm package --config "$STAGE/nfpm.yaml" --packager "$kind" --target "$out/" >&2
done
ls -l "$out"/sandboxd*
