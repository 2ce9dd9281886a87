#!/usr/bin/env python3
"""Fails when a folder of src includes one it may not know.

An arrow lists what a folder may include; arrows compose (schedule -> fusion -> graph -> support), and a folder always
knows itself. docs/architecture.md draws the same picture.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

ARROWS: dict[str, list[str]] = {
    "support": [],
    "graph": ["support"],
    "passes": ["graph"],
    "fusion": ["graph"],
    "kernel": ["support"],
    "schedule": ["fusion", "kernel"],
    "codegen/llvm": ["kernel"],
    "codegen/llvm/component": ["codegen/host"],
    "codegen/host": ["codegen/llvm"],
    "codegen/cuda": ["kernel"],
    "library": ["support"],
    "runtime": ["support"],
    "sparse": ["support", "sparse/stream"],
    "sparse/stream": ["support"],
    "sparse/mlir": ["sparse"],
    "sim": ["sparse/stream"],
    "search": ["sparse", "sim"],
    "driver": ["passes", "schedule", "codegen/host", "codegen/cuda", "library", "runtime", "sparse", "sim"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def known(folder: str) -> set[str]:
    """The folders that `folder` may include, itself among them."""
    seen, rest = {folder}, [folder]
    while rest:
        for target in ARROWS[rest.pop()]:
            if target not in seen:
                seen.add(target)
                rest.append(target)
    return seen


def folder_of(path: str) -> str | None:
    """The longest folder of ARROWS that holds `path` (relative to src), or None."""
    fits = [folder for folder in ARROWS if path.startswith(folder + "/")]
    return max(fits, key=len, default=None)


def broken_arrows(source: Path) -> list[str]:
    relative = source.relative_to(ROOT / "src").as_posix()
    home = folder_of(relative)
    if home is None:
        return [f"src/{relative}: not in a folder that scripts/check_arrows.py knows"]
    allowed = known(home)
    found = []
    text = source.read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        target = folder_of(match[1])
        if target is None and not (source.parent / match[1]).exists():
            continue  # a header of another project
        if target is not None and target not in allowed:
            line = text.count("\n", 0, match.start()) + 1
            names = ", ".join(sorted(allowed - {home})) or "nothing"
            found.append(f'src/{relative}:{line}: {home} may not include "{match[1]}"; it knows {names}')
    return found


def main() -> int:
    sources = sorted(path for path in (ROOT / "src").rglob("*") if path.suffix in {".h", ".cpp"})
    found = [line for source in sources for line in broken_arrows(source)]
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(f"{len(sources)} files of src keep to the arrows")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
