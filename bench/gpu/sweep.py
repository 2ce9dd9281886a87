"""Times fused functions on a GPU against eager PyTorch and other back ends of torch.compile, interleaved.

    python bench/gpu/sweep.py [--backends inductor,tokamak] [--cases REGEX] [--json OUT] [--list]

Every function is recorded as a CUDA graph and replayed with the second-level cache flushed, so that the time is the
device's alone. `copy` is a device copy of the bytes that the function cannot avoid, measured the same way in the same
run. Results are held against float64: a back end that is less exact than eager by more than a tenth is a failed row.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys

import torch
from cases import Case, all_cases


def recorded(function, *, leaves=(), gradient=None) -> torch.cuda.CUDAGraph:
    def once():
        if gradient is None:
            return function()
        out = function()
        return torch.autograd.grad(out, leaves, gradient)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            once()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        graph.kept = once()
    return graph


class Flush:
    """Writes over the second-level cache."""

    def __init__(self):
        self.memory = torch.empty(256 << 20, dtype=torch.int8, device="cuda")

    def time(self, graph: torch.cuda.CUDAGraph, repeats: int) -> float:
        starts = [torch.cuda.Event(enable_timing=True) for _ in range(repeats)]
        ends = [torch.cuda.Event(enable_timing=True) for _ in range(repeats)]
        for start, end in zip(starts, ends, strict=True):
            self.memory.zero_()
            start.record()
            graph.replay()
            end.record()
        torch.cuda.synchronize()
        return statistics.median(s.elapsed_time(e) for s, e in zip(starts, ends, strict=True))


def flat(result) -> list[torch.Tensor]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def results(function, arguments, gradient):
    """What the function gives, or the gradients of its floating arguments."""
    if gradient is None:
        return flat(function(*arguments))
    leaves = [a.detach().requires_grad_() if a.is_floating_point() else a for a in arguments]
    out = function(*leaves)
    return list(torch.autograd.grad(out, [a for a in leaves if a.requires_grad], gradient.to(out.dtype)))


def worst(got, exact) -> float:
    return max(float((g.double() - e).abs().max()) if g.numel() else 0.0 for g, e in zip(got, exact, strict=True))


def measure(case: Case, backends: list[str], flush: Flush, repeats: int) -> dict:
    torch.manual_seed(0)
    arguments = case.make()
    row: dict = {"case": case.name, "bytes": case.bytes, "failed": []}
    out = case.function(*arguments)
    gradient = torch.randn_like(out) if case.backward else None
    allowed, exact = math.inf, None
    if case.exact:
        exact = results(case.function, [a.double() if a.is_floating_point() else a for a in arguments], gradient)
        allowed = 1.1 * worst(results(case.function, arguments, gradient), exact) + 1e-6
    leaves = [a.requires_grad_() for a in arguments if a.is_floating_point()] if case.backward else []
    if case.backward:
        arguments = tuple(arguments)
    half = torch.empty(max(1, case.bytes // 2), dtype=torch.int8, device="cuda")
    target = torch.empty_like(half)
    runs = {"copy": recorded(lambda: target.copy_(half))}
    functions = {"eager": case.function}
    for name in backends:
        torch._dynamo.reset()
        functions[name] = torch.compile(case.function, backend=name)
        if exact is not None:
            error = worst(results(functions[name], [a.detach() for a in arguments], gradient), exact)
            if not error <= allowed:
                row["failed"].append(f"{name}: error {error:.3g}, allowed {allowed:.3g}")
    for name, function in functions.items():
        runs[name] = recorded(lambda f=function: f(*arguments), leaves=leaves, gradient=gradient)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(3):
        for name, graph in runs.items():
            times[name].append(flush.time(graph, repeats))
    row |= {name: statistics.median(values) for name, values in times.items()}
    return row


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", default="inductor,tokamak")
    parser.add_argument("--cases", default="", help="only cases whose name matches")
    parser.add_argument("--repeats", type=int, default=15, help="replays a round; there are three rounds")
    parser.add_argument("--json", help="where to write every row")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    options = parser.parse_args()
    chosen = [c for c in all_cases() if re.search(options.cases, c.name)]
    if options.list:
        print("\n".join(f"{c.name:60s} {c.bytes / 1e6:9.1f} MB" for c in chosen))
        return 0
    backends = [b for b in options.backends.split(",") if b]
    flush, rows = Flush(), []
    for case in chosen:
        try:
            row = measure(case, backends, flush, options.repeats)
        except Exception as error:  # a failing case is a row
            row = {"case": case.name, "bytes": case.bytes, "failed": [f"{type(error).__name__}: {error}"[:300]]}
        rows.append(row)
        shown = " ".join(f"{k} {row[k] * 1e3:9.1f}" for k in ("copy", "eager", *backends) if k in row)
        print(f"{case.name:60s} {shown} us {'; '.join(row['failed'])}", flush=True)
        torch.cuda.empty_cache()
    complete = [r for r in rows if all(b in r for b in ("copy", *backends))]
    for name in backends if complete else []:
        of_copy = [r["copy"] / r[name] for r in complete]
        print(f"{name}: {mean(of_copy):.2f} of the copy, lowest {min(of_copy):.2f}")
        for other in ("eager", *backends):
            if other != name:
                ratios = [r[other] / r[name] for r in complete]
                low = complete[ratios.index(min(ratios))]["case"]
                print(f"  {mean(ratios):.2f} times {other}, lowest {min(ratios):.2f} ({low})")
    if options.json:
        with open(options.json, "w") as out:
            json.dump(rows, out, indent=1)
    return 1 if any(r["failed"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
