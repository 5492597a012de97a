#!/usr/bin/env bash
# `make test-fresh`: README's way on a fresh Debian 12 (debootstrap) in a container, with this machine's
# Go but neither its caches nor its packages: `make run`, and `make test-quick` (with TEST=1 the whole
# `make test`); then the package built, installed, asked (sbx doctor), used, removed and purged, after
# which nothing of it is left but what the user made. Needs root, some fifteen minutes and the network for
# packages and modules. Without TEST=1 the acceptance tests, the scripts of cmd/sbx and the race pass are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
[ "$(id -u)" = 0 ] || { echo "fresh-test: only root can start the container" >&2; exit 2; }
[ -z "$(git status --porcelain)" ] || echo "fresh-test: tests HEAD, without the changes that no commit has" >&2
packaging/debian-tree.sh .cache
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -a .cache/debian12 "$work/tree"
git clone -q --bare . "$work/source.git"

cat > "$work/inside.sh" <<'INSIDE'
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
say() { echo "fresh: $*"; }
quiet() { "$@" > /root/out 2>&1 || { cat /root/out; exit 1; }; } # its output only where it fails
for tree in /sys/fs/cgroup/*/; do # as the container's own namespace of control groups has them
	case $(basename "$tree") in
	unified) type=cgroup2 options=rw ;;
	systemd) type=cgroup options=none,name=systemd ;;
	*) type=cgroup options=$(basename "$tree") ;;
	esac
	mountpoint -q "$tree" || continue # a v2-only tree has no mounts below its root
	umount "$tree"
	mount -t "$type" -o "$options" cgroup "$tree"
done
quiet apt-get -qq update
quiet apt-get -qq install -y make git ca-certificates
useradd -m anna
git clone -q /fresh/source.git /root/sandboxd
cd /root/sandboxd

begin=$SECONDS
quiet make run
grep -q '^It works here' /root/out
say "ok: make run, with all packages and modules from the network: $((SECONDS - begin)) s"
begin=$SECONDS
quiet make run
say "ok: make run again: $((SECONDS - begin)) s"
begin=$SECONDS
if [ -n "${TEST-}" ]; then tests=test; else tests=test-quick; fi
quiet make "$tests"
say "ok: make $tests, with an empty cache of Go's: $((SECONDS - begin)) s"

quiet make packages
# What packages own besides files of theirs: their database, logs, caches.
tree() {
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /root -o -path /certs -o -path /home -o -path /fresh \
		-o -path /var/cache -o -path /var/log -o -path /var/lib/dpkg -o -path /var/lib/apt \) -prune -o -print | LC_ALL=C sort
}
as_anna() { runuser -u anna -- env -C /home/anna/project HOME=/home/anna "$@"; }
install -d -o anna -g anna /home/anna/project
tree > /root/before
quiet apt-get -qq install -y ./dist/sandboxd_*_amd64.deb
say "ok: installed: $(sbx version)"
quiet as_anna sbx doctor
say "ok: sbx doctor"
[ "$(as_anna sbx run -- sh -c 'echo supervised')" = supervised ] || [ "$(as_anna sbx run -- echo supervised)" = supervised ]
say "ok: a supervised command"
as_anna sbx stop
quiet apt-get -qq purge -y sandboxd
tree > /root/after
if ! diff /root/before /root/after; then say "the package left files"; exit 1; fi
for exe in /proc/[0-9]*/exe; do
	case $(readlink "$exe" 2>/dev/null) in */sandboxd* | */sbx*) say "left the process $exe"; exit 1 ;; esac
done
say "ok: removed and purged: no file, no process left; the user's own: $(cd /home/anna && find .local .config -maxdepth 3 -name sandboxd 2>/dev/null | tr '\n' ' ')"
INSIDE

# The host's network, and its certificates for proxies that have their own. A machine has neither nspawn's
# read-only /proc/sys and control groups, nor its /tmp in memory, nor its filter, nor fewer capabilities.
SYSTEMD_SECCOMP=0 SYSTEMD_NSPAWN_API_VFS_WRITABLE=1 SYSTEMD_NSPAWN_TMPFS_TMP=0 systemd-nspawn --capability=all -q -D "$work/tree" --as-pid2 --register=no --keep-unit -M "fresh$$" --console=pipe --resolv-conf=copy-host \
	--bind=/sys/fs/cgroup --bind-ro="$work:/fresh" --bind-ro="$($GO env GOROOT):/usr/local/go" --bind-ro=/etc/ssl/certs:/certs --setenv=SSL_CERT_FILE=/certs/ca-certificates.crt \
	--setenv=GOPROXY="$($GO env GOPROXY)" --setenv=TEST="${TEST-}" --setenv=CI=true \
	/bin/bash /fresh/inside.sh
