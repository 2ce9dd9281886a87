"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import Any

from .ledger import TYPES
from .table import closing, number

STYLE = """
body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1200px;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0 2em}td,th{padding:3px 10px;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child,td.t,th.t{text-align:left}th{font-weight:600;border-bottom:2px solid #999}
.bar{display:inline-block;height:11px;vertical-align:middle}.slow{color:#b00020}.note{color:#666;max-width:80ch}
tr.first td{border-top:2px solid #bbb}
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}td,th{border-color:#333}.slow{color:#ff8a80}}
"""
COLOURS = ("#8a8a8a", "#4f7cac", "#e07a3f", "#5a9367", "#a06cd5", "#c9a227")


def html(document: dict[str, Any]) -> str:
    names, settings = document["settings"]["backends"], document["settings"]
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    mode = "training step" if settings["train"] else "inference"
    frozen = ", frozen weights" if settings["freeze"] else ""
    machine = document["machine"]
    parts = [
        f"<h1>FusionBench</h1><p>{len(document['rows'])} models, size {escape(settings['size'])}, {mode}{frozen}; "
        f"{settings['threads']} threads; {escape(machine['cpu'])}; torch {escape(machine['torch'])}</p>",
        *(f"<p>{escape(line)}</p>" for line in closing(document)),
        "<h2>Latency</h2>", bars(document["rows"], colours),
        "<h2>Figures</h2>", figures(document["rows"]),
        "<h2>What was fused</h2>", fusions(document["rows"]),
        "<h2>Slower than eager</h2>", slower(document["rows"]),
        "<h2>Failures</h2>", failures(document["rows"]),
        NOTES,
    ]  # fmt: skip
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>FusionBench</title>"
        f"<style>{STYLE}</style>{''.join(parts)}</html>\n"
    )


def bars(rows: list[dict[str, Any]], colours: dict[str, str]) -> str:
    """Each model's latencies as parts of its slowest."""
    out = []
    for row in rows:
        cells = {n: c for n, c in row["backends"].items() if "latency_ms" in c}
        longest = max((c["latency_ms"] for c in cells.values()), default=1)
        for i, (name, cell) in enumerate(cells.items()):
            width = 480 * cell["latency_ms"] / longest
            bar = f'<span class=bar style="width:{width:.0f}px;background:{colours[name]}"></span>'
            times = f"{cell['speedup']:.2f} x" if "speedup" in cell else ""
            out.append(
                f"<tr{' class=first' if i == 0 else ''}><td>{escape(row['model']) if i == 0 else ''}<td class=t>"
                f"{escape(name)}<td class=t>{bar} {cell['latency_ms']:.3f} ms<td>{times}"
            )
    return f"<table><tr><th>model<th class=t>back end<th class=t>median<th>eager / it</tr>{''.join(out)}</table>"


def figures(rows: list[dict[str, Any]]) -> str:
    head = ("model", "back end", "cold compile s", "warm compile s", "peak of a call MB", "kept resident MB", "kernels",
            "calls", "error against float64", "relative")  # fmt: skip
    body = []
    for row, i, name, cell in cells_of(rows):
        values = [
            number(cell.get("compile_cold_s"), ".2f"), number(cell.get("compile_warm_s"), ".2f"),
            number(cell.get("peak_bytes"), ".1f", 1e6), number(cell.get("resident_bytes"), ".1f", 1e6),
            number(cell.get("kernels"), "d"), number(cell.get("calls"), "d"), number(cell.get("error"), ".2e"),
            number(cell.get("error_relative"), ".2e"),
        ]  # fmt: skip
        start = f"<tr{' class=first' if i == 0 else ''}><td>{escape(row['model']) if i == 0 else ''}"
        body.append(start + f"<td class=t>{escape(name)}" + "".join(f"<td>{v}" for v in values))
    return f"<table><tr>{''.join(f'<th>{h}' for h in head)}</tr>{''.join(body)}</table>"


def fusions(rows: list[dict[str, Any]]) -> str:
    body = []
    for row, _, name, cell in cells_of(rows):
        if "fusions" not in cell:
            continue
        less = f"{cell['bytes_moved_unfused'] / 1e6:.1f} &rarr; {cell['bytes_moved'] / 1e6:.1f}"
        calls = ", ".join(f"{escape(op)} {n}" for op, n in cell.get("run_by_aten", {}).items())
        kinds = "".join(f"<td>{cell['fusions'].get(kind, 0)}" for kind in TYPES)
        body.append(
            f"<tr><td>{escape(row['model'])}<td class=t>{escape(name)}{kinds}"
            f"<td>{cell['intermediates_never_materialised']}<td>{less}<td class=t>{calls}"
        )
    if not body:
        return "<p>No back end of this run keeps a ledger."
    kinds = "".join(f"<th>{kind}" for kind in TYPES)
    head = f"<th>model<th class=t>back end{kinds}<th>never materialised<th>MB moved<th class=t>run by ATen"
    return f"<table><tr>{head}</tr>{''.join(body)}</table>"


def slower(rows: list[dict[str, Any]]) -> str:
    body = []
    for row, _, name, cell in cells_of(rows):
        if cell.get("speedup", 1) < 1:
            top = cell.get("slowest") or {"step": "unknown", "us": 0, "why": ""}
            body.append(
                f"<tr><td>{escape(row['model'])}<td class=t>{escape(name)}<td class=slow>{cell['speedup']:.2f} x"
                f"<td class=t>{escape(top['step'])}<td>{top['us']:.0f}<td class=t>{escape(top['why'])}"
            )
    if not body:
        return "<p>None."
    head = "<th>model<th class=t>back end<th>speed<th class=t>costliest step<th>us<th class=t>decision"
    return f"<table><tr>{head}</tr>{''.join(body)}</table>"


def failures(rows: list[dict[str, Any]]) -> str:
    found = [(row["model"], "all", row["error"]) for row in rows if "error" in row]
    found += [(row["model"], name, cell["error_text"]) for row, _, name, cell in cells_of(rows) if "error_text" in cell]
    if not found:
        return "<p>None."
    body = "".join(f"<tr><td>{escape(m)}<td class=t>{escape(b)}<td class=t>{escape(text)}" for m, b, text in found)
    return f"<table><tr><th>model<th class=t>back end<th class=t>error</tr>{body}</table>"


def cells_of(rows: list[dict[str, Any]]) -> list[tuple[dict[str, Any], int, str, dict[str, Any]]]:
    return [(row, i, name, cell) for row in rows for i, (name, cell) in enumerate(row["backends"].items())]


NOTES = """<h2>How this was measured</h2><p class=note>Latency: all back ends in turn in one process, median. Compile
seconds: from the module to the first result, less one call; cold in a new process with empty caches, warm in another
with the caches that left. Peak of a call: the process's high-water mark above its resident set after a warm-up, when
everything kept for later calls has been given back. Kept resident: what compiling added to the process. Kernels are
compiled by the back end; calls go to libraries or to ATen (eager: ops that compute). Never materialised: results of ops
that live only inside a kernel. Error: the largest difference from a float64 run, also as a part of the largest value.
"""
