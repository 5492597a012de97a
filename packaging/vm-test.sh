#!/usr/bin/env bash
# `make vm-test`: the package, and the live suites of the sandbox, in a virtual
# machine with Debian's own kernel and a v2-only control group tree, emulated where
# there is no KVM. Half an hour and more by emulation; not part of `make test`.
# Needs root, for the tree.
#   VM_SUITES='acceptance landlock'   only these (default: all; none: 'none')
#   VM_RUN=REGEXP                     of the suites only the tests that match
#   VM_TIMEOUT=SECONDS                of the machine; 7200
#   VM_DEBIAN=13                      the release of Debian; 12. 13 has AppArmor's user namespace rules, and bwrap 0.12
#   VM_ARCH=arm64                     an arm64 machine, emulated; its packages are unpacked by qemu-user, which
#                                     systemd-binfmt has to have registered (Debian's qemu-user-static does that)
# What it said is in .cache/vm.log, what the suites said in .cache/vm-logs.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
cache=$PWD/.cache
host=$($GO env GOHOSTARCH) arch=${VM_ARCH:-$($GO env GOHOSTARCH)}
release=${VM_DEBIAN:-12} && tree=$cache/debian$release vm=$cache/vm$release
if [ "$arch" != "$host" ]; then
	tree=$tree-$arch vm=$vm-$arch
	grep -qs '^flags:.*F' /proc/sys/fs/binfmt_misc/qemu-* ||
		{ echo "vm-test: programs of $arch do not run here: apt-get install qemu-user-static; systemctl restart systemd-binfmt" >&2; exit 2; }
fi
case $arch in
amd64) machine=(qemu-system-x86_64) console=ttyS0 ;;
arm64) machine=(qemu-system-aarch64 -M virt,gic-version=3) console=ttyAMA0 ;;
*) echo "vm-test: VM_ARCH=$arch: want amd64 or arm64" >&2; exit 2 ;;
esac
packaging/debian-tree.sh "$cache" "$arch" "$release"
if [ ! -e "$vm.done" ]; then
	rm -rf "$vm"
	cp -a "$tree" "$vm"
	cp /etc/resolv.conf "$vm/etc/resolv.conf"
	# What the suites of the sandbox use besides the package.
	chroot "$vm" env DEBIAN_FRONTEND=noninteractive sh -c \
		'apt-get update -qq && apt-get install -y -qq --no-install-recommends linux-image-cloud-'"$arch"' initramfs-tools \
		python3 gcc libc6-dev make iproute2 attr jq wget nodejs openssh-client vim-tiny kmod e2fsprogs tmux apparmor' > "$cache/vm-install.log" 2>&1 || {
		tail -n 20 "$cache/vm-install.log" >&2
		exit 1
	}
	rm -rf "$vm"/var/cache/apt/archives/*.deb "$vm"/var/lib/apt/lists/*
	# What emulation need not unpack and start: modules of other machines, and
	# what keeps a real host in order.
	echo MODULES=list > "$vm/etc/initramfs-tools/conf.d/modules"
	printf 'virtio_pci\nvirtio_blk\next4\n' > "$vm/etc/initramfs-tools/modules"
	chroot "$vm" update-initramfs -u > /dev/null
	for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer getty@tty1.service \
		serial-getty@$console.service systemd-networkd.service systemd-timesyncd.service; do
		ln -sf /dev/null "$vm/etc/systemd/system/$unit"
	done
	touch "$vm.done"
fi
rm -rf "$cache/vm-packages"
ARCH=$arch packaging/package.sh "$cache/vm-packages"
rm -rf "$vm/pkg" "$vm/suites"
mkdir -p "$vm/pkg" "$vm/suites" "$vm/var/lib/systemd/linger"
cp "$cache"/vm-packages/*.deb packaging/vm-inside.sh "$vm/pkg/"
# Installed before the machine starts, as into an image.
chroot "$vm" sh -c 'dpkg -P sandboxd; dpkg -i /pkg/*.deb; id alice || useradd -m -u 1000 -s /bin/bash -G sandboxd-agents,sandboxd-approvers alice' > "$cache/vm-install.log" 2>&1
touch "$vm/var/lib/systemd/linger/alice"
if [ "$arch" != "$host" ]; then
	sysroot=$(mktemp -d)
	trap 'rm -rf "$sysroot"' EXIT
	CC=$(packaging/sysroot.sh "$arch" "$sysroot")
	export CC CGO_CFLAGS="-O2 -I$sysroot/usr/include" CGO_LDFLAGS="-L$(dirname "$(find "$sysroot" -name libseccomp.so)")"
fi
for suite in ${VM_SUITES:-acceptance sandbox differential landlock seccomp bwrap layer}; do
	[ "$suite" = none ] && continue
	mkdir -p "$vm/suites/$suite"
	CGO_ENABLED=1 GOARCH=$arch $GO test -c -trimpath -o "$vm/suites/$suite/" "./$suite"
	if [ -d "$suite/testdata" ]; then
		git ls-files "$suite/testdata" | tar -T - -cf - | tar -C "$vm/suites" -xf -
	fi
	[ "$suite" = acceptance ] || continue
	mkdir -p "$vm/suites/backends/bwrap"
	CGO_ENABLED=1 GOARCH=$arch $GO build -trimpath -ldflags '-X sandboxd/config.defaultBackend=bwrap' -o "$vm/suites/backends/bwrap/" ./cmd/sandboxd
done
echo "${VM_RUN:-}" > "$vm/suites/run"
cat > "$vm/etc/systemd/system/vm-test.service" <<EOF2
[Unit]
After=dbus.service systemd-logind.service systemd-user-sessions.service
[Service]
Type=oneshot
ExecStart=/bin/bash /pkg/vm-inside.sh
StandardOutput=tty
StandardError=tty
TTYPath=/dev/$console
TimeoutStartSec=infinity
ExecStopPost=/bin/systemctl --force --force poweroff
[Install]
WantedBy=multi-user.target
EOF2
mkdir -p "$vm/etc/systemd/system/multi-user.target.wants"
ln -sf ../vm-test.service "$vm/etc/systemd/system/multi-user.target.wants/vm-test.service"
image=$cache/vm.img
rm -f "$image"
truncate -s 12G "$image"
/sbin/mke2fs -q -t ext4 -N 3000000 -d "$vm" "$image"

# A /dev/kvm without the processor's help fails in the middle of the boot.
accel=tcg,thread=multi
if [ "$arch" = "$host" ] && [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then accel=kvm; fi
log=$cache/vm.log
rm -f "$log"
timeout "${VM_TIMEOUT:-7200}" "${machine[@]}" -accel "$accel" -m 4096 -smp ${VM_CPUS:-2} -cpu max -display none -monitor none -no-reboot \
	-kernel "$vm"/boot/vmlinuz-* -initrd "$vm"/boot/initrd.img-* \
	-append "root=/dev/vda rw console=$console quiet rcupdate.rcu_cpu_stall_suppress=1 nowatchdog mitigations=off systemd.unified_cgroup_hierarchy=1 systemd.show_status=false" \
	-drive "file=$image,format=raw,if=virtio,cache=unsafe" -serial "file:$log" < /dev/null 2> "$cache/vm-qemu.log" || true
rm -rf "$cache/vm-logs"
mkdir -p "$cache/vm-logs"
/sbin/debugfs -R "rdump /var/log/suites $cache/vm-logs" "$image" > /dev/null 2>&1 || true
tr -d '\r' < "$log" | grep -E '^(ok|FAIL|vm):' || true
tr -d '\r' < "$log" | grep -q '^vm: [0-9]* passed, 0 failed' || {
	tail -n 60 "$log" >&2
	exit 1
}
