#!/usr/bin/env python3
"""Fails when a page shows code that no example contains, or what a merge left behind.

A block of a page under docs/guide or of README.md that opens with ```cpp FILE, ```tk FILE or ```python FILE must stand
in that file word for word: the tests compile and run the file, so what the page shows works. Indentation common to the
block's lines is ignored, and a line `...` stands for lines left out.
"""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(?:cpp|tk|cmake|sh|python) (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)


def pieces(block: str) -> list[str]:
    """The runs of lines between `...` lines."""
    runs = re.split(r"^\s*\.\.\.\s*\n", block, flags=re.MULTILINE)
    return [run.strip("\n") for run in runs if run.strip()]


def holds(text: str, piece: str) -> bool:
    """Whether some consecutive lines of `text`, moved left together, are `piece`."""
    wanted = textwrap.dedent(piece).split("\n")
    lines = text.split("\n")
    for start in range(len(lines) - len(wanted) + 1):
        window = textwrap.dedent("\n".join(lines[start : start + len(wanted)]))
        if window.split("\n") == wanted:
            return True
    return False


def line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


def main() -> int:
    status = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for match in CONFLICT.finditer(text):
            print(f"{page.relative_to(ROOT)}:{line(text, match)}: a conflict that nobody resolved", file=sys.stderr)
            status = 1
        for match in BLOCK.finditer(text):
            where = f"{page.relative_to(ROOT)}:{line(text, match)}"
            source = ROOT / match[1]
            if not source.exists():
                print(f"{where}: shows {match[1]}, which does not exist", file=sys.stderr)
                status = 1
                continue
            for piece in pieces(match[2]):
                if not holds(source.read_text(encoding="utf-8"), piece):
                    first = piece.split("\n")[0].strip()
                    print(f"{where}: {match[1]} does not contain the lines from: {first}", file=sys.stderr)
                    status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
