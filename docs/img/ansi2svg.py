#!/usr/bin/env python3
"""Draws captures of `tmux capture-pane -e -p` below one another in one SVG.

usage: ansi2svg.py COLUMNS TITLE=FILE... > sheet.svg
       ansi2svg.py COLUMNS ROWS < capture > screen.svg

The second form draws the whole screen. Knows the colours that sbx uses: the sixteen of ANSI, bold, and none.
"""
import re
import sys
from xml.sax.saxutils import escape

COLOURS = ["#3b4252", "#e0616b", "#8fbf7f", "#e3c07b", "#6f9fd8", "#b48ead", "#56b6c2", "#d8dee9",
           "#7f8794", "#ff6b75", "#a3d98f", "#f0d08c", "#8fb8f0", "#d0a8d8", "#7fd8e0", "#ffffff"]
CELL, LINE = 7.83, 17


def spans(lines):
    """Yields the runs of one style: row, column, text, colour, bold. A style lasts beyond the end of a line."""
    row, at, colour, bold = 0, 0, None, False
    for part in re.split(r"(\x1b\[[0-9;]*m|\n)", "\n".join(lines)):
        if part == "\n":
            row, at = row + 1, 0
            continue
        if not part.startswith("\x1b"):
            if part.strip():
                yield row, at, part, colour, bold
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


def screen(columns: int, top: int, lines) -> str:
    """The rectangle of a terminal and its text."""
    out = [f'<rect x="6" y="{top}" width="{columns * CELL + 16:.0f}" height="{len(lines) * LINE + 12}" rx="6"/>']
    for row, at, text, colour, bold in spans(lines):
        style = f' fill="{colour}"' if colour else ""
        style += ' font-weight="bold"' if bold else ""
        width = f' textLength="{len(text) * CELL:.1f}"' if text.isascii() else ""
        place = f'x="{14 + at * CELL:.1f}" y="{top + (row + 1) * LINE}"'
        out.append(f'<text {place}{style}{width} xml:space="preserve">{escape(text)}</text>')
    return "".join(out)


def document(columns: int, height: int, parts) -> str:
    size = f'width="{columns * CELL + 28:.0f}" height="{height}"'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="DejaVu Sans Mono, monospace" font-size="13" fill="#d8dee9">'
            '<style>.title{fill:#24292f;font-family:sans-serif}rect{fill:#2b303b}</style>'
            f'<rect width="100%" height="100%" style="fill:#fff"/>{"".join(parts)}</svg>\n')


def sheet(columns: int, shots) -> str:
    out, y = [], 12
    for title, lines in shots:
        out.append(f'<text x="12" y="{y + LINE}" class="title">{escape(title)}</text>')
        out.append(screen(columns, y + LINE + 8, lines))
        y += LINE * (len(lines) + 1) + 32
    return document(columns, y, out)


def main() -> None:
    columns, shots = int(sys.argv[1]), []
    if sys.argv[2].isdigit():
        rows = int(sys.argv[2])
        lines = (sys.stdin.read().split("\n") + [""] * rows)[:rows]
        sys.stdout.write(document(columns, rows * LINE + 24, [screen(columns, 6, lines)]))
        return
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
