#!/usr/bin/env python3
"""Turns what `tmux capture-pane -e -p` prints into a page of HTML.

usage: ansi2html.py COLUMNS ROWS < capture > page.html

Knows the colours that sbx uses: the sixteen of ANSI, bold, and none.
"""
import html
import re
import sys

COLOURS = ["#3b4252", "#e0616b", "#8fbf7f", "#e3c07b", "#6f9fd8", "#b48ead", "#56b6c2", "#d8dee9",
           "#7f8794", "#ff6b75", "#a3d98f", "#f0d08c", "#8fb8f0", "#d0a8d8", "#7fd8e0", "#ffffff"]


def page(text: str, columns: int, rows: int) -> str:
    out, colour, bold = [], None, False
    for piece in re.split(r"(\x1b\[[0-9;]*m)", text):
        codes = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if not codes:
            style = f"color:{colour or '#d8dee9'};" + ("font-weight:bold;" if bold else "")
            out.append(f'<span style="{style}">{html.escape(piece)}</span>' if piece else "")
            continue
        for code in [int(c or 0) for c in codes.group(1).split(";")]:
            if code == 0:
                colour, bold = None, False
            elif code == 1:
                bold = True
            elif code == 22:
                bold = False
            elif code == 39:
                colour = None
            elif 30 <= code <= 37:
                colour = COLOURS[code - 30]
            elif 90 <= code <= 97:
                colour = COLOURS[code - 82]
    return ("<!doctype html><meta charset=utf-8><style>html,body{margin:0;background:#20242c}"
            "pre{margin:16px 20px;font:15px/18px 'DejaVu Sans Mono',monospace;width:%dch;height:%dpx;overflow:hidden}</style><pre>%s</pre>"
            % (columns, rows * 18, "".join(out)))


if __name__ == "__main__":
    sys.stdout.write(page(sys.stdin.read(), int(sys.argv[1]), int(sys.argv[2])))
