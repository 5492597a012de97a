#!/usr/bin/env bash
# `make install` and `make uninstall`: the programs of bin/ below PREFIX, with manual pages,
# completions and documents. The programs are in lib/sandboxd, bin has links to them.
#   PREFIX=/usr/local    the directory above bin, lib and share
#   PROGRAM_PREFIX=      before the names of programs and pages, for a machine that has others of these names
#   DESTDIR=             before every path, for a package
#   PROGRAMS=bin         a directory of built programs
#   STAGE=bin/share      of documents that packaging/documents.sh has written
# `uninstall` names the hooks that agents of this user still have; with HOOKS=1 (`make uninstall HOOKS=1`) or --hooks it
# takes them out of the agents' settings.
set -euo pipefail
cd "$(dirname "$0")/.."
PREFIX=${PREFIX:-/usr/local} PROGRAM_PREFIX=${PROGRAM_PREFIX-} DESTDIR=${DESTDIR-} PROGRAMS=${PROGRAMS:-bin} STAGE=${STAGE:-bin/share}
case $PREFIX in /*) ;; *) echo "install: PREFIX=$PREFIX is not an absolute path" >&2; exit 2 ;; esac
case $PROGRAM_PREFIX in */*) echo "install: PROGRAM_PREFIX=$PROGRAM_PREFIX has a slash" >&2; exit 2 ;; esac
root=${DESTDIR}${PREFIX%/}
lib=lib/${PROGRAM_PREFIX}sandboxd
list=$root/$lib/installed
umask 022

uninstall() {
	[ -e "$list" ] || return 0
	while IFS= read -r file; do
		case /$file/ in */../*) echo "install: $list names $file" >&2; exit 1 ;; esac
		rm -f "$root/$file"
		# Directories that are empty now and were made for this.
		(cd "$root" && rmdir -p "$(dirname "$file")" 2>/dev/null) || true
	done < <(cat "$list"; echo "$lib/installed")
}
# What an agent's hook calls is gone after this: the agent then refuses every tool, or runs it unsupervised.
hooks() {
	local sbx=$root/bin/${PROGRAM_PREFIX}sbx found agent where file
	[ -z "$DESTDIR" ] && found=$(cd / && "$sbx" hook ls 2>/dev/null) || return 0
	while read -r agent where file; do
		[ "$where" = user ] || continue
		if [ "${HOOKS-}" = 1 ]; then
			(cd / && "$sbx" hook install "$agent" --user --remove > /dev/null) && echo "uninstall: the hook in $file is taken out" >&2
		else
			echo "uninstall: $file still has the hook of $agent, whose program is gone now: take it out of \"hooks\" there" \
				"(before: sbx hook install $agent --user --remove, or make uninstall HOOKS=1)" >&2
		fi
	done <<< "$found"
}
if [ "${1-}" = uninstall ]; then
	[ "${2-}" != --hooks ] || HOOKS=1
	[ -e "$list" ] || { echo "install: $list is not there: nothing is installed below $PREFIX by this name" >&2; exit 1; }
	hooks
	uninstall
	exit
fi

for built in "$PROGRAMS/sbx" "$STAGE/doc"; do
	[ -e "$built" ] || { echo "install: $built is not built: make build" >&2; exit 1; }
done
uninstall # what an earlier version has and this one has not
mkdir -p "$root/$lib"
installed=$(mktemp)
put() { # put MODE FILE TO
	mkdir -p "$root/$(dirname "$3")"
	install -m "$1" "$2" "$root/$3"
	echo "$3" >> "$installed"
}
for program in sbx sbx-verbs sbx-mcp sandboxd sandboxd-launch; do
	[ -e "$PROGRAMS/$program" ] || continue # macOS has no sandboxd-launch
	put 755 "$PROGRAMS/$program" "$lib/$program"
done
mkdir -p "$root/bin"
for program in sbx sandboxd; do
	ln -sfn "../$lib/$program" "$root/bin/$PROGRAM_PREFIX$program"
	echo "bin/$PROGRAM_PREFIX$program" >> "$installed"
done
for page in "$STAGE"/man/*/*; do
	put 644 "$page" "share/man/$(basename "$(dirname "$page")")/$PROGRAM_PREFIX$(basename "$page")"
done
while IFS= read -r file; do
	put 644 "$STAGE/doc/$file" "share/doc/${PROGRAM_PREFIX}sandboxd/$file"
done < <(cd "$STAGE/doc" && find . -type f | sed 's|^\./||' | LC_ALL=C sort)
if [ -z "$PROGRAM_PREFIX" ]; then # the scripts complete the name sbx
	put 644 "$STAGE/completions/sbx.bash" share/bash-completion/completions/sbx
	put 644 "$STAGE/completions/_sbx" share/zsh/site-functions/_sbx
	put 644 "$STAGE/completions/sbx.fish" share/fish/vendor_completions.d/sbx.fish
fi
install -m 644 "$installed" "$list"
rm -f "$installed"
echo "installed: $PREFIX/bin/${PROGRAM_PREFIX}sbx" >&2
[ -z "$DESTDIR" ] || exit 0
case :$PATH: in
*:"${PREFIX%/}/bin":*) echo "next: ${PROGRAM_PREFIX}sbx doctor, in a project's directory" >&2 ;;
*) echo "next: PATH does not have $PREFIX/bin: put export PATH=\"$PREFIX/bin:\$PATH\" into ~/.profile" >&2 ;;
esac
