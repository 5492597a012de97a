#!/usr/bin/env bash
# `make test-release`: make release of HEAD in two clones with different names, signed with a key that
# is made here. The bytes must be the same, the signature and the checksums must verify, the programs
# for arm64 must start under qemu-user, and lintian must find no error.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
minisign -G -W -f -p "$work/key.pub" -s "$work/key" > /dev/null
for clone in one another/place; do
	git clone -q . "$work/$clone"
	RELEASE_KEY=$work/key "$work/$clone/packaging/release.sh" "$work/$clone.dist" > /dev/null
done
one=$work/one.dist
diff -r "$one" "$work/another/place.dist"
echo "ok: the same bytes: $(find "$one" -type f | wc -l) files"
(cd "$one" && minisign -q -V -p "$work/key.pub" -m SHA256SUMS && sha256sum --quiet -c SHA256SUMS)
for file in "$one"/*; do
	name=${file##*/}
	case $name in SHA256SUMS*) continue ;; esac
	grep -q " $name\$" "$one/SHA256SUMS" || { echo "release-test: $name has no checksum" >&2; exit 1; }
done
echo "ok: signature and checksums"
version=$(cat VERSION)
for arch in amd64 arm64; do
	tar -C "$work" -xzf "$one/sandboxd-$version-linux-$arch.tar.gz"
	programs=$work/sandboxd-$version-linux-$arch/lib/sandboxd
	case $arch in amd64) machine=x86-64 ;; arm64) machine=aarch64 ;; esac
	for program in "$programs"/sandboxd "$programs"/sandboxd-launch "$programs"/sbx*; do
		file -b "$program" | grep -q "$machine" || { echo "release-test: $program: $(file -b "$program")" >&2; exit 1; }
	done
	run=
	[ "$arch" = "$(go env GOHOSTARCH)" ] || run=qemu-aarch64-static
	$run "$programs/sbx-verbs" version | grep -q "$version"
done
echo "ok: programs of both architectures"
mkdir "$work"/{source,deb,rpm}
tar -C "$work/source" -xzf "$one/sandboxd-$version.tar.gz"
dpkg-deb -x "$one"/sandboxd_*_amd64.deb "$work/deb"
rpm2archive "$one"/sandboxd-*.x86_64.rpm
tar -C "$work/rpm" -xzf "$one"/sandboxd-*.x86_64.rpm.tgz
rm "$one"/*.rpm.tgz
for tree in "source/sandboxd-$version" {deb,rpm}/usr/share/doc/sandboxd "sandboxd-$version-linux-amd64/share/doc/sandboxd"; do
	go run -C packaging/release . links "$work/$tree"
done
echo "ok: every link of the documents, in source, packages and tarball"
jq -e '.bomFormat == "CycloneDX" and (.components | length) > 20' "$one/sandboxd-$version.cdx.json" > /dev/null
[ "$(sed -n 's/^  sha256 "\(.*\)"$/\1/p' "$one/sandboxd.rb")" = "$(sha256sum < "$one/sandboxd-$version.tar.gz" | cut -d' ' -f1)" ]
if grep -n '@[A-Z]*@' "$one/sandboxd.rb"; then exit 1; fi
echo "ok: bill of materials and formula"
for deb in "$one"/*.deb; do lintian --allow-root --fail-on error --tag-display-limit 0 "$deb"; done
echo "ok: lintian finds no error"
