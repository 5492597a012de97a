#!/usr/bin/env bash
# Unpacks the source of a Debian package into a directory, from where this machine's own apt has its packages. Needs no
# root, and leaves nothing else.
#   packaging/debian-source.sh PACKAGE DIR
set -euo pipefail
package=$1 dir=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists,cache/archives}/partial
apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u > "$work/sources.list"
cd "$work"
from() {
	apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$work/lists" \
		-o Dir::Cache="$work/cache" "$@"
}
{ from update && from source --download-only "$package" && dpkg-source --extract "$package"_*.dsc source; } > log 2>&1 || {
	tail -n 20 log >&2
	exit 1
}
cp -a source/. "$dir"
