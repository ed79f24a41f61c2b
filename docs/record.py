"""Makes docs/demo.svg: `unflake demo` in a real terminal (tmux), photographed with its colours.

    cargo build --release && python3 docs/record.py

Another binary can be given as an argument.
"""

import html
import re
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
COLUMNS, ROWS = 100, 60
COLOURS = {"31": "#f47067", "32": "#6bc46d", "33": "#daaa3f", "36": "#56b6c2", "34": "#6cb6ff", "35": "#dcbdfb"}
FONT, LINE, ADVANCE, MARGIN = 14, 19, 8.43, 18


def tmux(*words):
    return subprocess.run(["tmux", "-L", "unflake-record", *words], check=True, capture_output=True, text=True).stdout


def photograph(command):
    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), f"{command}; printf 'THE\\040END'; sleep 60")
    try:
        while "THE END" not in tmux("capture-pane", "-p"):
            time.sleep(0.2)
        return tmux("capture-pane", "-p", "-e").replace("THE END", "")
    finally:
        tmux("kill-server")


def spans(line, look):
    """The pieces of a line, each with how it looks. A look goes on until it is changed, over lines too."""
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not piece.startswith("\x1b["):
            if piece:
                yield piece, dict(look)
            continue
        for code in piece[2:-1].split(";"):
            if code in ("", "0"):
                look.clear()
            elif code == "1":
                look["font-weight"] = "bold"
            elif code == "2":
                look["fill"] = "#8b949e"
            elif code in COLOURS:
                look["fill"] = COLOURS[code]
            elif code == "39":
                look.pop("fill", None)


def svg(screen):
    lines = screen.rstrip().split("\n")
    width, height = COLUMNS * ADVANCE + 2 * MARGIN, len(lines) * LINE + 2 * MARGIN
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-size="{FONT}"'
    yield ' font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace">'
    yield '<rect width="100%" height="100%" rx="8" fill="#1c2128"/><g fill="#cdd9e5">'
    looks = {}
    for row, line in enumerate(lines):
        column, y = 0, MARGIN + (row + 0.8) * LINE
        for text, look in spans(line, looks):
            style = "".join(f' {name}="{value}"' for name, value in look.items())
            # Browsers join several spaces, so what they separate is placed by itself.
            for words in re.finditer(r"\S+( \S+)*", text):
                x, length = MARGIN + (column + words.start()) * ADVANCE, len(words[0]) * ADVANCE
                yield f'<text x="{x:.1f}" y="{y:.1f}" textLength="{length:.1f}"{style}>{html.escape(words[0])}</text>'
            column += len(text)
    yield "</g></svg>"


def main():
    unflake = Path(sys.argv[1]) if len(sys.argv) > 1 else TOP / "target/release/unflake"
    if not unflake.exists():
        sys.exit("build it first: cargo build --release")
    (TOP / "docs/demo.svg").write_text("\n".join(svg(photograph(f"{unflake} demo"))) + "\n")


main()
