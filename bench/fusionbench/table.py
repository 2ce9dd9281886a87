"""The report as text for a terminal."""

from __future__ import annotations

from typing import Any

COLUMNS = (("model", 16), ("back end", 10), ("ms", 9), ("x eager", 8), ("cold s", 7), ("warm s", 7), ("peak MB", 8),
           ("kernels", 8), ("calls", 6), ("inside", 7), ("error", 9), ("eager's", 9))  # fmt: skip


def heading() -> str:
    return " ".join(f"{name:>{width}}" if i > 1 else f"{name:<{width}}" for i, (name, width) in enumerate(COLUMNS))


def lines(row: dict[str, Any]) -> list[str]:
    if "error" in row:
        return [f"{row['model']:<16} {row['error']}"]
    out = []
    eager = row["backends"].get("eager", {})
    for name, cell in row["backends"].items():
        head = f"{row['model']:<16} {name:<10}"
        out.append(f"{head} {figures(cell, eager)}" if "latency_ms" in cell else f"{head} {cell.get('error_text', '')}")
        if slowest := cell.get("slowest"):
            out.append(f"{'':<27} slower than eager; most time in {slowest['step']} ({slowest['us']:.0f} us)")
            out.append(f"{'':<27} {slowest['why']}")
    return out


def figures(cell: dict[str, Any], eager: dict[str, Any]) -> str:
    values = [
        number(cell.get("latency_ms"), ".3f"), number(cell.get("speedup"), ".2f"),
        number(cell.get("compile_cold_s"), ".2f"), number(cell.get("compile_warm_s"), ".2f"),
        number(cell.get("peak_bytes"), ".1f", 1e6), number(cell.get("kernels"), "d"), number(cell.get("calls"), "d"),
        number(cell.get("intermediates_never_materialised"), "d"), number(cell.get("error"), ".1e"),
        number(eager.get("error"), ".1e"),
    ]  # fmt: skip
    return " ".join(f"{v:>{width}}" for v, (_, width) in zip(values, COLUMNS[2:], strict=True))


def number(value: float | None, form: str, unit: float = 1) -> str:
    if value is None:
        return "-"
    return format(value if unit == 1 else value / unit, form)


def closing(document: dict[str, Any]) -> list[str]:
    """A line a back end."""
    out = ["interrupted: what follows is of the rows so far"] if document["interrupted"] else []
    for name, s in document["summary"].items():
        text = f"{name}: {s['ran']} models"
        if s["speedup"]:
            text += f", {s['speedup']:.2f} x eager"
        if s["against_best_other"]:
            text += f", {s['against_best_other']:.2f} x the best other"
        if s["failed"]:
            text += f", {s['failed']} failed"
        if s["slower_than_eager"]:
            text += f"; slower than eager: {', '.join(s['slower_than_eager'])}"
        out.append(text)
    return out
