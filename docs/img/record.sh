#!/usr/bin/env bash
# Records `make run` as docs/img/demo.svg. Needs asciinema, and svg-term of the npm package
# svg-term-cli on the PATH.
set -euo pipefail
cd "$(dirname "$0")/../.."
make -s programs
cast=$(mktemp)
trap 'rm -f "$cast"' EXIT
asciinema rec --quiet --overwrite --cols 100 --rows 44 -c 'env -u NO_COLOR TERM=xterm-256color go run ./packaging/demo' "$cast" </dev/null
svg-term --in "$cast" --out docs/img/demo.svg --no-cursor --window
# svg-term takes the request for more keys, CSI > 4 m, for underlining; nothing here is underlined.
sed -i 's/;\{0,1\}text-decoration:underline//g' docs/img/demo.svg
echo docs/img/demo.svg
