"""The back end that `torch.compile(model, backend="tokamak")` finds by its entry point."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd

from .collector import at_rest
from .compiled import CompiledGraph, compile_graph, complain
from .cuda_graphs import captured
from .decompositions import decompositions
from .direct import PLAIN, Direct
from .explain import Explanation
from .importer.calls import NEW_DATA
from .importer.tensors import device_of
from .lowering import registry
from .masks import ease_masks
from .options import Options
from .partition import partition
from .registered import allow_again
from .unread import keep_unread_checks

is_batch = torch._C._functorch.is_legacy_batchedtensor

_local = threading.local()


@contextlib.contextmanager
def recording(timed: bool = False) -> Iterator[list[CompiledGraph]]:
    """Collects what is compiled on this thread meanwhile; if `timed`, every call of it times its steps."""
    before = getattr(_local, "graphs", None), getattr(_local, "timed", False)
    _local.graphs, _local.timed = graphs, _ = [], timed
    try:
        yield graphs
    finally:
        _local.graphs, _local.timed = before


def compiler(options: Options, kind: str, direct: Direct, weights: dict[int, torch.Tensor] | None = None) -> Callable:
    @at_rest()
    def compile(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable:
        written = module.forward  # the code as it is before the graph is rewritten
        compiled = compile_graph(module, inputs, options, kind, matching(weights or {}, inputs))
        if getattr(_local, "graphs", None) is not None:
            _local.graphs.append(compiled)
        if options.explain:
            _report(options.explain, compiled)
        plan = compiled.plan
        if getattr(_local, "timed", False):
            plan = boxed(compiled.timed)
        if options.capture and device_of(module).type == "cuda":
            plan, reason = captured(plan, module, inputs, kind)
            if reason:
                complain(options, f"tokamak runs a {kind} graph without a CUDA graph: {reason}")
        direct.saw(plan, kind, len(inputs), len(compiled.executables) < compiled.steps)
        if kind == "backward":
            return boxed(plan, written)
        return boxed(plan) if plan is not compiled.plan else plan

    return compile


def matching(weights: dict[int, torch.Tensor], inputs: list[Any]) -> dict[int, torch.Tensor]:
    """The weights that are still arguments at their places: AOTAutograd may merge inputs that share memory."""
    same = all(
        i < len(inputs) and inputs[i].shape == t.shape and inputs[i].dtype == t.dtype for i, t in weights.items()
    )
    return weights if same else {}


def boxed(plan: Callable[[list[Any]], Any], mapped: Callable | None = None) -> Callable:
    """The plan as a function: what wraps the backward pass copies attributes of functions only. Under vmap, which
    `torch.autograd.grad(is_grads_batched=True)` uses, tensors have no memory and `mapped` runs in its place."""

    def run(args: list[Any]) -> Any:
        if mapped is not None and any(isinstance(a, torch.Tensor) and is_batch(a) for a in args):
            return mapped(*args)
        return plan(args)

    run._boxed_call = True
    return run


_reports: dict[str, Explanation] = {}


def _report(path: str, compiled: CompiledGraph) -> None:
    """Every graph of the process that reports to one path is on its page."""
    explanation = _reports.setdefault(os.path.abspath(path), Explanation())
    explanation.graphs.append(compiled)
    explanation.save(path)


def weights_of(inputs: list[Any]) -> dict[int, torch.Tensor]:
    """Arguments that Dynamo knows as parameters and buffers of a module."""
    return {
        i: t for i, t in enumerate(inputs)
        if isinstance(t, torch.Tensor) and getattr(t, "_dynamo_static_input_type", None) and type(t) in PLAIN
        and not t.is_inference()  # its changes are not counted
    }  # fmt: skip


def assigns_data(module: torch.fx.GraphModule) -> bool:
    """Whether an input is given other data, `x.data = y`, which AOTAutograd allows only inside the graph."""
    return any(n.op == "call_function" and n.target in (torch.Tensor.set_, NEW_DATA) for n in module.graph.nodes)


@at_rest()
def tokamak(module: torch.fx.GraphModule, inputs: list[Any], **kwargs: Any) -> Callable:
    """Compiles what Dynamo captured. Unknown options and wrong values are refused here, before any work."""
    options = Options.of(kwargs.get("options"), kwargs.get("mode"))
    registry.table()  # a mistake in it is no reason to run anything with ATen
    ease_masks(module)
    keep_unread_checks(module)
    direct = Direct()
    wrapped = aot_autograd(
        fw_compiler=compiler(options, "forward", direct),
        bw_compiler=compiler(options, "backward", direct),
        inference_compiler=compiler(options, "inference", direct, weights_of(inputs) if options.freeze else {}),
        partition_fn=partition,
        decompositions=decompositions(),
        keep_inference_input_mutations=assigns_data(module),
    )(module, inputs)
    return direct.over(wrapped, module, inputs)


allow_again(tokamak)
