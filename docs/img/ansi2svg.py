#!/usr/bin/env python3
"""Draws captures of `tmux capture-pane -e -p` below one another in one SVG.

usage: ansi2svg.py COLUMNS TITLE=FILE... > sheet.svg

Knows the colours that sbx uses: the sixteen of ANSI, bold, and none.
"""
import re
import sys
from xml.sax.saxutils import escape

from ansi2html import COLOURS

CELL, LINE = 7.83, 17


def spans(line: str):
    """Yields the runs of one style: column, text, colour, bold."""
    at, colour, bold = 0, None, False
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not part.startswith("\x1b"):
            if part.strip():
                yield at, part, colour, bold
            at += len(part)
            continue
        for code in part[2:-1].split(";"):
            n = int(code or 0)
            if n in (0, 39):
                colour, bold = None, bold and n == 39
            elif n == 1:
                bold = True
            elif n == 22:
                bold = False
            elif 30 <= n <= 37:
                colour = COLOURS[n - 30]
            elif 90 <= n <= 97:
                colour = COLOURS[n - 82]


def sheet(columns: int, shots) -> str:
    out, y = [], 12
    for title, lines in shots:
        y += LINE
        out.append(f'<text x="12" y="{y}" class="title">{escape(title)}</text>')
        y += 8
        out.append(f'<rect x="6" y="{y}" width="{columns * CELL + 16:.0f}" height="{len(lines) * LINE + 12}" rx="6"/>')
        for line in lines:
            y += LINE
            for at, text, colour, bold in spans(line):
                style = f' fill="{colour}"' if colour else ""
                style += ' font-weight="bold"' if bold else ""
                width = f' textLength="{len(text) * CELL:.1f}"' if text.isascii() else ""
                out.append(f'<text x="{14 + at * CELL:.1f}" y="{y}"{style}{width} xml:space="preserve">{escape(text)}</text>')
        y += 24
    size = f'width="{columns * CELL + 28:.0f}" height="{y}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="DejaVu Sans Mono, monospace" font-size="13" fill="#d8dee9">'
            '<style>.title{fill:#24292f;font-family:sans-serif}rect{fill:#2b303b}</style>'
            f'<rect width="100%" height="100%" style="fill:#fff"/>{"".join(out)}</svg>\n')


def main() -> None:
    columns, shots = int(sys.argv[1]), []
    for arg in sys.argv[2:]:
        title, _, file = arg.partition("=")
        with open(file, encoding="utf-8") as f:
            lines = f.read().rstrip("\n").split("\n")
        while lines and not re.sub(r"\x1b\[[0-9;]*m", "", lines[-1]).strip():
            lines.pop()
        shots.append((title, lines))
    sys.stdout.write(sheet(columns, shots))


if __name__ == "__main__":
    main()
