"""What all rows together say."""

from __future__ import annotations

import math
from typing import Any


def summary(rows: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
    """For every back end: how many models ran, and its speed against eager and against the best of the others."""
    out: dict[str, Any] = {}
    for name in names:
        cells = [row["backends"][name] for row in rows]
        ran = [c for c in cells if "latency_ms" in c]
        out[name] = {
            "ran": len(ran),
            "failed": len(cells) - len(ran),
            "speedup": mean([c["speedup"] for c in ran if "speedup" in c]),
            "against_best_other": mean([r for row in rows if (r := against_others(row, name))]),
            "slower_than_eager": [
                row["model"] for row in rows if row["backends"][name].get("speedup", 1.0) < 1.0
            ],
        }  # fmt: skip
    return out


def against_others(row: dict[str, Any], name: str) -> float | None:
    ours = row["backends"][name].get("latency_ms")
    others = [c["latency_ms"] for n, c in row["backends"].items() if n != name and "latency_ms" in c]
    return min(others) / ours if ours and others else None


def mean(ratios: list[float]) -> float | None:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
