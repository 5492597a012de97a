#!/usr/bin/env bash
# Builds the Debian tree that the tests boot, once: DIR/debian12, minimal, with
# systemd and what the package depends on. The mirror is the one that this machine's
# own apt uses. Another architecture's tree is DIR/debian12-ARCH; its programs run by qemu-user.
#   packaging/debian-tree.sh DIR [ARCH [RELEASE]]    RELEASE: 12 (the default) or 13
set -euo pipefail
dir=$1 arch=${2:-$(dpkg --print-architecture)} release=${3:-12}
case $release in
12) name=bookworm ;;
13) name=trixie ;;
*) echo "debian-tree: release $release: want 12 or 13" >&2; exit 2 ;;
esac
tree=$dir/debian$release
[ "$arch" = "$(dpkg --print-architecture)" ] || tree=$tree-$arch
[ -e "$tree.done" ] && exit 0
mkdir -p "$dir"
exec 9> "$dir/lock"
flock 9
[ -e "$tree.done" ] && exit 0
rm -rf "$tree"
mirror=$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' 'Created-By: Packages' 2>/dev/null | grep -v security | head -n 1)
debootstrap --variant=minbase --arch="$arch" \
	--include=systemd,systemd-sysv,dbus,libpam-systemd,bubblewrap,libseccomp2,procps,git,curl \
	"$name" "$tree" "${mirror:-http://deb.debian.org/debian}" > "$dir/debootstrap.log" 2>&1 || {
	tail -n 20 "$dir/debootstrap.log" >&2
	exit 1
}
echo sbxlab > "$tree/etc/hostname"
rm -rf "$tree"/var/cache/apt/archives/*.deb "$tree"/var/lib/apt/lists/*
touch "$tree.done"
