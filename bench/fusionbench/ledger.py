"""What Tokamak's ledger says, in the bench's words. The ledger's JSON is described in docs/fusionbench.md."""

from __future__ import annotations

from collections import Counter
from typing import Any

TENSOR = {"matmul", "conv", "attention"}
FOLDS = {"reduce", "scan", "arg_reduce", "variance", "pool"}
FREE = {"full", "iota", "broadcast", "reshape", "transpose", "slice"}
"""Ops that only say where values are read from."""
TYPES = ("pointwise", "reduction", "tensor + element", "tensor + element + tensor")


def facts(graphs: list[dict[str, Any]]) -> dict[str, Any]:
    segments = [s for g in graphs for s in g["segments"]]
    called = sum(c.get("bytes", 0) for g in graphs for c in g["calls"])
    fusions, never = Counter(dict.fromkeys(TYPES, 0)), 0
    for segment in segments:
        ops = op_names(segment)
        for kernel in segment["kernels"]:
            if kind := fusion_type(kernel, ops):
                fusions[kind] += 1
            never += sum(ops.get(v) not in FREE for v in kernel["ops"]) - len(kernel["outputs"])
    return {
        "kernels": sum(g["kernels"] for g in graphs),
        "calls": sum(len(g["calls"]) for g in graphs),
        "segments": len(segments),
        "steps": sum(g["steps"] for g in graphs),
        "fusions": dict(fusions),
        "intermediates_never_materialised": max(never, 0),
        "bytes_moved": total(segments, "fused_bytes") + called,
        "bytes_moved_unfused": total(segments, "unfused_bytes") + called,
        "run_by_aten": dict(Counter(c["op"] for g in graphs for c in g["calls"])),
    }


def total(segments: list[dict[str, Any]], key: str) -> float:
    return sum(s["summary"][key] for s in segments)


def op_names(segment: dict[str, Any]) -> dict[str, str]:
    """The op of every value that is on an edge."""
    names = {e["producer"]: e["producer_op"] for e in segment["edges"]}
    return names | {e["consumer"]: e["consumer_op"] for e in segment["edges"]}


def fusion_type(kernel: dict[str, Any], ops: dict[str, str]) -> str | None:
    """The kind of fusion a kernel is, by the ops in it; None if it computes one op."""
    names = [ops.get(v, kernel["kind"]) for v in kernel["ops"]]
    computing = [n for n in names if n not in FREE]
    tensors = sum(n in TENSOR for n in computing)
    if tensors > 1:
        return "tensor + element + tensor"
    if len(computing) < 2:
        return None
    if tensors:
        return "tensor + element"
    return "reduction" if any(n in FOLDS for n in computing) else "pointwise"


def slowest(graphs: list[tuple[dict[str, Any], list[list[tuple[str, int, int]]]]]) -> dict[str, Any] | None:
    """The step that costs most. Each graph comes with the timings of some calls: [(step, nanoseconds, bytes), ...]."""
    best: dict[str, Any] | None = None
    for graph, timings in graphs:
        if not timings:
            continue
        for entries in zip(*timings, strict=True):
            name, us = entries[0][0], min(ns for _, ns, _ in entries) / 1e3
            if best is None or us > best["us"]:
                best = {"step": name, "us": us, "why": why(graph, name)}
    return best


def why(graph: dict[str, Any], step: str) -> str:
    """The reason for a step: of a call, why ATen runs it; of a kernel, the costliest cut beside it."""
    for call in graph["calls"]:
        if call["op"] == step:
            return f"ATen runs it: {call['reason']}"
    for segment in graph["segments"]:
        for kernel in segment["kernels"]:
            if kernel["name"] == step:
                return f"{kernel['schedule']}{cut_beside(segment, kernel)}"
    return "a view or a library's own step"


def cut_beside(segment: dict[str, Any], kernel: dict[str, Any]) -> str:
    inside = set(kernel["ops"])
    cuts = [
        e for e in segment["edges"]
        if e["decision"] == "cut" and (e["producer"] in inside) != (e["consumer"] in inside)
    ]  # fmt: skip
    if not cuts:
        return ""
    worst = max(cuts, key=lambda e: e["bytes"])
    return f"; {worst['producer_op']} -> {worst['consumer_op']} cut by {worst['rule']}: {worst['reason']}"
