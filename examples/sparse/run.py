#!/usr/bin/env python3
"""Compiles a model of this folder at every fusion level, compares it with eager and prints its program.

python examples/sparse/run.py gcn
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from models import MODELS
from tokamak import sparse


def dense(value: torch.Tensor) -> torch.Tensor:
    return value.to_dense() if value.layout != torch.strided else value


def main() -> int:
    wanted = sys.argv[1:] or ["gcn"]
    if any(name not in MODELS for name in wanted):
        print(f"usage: run.py NAME...\nNAME is one of {', '.join(MODELS)}", file=sys.stderr)
        return 2
    for name in wanted:
        torch.manual_seed(0)
        example = MODELS[name]()
        expected = example.eager()
        levels = {level: level for level in ("unfused", "layers", "full", "auto")}
        for label, schedule in (levels | example.schedules).items():
            compiled = sparse.compile(example.model, *example.inputs, formats=example.formats, schedule=schedule)
            got = compiled(*example.inputs)
            pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
            worst = max((dense(a) - dense(b)).abs().max().item() for a, b in pairs)
            print(f"{name}, {label}: {len(compiled.regions)} regions, differs from eager by {worst:.1e}")
        print(compiled.program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
