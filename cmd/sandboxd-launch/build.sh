#!/bin/sh
# build.sh OUT: compiles sandboxd-launch, the same bytes from the same sources. $CC is the
# compiler, for this machine's architecture or another.
set -eu
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd "$(dirname "$0")"
exec "${CC:-gcc}" -std=gnu11 -O2 -Wall -Wextra -Werror -ffreestanding -mgeneral-regs-only -fno-stack-protector \
	-fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns -fno-pic -no-pie -static -nostdlib \
	-Wl,--build-id=none,-z,noexecstack,-z,noseparate-code,-z,norelro -s -o "$out" ./*.c
