#!/usr/bin/env python3
"""Fails when a diagnostic code that the sources raise has no page in docs/errors, or a page no code."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = re.compile(r'"(T0[0-9]{3})"')


def raised() -> dict[str, str]:
    """Each code with the first file that raises it; tests only quote codes."""
    codes: dict[str, str] = {}
    for folder in ["src", "tools", "python"]:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in {".h", ".cpp", ".py"} or path.name.endswith("_test.cpp"):
                continue
            for code in CODE.findall(path.read_text(encoding="utf-8")):
                codes.setdefault(code, path.relative_to(ROOT).as_posix())
    return codes


def main() -> int:
    codes = raised()
    pages = {path.stem for path in (ROOT / "docs" / "errors").glob("T0*.md")}
    for code in sorted(codes.keys() - pages):
        print(f"{codes[code]}: raises {code}, which has no docs/errors/{code}.md", file=sys.stderr)
    for code in sorted(pages - codes.keys()):
        print(f"docs/errors/{code}.md: nothing raises {code}", file=sys.stderr)
    return 1 if codes.keys() != pages else 0


if __name__ == "__main__":
    sys.exit(main())
