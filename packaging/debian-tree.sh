#!/usr/bin/env bash
# Builds the Debian 12 tree that the tests boot, once: DIR/debian12, minimal, with
# systemd and what the package depends on. The mirror is the one that this machine's
# own apt uses. Another architecture's tree is DIR/debian12-ARCH; its programs run by qemu-user.
#   packaging/debian-tree.sh DIR [ARCH]
set -euo pipefail
dir=$1 arch=${2:-$(dpkg --print-architecture)}
tree=$dir/debian12
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
	bookworm "$tree" "${mirror:-http://deb.debian.org/debian}" > "$dir/debootstrap.log" 2>&1 || {
	tail -n 20 "$dir/debootstrap.log" >&2
	exit 1
}
echo sbxlab > "$tree/etc/hostname"
rm -rf "$tree"/var/cache/apt/archives/*.deb "$tree"/var/lib/apt/lists/*
touch "$tree.done"
