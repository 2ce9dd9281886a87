"""`mode="reduce-overhead"`: a plan recorded as a CUDA graph and replayed.

Torch's own trees of CUDA graphs do the recording: they keep one memory pool for forward and backward, copy inputs whose
addresses change, record anew for other sizes and moved weights, and know what is still alive. What is recorded is the
whole plan: our kernels, library calls and ATen's steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def captured(plan: Callable, module: torch.fx.GraphModule, inputs: list[Any], kind: str) -> tuple[Callable, str | None]:
    """What to call instead of the plan, or the plan itself and why it cannot be recorded."""
    try:
        from torch._dynamo.backends import cudagraphs as torch_graphs
        from torch._inductor.cudagraph_trees import cudagraphify_impl
        from torch._inductor.cudagraph_utils import get_placeholder_info
    except ImportError as error:
        return plan, f"this torch has no trees of CUDA graphs: {error}"
    static = static_inputs(module, kind)
    if reason := torch_graphs.check_for_skip(module, len(static)):
        return plan, reason
    record = cudagraphify_impl(
        plan,
        inputs,
        static,
        device_index=torch_graphs.get_device_index(module),
        is_backward=kind == "backward",
        is_inference=kind == "inference",
        stack_traces=torch_graphs.get_stack_traces(module),
        placeholders=get_placeholder_info(module.graph),
        mutated_input_idxs=tuple(sorted(torch_graphs.find_input_mutations(module.graph))),
    )
    return record, None


def static_inputs(module: torch.fx.GraphModule, kind: str) -> list[int]:
    """Arguments whose addresses stay: weights, and for the backward pass what the forward pass saved."""
    if kind == "backward":
        from torch._inductor.utils import count_tangents

        return list(range(count_tangents(module)))
    context = torch._guards.TracingContext.try_get()
    metadata = context.fw_metadata if context else None
    return list(getattr(metadata, "static_input_indices", None) or [])
