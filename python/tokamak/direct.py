"""Calls without AOTAutograd's wrappers, where those have nothing to do.

Around an inference graph they write mutated inputs back, make views of inputs and bases anew, and switch gradients and
autocast off for what ATen runs. A plan whose graph has none of that is called by Dynamo's code at once, which saves two
to three microseconds a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from . import _ext

PLAIN = (torch.Tensor, torch.nn.Parameter)


class Direct:
    """Sees the graphs that one call of the back end compiles, and says what Dynamo may call in place of AOTAutograd."""

    def __init__(self) -> None:
        self.plans: list[_ext.Plan | None] = []  # None: a graph that needs its wrappers

    def saw(self, plan: Callable, kind: str, count: int, calls: bool) -> None:
        """A plan of a graph with `count` arguments; `calls`: some of its steps are ATen's."""
        bare = kind == "inference" and isinstance(plan, _ext.Plan) and not calls and wrappers_idle(count)
        self.plans.append(plan if bare else None)

    def over(self, wrapped: Callable, module: torch.fx.GraphModule, inputs: list[Any]) -> Callable:
        plan = self.plans[0] if len(self.plans) == 1 else None
        if plan is None or len(inputs) != plan.inputs or not all(map(plain, inputs)):
            return wrapped
        if next(module.parameters(), None) is not None or next(module.buffers(), None) is not None:
            return wrapped  # they come before the arguments
        return _ext.Entry(plan)


def plain(value: Any) -> bool:
    return type(value) in PLAIN or isinstance(value, (int, torch.SymInt))


def wrappers_idle(count: int) -> bool:
    """Whether the graph being compiled changes nothing outside it, and its results are tensors of its own."""
    context = torch._guards.TracingContext.try_get()
    meta = getattr(context, "fw_metadata", None)
    try:
        return (
            len(meta.input_info) == count
            and all(type(m).__name__ == "PlainTensorMeta" for m in meta.subclass_fw_graph_out_meta)
            and not any(i.mutates_data or i.mutates_metadata for i in meta.input_info)
            and not (meta.num_outputs_aliased or meta.num_intermediate_bases or meta.dynamic_outputs)
            and not (meta.tokens or meta.is_rng_op_functionalized or meta.num_graphsafe_rng_states)
        )
    except AttributeError:  # a torch that says it in another way
        return False
