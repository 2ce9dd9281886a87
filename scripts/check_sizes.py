#!/usr/bin/env python3
"""Fails when a source file has grown past what a reader grasps in ten minutes."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 600
FOLDERS = ["src", "include", "tools", "tests", "bench", "examples", "scripts"]
SUFFIXES = {".h", ".cpp", ".py", ".sh", ".cmake"}


def main() -> int:
    found = 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            lines = path.read_text(encoding="utf-8").count("\n")
            if lines > LIMIT:
                found += 1
                print(f"{path.relative_to(ROOT)}: {lines} lines, above {LIMIT}: split it", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
