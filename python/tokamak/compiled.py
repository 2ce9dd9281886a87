"""One ATen graph compiled: the plan that runs it and what there is to say about it."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import html
import json
import logging
import os
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from . import _ext
from .conv_biases import split_biases
from .decompositions import HALVES
from .engine import engine
from .host_numbers import take_in
from .importer.entries import Refusal
from .importer.graph import Importer
from .importer.tensors import device_of
from .odd_products import split_products
from .options import Options
from .picked_logs import pick_logs
from .pixel_convs import make_products
from .repeated import share_repeated
from .rounded_terms import round_compared
from .tied_weights import add_in_place

log = logging.getLogger("tokamak")

CHANGES = 3  # a frozen weight that changed this often is read as an ordinary input from then on


@dataclasses.dataclass
class CompiledGraph:
    """What compiling one graph gave. `plan` is what AOTAutograd calls."""

    name: str
    plan: _ext.Plan
    executables: list[_ext.Executable]
    refusals: list[Refusal]
    steps: int
    timings: list[list[tuple[str, int, int]]] = dataclasses.field(default_factory=list)

    def timed(self, args: list[Any]) -> Any:
        """Runs the plan and notes of every step what it is, its nanoseconds and its predicted bytes."""
        results, steps = self.plan.profile(args)
        self.timings.append(steps)
        return results

    @property
    def kernels(self) -> int:
        return sum(len(e.kernels()) for e in self.executables)

    def json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kernels": self.kernels,
            "steps": self.steps,
            "segments": [json.loads(e.json()) for e in self.executables],
            "calls": [dataclasses.asdict(r) for r in self.refusals],
        }

    def title(self) -> str:
        """`forward: 2 segments, 3 kernels, 1 call of ATen`; a segment is what is compiled as one graph."""
        counts = [(len(self.executables), "segment"), (self.kernels, "kernel"), (len(self.refusals), "call")]
        parts = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts]
        return f"{self.name}: {', '.join(parts)} of ATen"

    def table(self) -> str:
        lines = [self.title()]
        lines += [e.table() for e in self.executables]
        lines += [f"  ATen runs {r.op} ({r.node}): {r.reason}" for r in self.refusals]
        return "\n".join(lines)

    def html(self) -> str:
        """One page: what ATen runs, and each segment's own page inside."""
        rows = "".join(
            f"<tr><td>{html.escape(r.node)}</td><td>{html.escape(r.op)}</td><td>{html.escape(r.reason)}</td></tr>"
            for r in self.refusals
        )
        calls = f"<table><tr><th>node</th><th>run by ATen</th><th>why</th></tr>{rows}</table>" if rows else ""
        parts = "".join(
            f'<iframe style="width:100%;height:90vh;border:1px solid #ccc" srcdoc="{html.escape(e.html())}"></iframe>'
            for e in self.executables
        )
        return f"<h2>{html.escape(self.title())}</h2>{calls}{parts}"


def compile_graph(
    module: torch.fx.GraphModule,
    inputs: list[Any],
    options: Options,
    kind: str,
    weights: dict[int, torch.Tensor] | None = None,
) -> CompiledGraph:
    """Compiles; `weights` are arguments to take as constants."""
    share_repeated(module)
    module.graph.eliminate_dead_code()
    if kind == "inference":  # what is trained was marked before it was parted
        round_compared(module)
    take_in(module)
    make_products(module)
    split_biases(module)
    split_products(module)
    pick_logs(module)
    add_in_place(module)
    if weights:
        frozen = Frozen(lambda taken: compile_once(module, inputs, options, kind, taken), weights)
        compiled = frozen.compile(weights)
        compiled.plan.guard(frozen.watch, frozen.changed)
        return compiled
    return compile_once(module, inputs, options, kind, {})


def compile_once(
    module: torch.fx.GraphModule, inputs: list[Any], options: Options, kind: str, frozen: dict[int, torch.Tensor]
) -> CompiledGraph:
    round_each = options.round_each(kind, device_of(module))
    banned = rounded_inside(module) if round_each else {}
    has_products = device_of(module).type == "cuda" and not engine(options.cache).why_no_products()
    while True:
        importer = Importer(module, kind, frozen, banned, round_each, has_products)
        importer.run()
        for problem in importer.problems:
            complain(options, problem)
        try:
            return assemble(importer, len(inputs), options, kind)
        except RegionFailed as failure:
            complain(options, failure.message)
            banned.update(dict.fromkeys(failure.nodes, failure.reason))


def rounded_inside(module: torch.fx.GraphModule) -> dict[torch.fx.Node, str]:
    """Nodes that no fused kernel rounds as eager does, and why."""
    reason = "eager sums the gradients of a layer norm's parameters in half precision, row by row"
    norms = module.graph.find_nodes(op="call_function", target=torch.ops.aten.native_layer_norm_backward.default)

    def in_halves(norm: torch.fx.Node) -> bool:  # those of parameters in f32 are summed in f32
        x, weight = norm.args[1], norm.args[5]
        wide = weight is not None and weight.meta["val"].dtype not in HALVES
        return x.meta["val"].dtype in HALVES and not wide and any(norm.args[-1][1:])

    return {norm: reason for norm in norms if in_halves(norm)}


class RegionFailed(Exception):
    def __init__(self, nodes: list[torch.fx.Node], reason: str, message: str):
        super().__init__(message)
        self.nodes, self.reason, self.message = nodes, reason, message


def assemble(importer: Importer, count: int, options: Options, kind: str) -> CompiledGraph:
    levels = range(max([-1, *importer.segments, *importer.before, *importer.after]) + 1)
    executables = compile_segments(importer, [level for level in levels if importer.writes.get(level)], options)
    steps = []
    for level in levels:
        steps += importer.before.get(level, [])
        if level in executables:
            steps.append(("run", executables[level], importer.reads[level], importer.writes[level]))
        steps += importer.after.get(level, [])
    growth = importer.module.meta.get("growth", "free")
    plan = _ext.Plan(importer.values, count, steps, importer.outputs, importer.constants, growth)
    return CompiledGraph(kind, plan, list(executables.values()), importer.refusals, len(steps))


def compile_segments(importer: Importer, levels: list[int], options: Options) -> dict[int, _ext.Executable]:
    """At the same time, but for plans that are timed: those want the machine for themselves."""
    workers = 1 if options.tune else min(len(levels), len(os.sched_getaffinity(0)))
    if workers <= 1:
        return {level: compile_segment(importer, level, options) for level in levels}
    with ThreadPoolExecutor(workers, "tokamak-compile") as pool:
        compiled = [pool.submit(compile_segment, importer, level, options) for level in levels]
        return {level: executable.result() for level, executable in zip(levels, compiled, strict=True)}


def compile_segment(importer: Importer, level: int, options: Options) -> _ext.Executable:
    graph = importer.segments[level].graph
    try:
        return engine(options.cache).compile(
            graph,
            importer.hints,
            eager_rounding=importer.round_each,
            use_cache=options.cache,
            tune=options.tune,
            device=importer.device.index if importer.device.type == "cuda" else -1,
        )
    except (_ext.Error, RuntimeError) as error:
        reason = "; ".join(line.strip() for line in str(error).splitlines())
        path = save_repro(graph.text(), importer.hints)
        command = f"tokamak repro {path}" + (" --device cuda" if importer.device.type == "cuda" else "")
        message = f"tokamak could not compile a region ({reason}); ATen runs it. To see it again: {command}"
        raise RegionFailed(importer.lowered[level], f"its region failed to compile: {reason}", message) from error


def save_repro(text: str, sizes: dict[str, int]) -> str:
    """Saves a program with the sizes it was compiled for; returns its path."""
    if sizes:
        text = f"// sizes: {','.join(f'{name}={size}' for name, size in sizes.items())}\n{text}"
    folder = os.path.join(_ext.cache_folder(), "repro")
    path = os.path.join(folder, hashlib.sha256(text.encode()).hexdigest()[:12] + ".tk")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        return f"(the program could not be saved: {error})"
    return path


@functools.cache
def warn_once(message: str) -> None:
    warnings.warn(message, stacklevel=2)


def complain(options: Options, message: str) -> None:
    if options.fallback == "error":
        raise _ext.Error(message)
    log.info(message)
    if options.fallback == "warn":
        warn_once(message)


def watch_on(weights: dict[int, torch.Tensor]) -> _ext.Watch:
    with unset_fake_temporarily():  # the first time torch is still tracing
        return _ext.Watch(weights)


class Frozen:
    """Weights taken as constants. A change compiles the graph anew; what keeps changing becomes an input.

    The first plan is AOTAutograd's to hold and holds this object, not the other way round: nothing here outlives it.
    """

    def __init__(self, compile: Callable[[dict[int, torch.Tensor]], CompiledGraph], weights: dict[int, torch.Tensor]):
        self.compile, self.lock = compile, threading.Lock()
        self.changes = dict.fromkeys(weights, 0)
        self.watch = watch_on(weights)
        self.plan: _ext.Plan | None = None  # of the weights as they are since the first change

    def changed(self, args: list[Any]) -> Any:
        with self.lock:
            stale = self.watch.changed(args)
            for i in stale:
                self.changes[i] += 1
            if stale or self.plan is None:
                taken = {i: args[i] for i, n in self.changes.items() if n < CHANGES and not args[i].is_inference()}
                watch = watch_on(taken)
                self.plan, self.watch = self.compile(taken).plan, watch
            plan = self.plan
        return plan(args)
