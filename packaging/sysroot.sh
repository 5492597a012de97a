#!/usr/bin/env bash
# Fetches Debian's libseccomp of another architecture into DIR, beside the system's own
# packages and without root, and prints the name of the cross compiler.
#   packaging/sysroot.sh ARCH DIR
set -euo pipefail
case $1 in
amd64) triple=x86_64-linux-gnu ;;
arm64) triple=aarch64-linux-gnu ;;
*) echo "sysroot: $1: want amd64 or arm64" >&2; exit 2 ;;
esac
arch=$1 dir=$2
if ! command -v "$triple-gcc" >/dev/null; then
	echo "sysroot: no $triple-gcc: sudo apt-get install -y gcc-${triple//_/-} libc6-dev-$arch-cross" >&2
	exit 2
fi
if ! command -v apt-get >/dev/null; then
	echo "sysroot: no apt-get: libseccomp for $arch comes from Debian's packages" >&2
	exit 2
fi
mkdir -p "$dir"/apt/{lists/partial,cache/archives/partial} "$dir/debs"
: > "$dir/apt/status"
# Of the host's sources only Debian's own serve every architecture.
apt=(apt-get -qq -o "APT::Architecture=$arch" -o "APT::Architectures::=$arch" -o APT::Sandbox::User= -o "Dir::State=$dir/apt"
	-o "Dir::State::status=$dir/apt/status" -o "Dir::Cache=$dir/apt/cache" -o Acquire::Languages=none)
for list in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
	[ -s "$list" ] && apt+=(-o "Dir::Etc::sourcelist=$list" -o Dir::Etc::sourceparts=/nonexistent) && break
done
"${apt[@]}" update >&2
(cd "$dir/debs" && "${apt[@]}" download libseccomp2 libseccomp-dev >&2)
for deb in "$dir"/debs/*.deb; do dpkg-deb -x "$deb" "$dir"; done
rm -rf "$dir/apt" "$dir/debs"
echo "$triple-gcc"
