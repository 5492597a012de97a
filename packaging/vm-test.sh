#!/usr/bin/env bash
# `make vm-test`: the package in a virtual machine with Debian's own kernel and a
# v2-only control group tree, emulated where there is no /dev/kvm. Minutes, not
# seconds; not part of `make test`. Needs root, for the tree.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache
packaging/debian-tree.sh "$cache"
vm=$cache/vm
if [ ! -e "$vm.done" ]; then
	rm -rf "$vm"
	cp -a "$cache/debian12" "$vm"
	cp /etc/resolv.conf "$vm/etc/resolv.conf"
	chroot "$vm" env DEBIAN_FRONTEND=noninteractive sh -c \
		'apt-get update -qq && apt-get install -y -qq --no-install-recommends linux-image-cloud-amd64 initramfs-tools'
	touch "$vm.done"
fi
packaging/package.sh "$cache/vm-packages"
rm -rf "$vm/pkg"
mkdir -p "$vm/pkg"
cp "$cache"/vm-packages/*.deb packaging/vm-inside.sh "$vm/pkg/"
cat > "$vm/etc/systemd/system/vm-test.service" <<'EOF'
[Unit]
After=dbus.service systemd-logind.service systemd-user-sessions.service
[Service]
Type=oneshot
ExecStart=/bin/bash /pkg/vm-inside.sh
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
ExecStopPost=/bin/systemctl --force --force poweroff
[Install]
WantedBy=multi-user.target
EOF
mkdir -p "$vm/etc/systemd/system/multi-user.target.wants"
ln -sf ../vm-test.service "$vm/etc/systemd/system/multi-user.target.wants/vm-test.service"
ln -sf /dev/null "$vm/etc/systemd/system/serial-getty@ttyS0.service" # the line is ours
image=$cache/vm.img
rm -f "$image"
truncate -s 3G "$image"
/sbin/mke2fs -q -t ext4 -d "$vm" "$image"

accel=tcg,thread=multi
[ -w /dev/kvm ] && accel=kvm
log=$cache/vm.log
timeout "${VM_TIMEOUT:-3600}" qemu-system-x86_64 -accel "$accel" -m 1536 -smp 2 -cpu max -display none -monitor none -no-reboot \
	-kernel "$vm"/boot/vmlinuz-* -initrd "$vm"/boot/initrd.img-* \
	-append 'root=/dev/vda rw console=ttyS0 quiet systemd.unified_cgroup_hierarchy=1 systemd.show_status=false' \
	-drive "file=$image,format=raw,if=virtio,cache=unsafe" -serial "file:$log" < /dev/null || true
tr -d '\r' < "$log" | grep -E '^(ok|FAIL|vm):' || true
tr -d '\r' < "$log" | grep -q '^vm: [0-9]* passed, 0 failed' || {
	tail -n 60 "$log" >&2
	exit 1
}
