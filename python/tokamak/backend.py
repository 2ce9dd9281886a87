"""The back end that `torch.compile(model, backend="tokamak")` finds by its entry point."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd

from . import _ext, splits
from .compiled import CompiledGraph, compile_graph
from .explain import Explanation
from .lowering import registry
from .options import Options
from .partition import partition

aten = torch.ops.aten
_local = threading.local()

KEPT_WHOLE = (
    aten.native_layer_norm, aten.native_group_norm, aten.native_dropout, aten.addmm, aten.convolution, aten._softmax,
    aten._log_softmax, aten._scaled_dot_product_flash_attention_for_cpu,
    aten.native_layer_norm_backward, aten.native_group_norm_backward, aten.native_batch_norm_backward,
    aten._softmax_backward_data, aten._log_softmax_backward_data, aten.logsumexp, aten.std, aten.all,
    aten.silu, aten.mish, aten.hardswish, aten.hardsigmoid, aten.softplus, aten.threshold, aten.hardshrink,
    aten.softshrink, aten._prelu_kernel, aten.log_sigmoid_forward, aten.sigmoid_backward, aten.tanh_backward,
    aten.silu_backward, aten.gelu_backward, aten.mish_backward, aten.hardswish_backward, aten.hardsigmoid_backward,
    aten.hardtanh_backward, aten.threshold_backward, aten.leaky_relu_backward, aten._prelu_kernel_backward,
    aten.elu_backward, aten.softplus_backward, aten.log_sigmoid_backward, aten.frac, aten.addcmul, aten.addcdiv,
    aten.lerp, aten.logaddexp, aten.logaddexp2, aten.xlogy, aten.special_xlog1py, aten.special_entr, aten.sinc,
    aten.logit, aten.logit_backward, aten.heaviside, aten.nan_to_num, aten.isfinite,
    aten.roll, aten.slice_backward, aten.select_backward, aten.embedding_dense_backward, aten._unsafe_index,
    aten._unsafe_index_put,
)  # fmt: skip
"""Ops that are ours, or ATen's, as a whole: the table of decompositions must not take them apart."""


@functools.cache
def decompositions() -> dict:
    table = dict(core_aten_decompositions())
    for packet in KEPT_WHOLE:
        for overload in packet.overloads():
            table.pop(getattr(packet, overload), None)
    return table | splits.DECOMPOSITIONS


@contextlib.contextmanager
def recording() -> Iterator[list[CompiledGraph]]:
    """Collects what is compiled on this thread meanwhile."""
    before = getattr(_local, "graphs", None)
    _local.graphs = graphs = []
    try:
        yield graphs
    finally:
        _local.graphs = before


def compiler(options: Options, kind: str, weights: dict[int, torch.Tensor] | None = None) -> Callable:
    def compile(module: torch.fx.GraphModule, inputs: list[Any]) -> Callable:
        compiled = compile_graph(module, inputs, options, kind, matching(weights or {}, inputs))
        if getattr(_local, "graphs", None) is not None:
            _local.graphs.append(compiled)
        if options.explain:
            _report(options.explain, compiled)
        return boxed(compiled.plan) if kind == "backward" else compiled.plan

    return compile


def matching(weights: dict[int, torch.Tensor], inputs: list[Any]) -> dict[int, torch.Tensor]:
    """The weights that are still arguments at their places: AOTAutograd may merge inputs that share memory."""
    same = all(
        i < len(inputs) and inputs[i].shape == t.shape and inputs[i].dtype == t.dtype for i, t in weights.items()
    )
    return weights if same else {}


def boxed(plan: _ext.Plan) -> Callable:
    """The plan as a function: what wraps the backward pass copies attributes of functions only."""

    def run(args: list[Any]) -> Any:
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
    }  # fmt: skip


PLAIN = (torch.Tensor, torch.nn.Parameter)


def tokamak(module: torch.fx.GraphModule, inputs: list[Any], **kwargs: Any) -> Callable:
    """Compiles what Dynamo captured. Unknown options and wrong values are refused here, before any work."""
    options = Options.of(kwargs.get("options"))
    registry.table()  # a mistake in it is no reason to run anything with ATen
    return aot_autograd(
        fw_compiler=compiler(options, "forward"),
        bw_compiler=compiler(options, "backward"),
        inference_compiler=compiler(options, "inference", weights_of(inputs) if options.freeze else {}),
        partition_fn=partition,
        decompositions=decompositions(),
    )(module, inputs)
