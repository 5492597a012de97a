#!/usr/bin/env bash
# Draws docs/img/questions-COLUMNS.svg: what the real sbx asks at terminals of 60, 80, 120 and
# 200 columns and 24 rows. Needs tmux and python3. WIDTHS are other
# widths; TEXT=DIR has the captures besides.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD/docs/img
work=$(mktemp -d /tmp/XXX) # a home in a few letters, as people have it
project=$work/shop
mkdir -p "$work/.run" "$project"/{notes,build} "$work/datasets"
chmod 700 "$work/.run"
printf '[sandbox]\nbackend = "native"\nlayers = "auto"\n' >"$work/.config.toml"
chmod 600 "$work/.config.toml"
printf '# Weekly Report\n## Summary\nAll is well.\n' >"$project/notes/report.adoc"
printf 'id,price\n1,2\n' >"$work/datasets/prices.csv"
printf 'object\n' >"$project/build/main.o"
mkdir "$project/pages"
for i in $(seq 60); do echo "$i" >"$project/pages/$i.html"; done
printf 'import os\nfor name in os.listdir("pages"):\n    os.remove("pages/" + name)\n' >"$project/fresh.py"
cat >"$work/batch.sh" <<'BATCH'
# The calls of one response of a model.
opened=$(sbx session open --json)
of() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1" <<<"$opened"; }
calls=
for line in 'make site' 'npm test' 'sqlite3 shop.db .tables'; do
	calls+=",{\"exec\":{\"session\":\"$(of id)\",\"command\":\"$line\"}}"
done
curl -s --unix-socket "$XDG_RUNTIME_DIR/sandboxd/agent.sock" -H "Authorization: Bearer $(of secret)" -H 'Content-Type: application/json' \
	-d "{\"session\":\"$(of id)\",\"calls\":[${calls#,}]}" http://localhost/v1/batch >/dev/null &
sleep 1
exec sbx approve
BATCH
unset SBX_SOCKET_DIR NO_COLOR
export HOME=$work XDG_RUNTIME_DIR=$work/.run SBX_STATE_DIR=$work/.state PATH=$PWD/bin:$PATH LANG=C.UTF-8
git -C "$project" init -q
t() { tmux -u -S "$work/tmux" -f /dev/null "$@"; }
finish() {
	sbx stop --now >/dev/null 2>&1 || true
	t kill-server 2>/dev/null || true
	chmod -R u+rwx "$work" # an overlay's directories, too
	rm -rf "$work"
}
trap finish EXIT
t new-session -d -s base "sleep 10000" # keeps the server
(cd "$project" && setsid sbx --config "$work/.config.toml" trust >/dev/null 2>&1 </dev/null)

# The titles, and the commands that ask.
questions=(
	"1. Read, by a program that could do more|sbx run -- sqlite3 shop.db .tables"
	"2. Write|sbx run -c 'date +%Y > year.txt'"
	"3. Delete|sbx run -- rm -r build"
	"4. Network|sbx run -- curl -s https://registry.example.org/left-pad"
	"5. Outside of the project|sbx run -- cat ~/datasets/prices.csv"
	"6. A protected name|sbx file write .git/config < notes/report.adoc"
	"7. Edit|sbx file edit notes/report.adoc --find '## Summary' --replace '## Executive Summary'"
	"8. A batch, in the queue|bash $work/batch.sh"
	"9. Landing|sbx run -- python3 fresh.py"
	"10. Dangerous|sbx run -c 'rm -rf build ../other && git push --force'"
	"11. Long|sbx run -c 'for f in notes/*.adoc; do pandoc --standalone --from asciidoc --to html5 --output \"build/\${f##*/}.html\" \"\$f\" && gzip --keep --best \"build/\${f##*/}.html\"; done; tar --create --file report.tar build && ls -l report.tar'"
	"12. Text that deceives|sbx run -c \$'touch report\\u202efdp.sh \\u200b\\x1b[2J аpple'"
)
for columns in ${WIDTHS:-60 80 120 200}; do
	shots=()
	for i in "${!questions[@]}"; do
		title=${questions[$i]%%|*} line=${questions[$i]#*|}
		file=$work/$columns-$i
		printf 'cd %q\n%s 2>/dev/null\nsleep 1000\n' "$project" "$line" >"$work/ask.sh"
		t new-session -d -s shot -x "$columns" -y 24 "TERM=screen-256color COLORTERM= bash $work/ask.sh"
		t set -g status off
		for _ in $(seq 300); do
			if t capture-pane -p -t shot | grep -Eq 'Deny|\[y/'; then break; fi
			sleep 0.1
		done
		sleep 0.7
		if [[ $title == *Landing ]]; then # it follows a yes to the command
			sleep 1
			t send-keys -t shot y
			sleep 1
			t send-keys -t shot Enter
			for _ in $(seq 300); do
				if t capture-pane -p -t shot | grep -q 'Land what'; then break; fi
				sleep 0.1
			done
			sleep 0.7
		fi
		t capture-pane -e -p -t shot >"$file"
		t send-keys -t shot n
		sleep 0.3
		t send-keys -t shot Enter
		sleep 0.3
		t kill-session -t shot
		shots+=("$title=$file")
		if [ -n "${TEXT:-}" ]; then sed 's/\x1b\[[0-9;]*m//g' "$file" >"$TEXT/$columns-$((i + 1)).txt"; fi
	done
	python3 "$here/ansi2svg.py" "$columns" "${shots[@]}" >"$here/questions-$columns.svg"
	echo "docs/img/questions-$columns.svg"
done
