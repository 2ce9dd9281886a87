"""What a plan calls for an op that ATen runs, where that is not the op itself."""

from __future__ import annotations

import types
from typing import Any

import torch

aten = torch.ops.aten


def batch_norm_with_update(x: torch.Tensor, *args: Any) -> tuple[torch.Tensor, ...]:
    """The new statistics as torch's tracing promises them: f32 for halves, where ATen keeps the dtype it was given."""
    *results, mean, var = aten._batch_norm_with_update_functional.default(x, *args)
    if x.dtype in (torch.float16, torch.bfloat16):
        mean, var = mean.float(), var.float()
    return (*results, mean, var)


FAST = {
    aten.mm.default: torch.mm, aten.bmm.default: torch.bmm, aten.addmm.default: torch.addmm,
    aten.convolution.default: torch.convolution, aten.permute.default: torch.permute,
    aten.reshape.default: torch.reshape, aten.transpose.int: torch.transpose, aten.select.int: torch.select,
    aten.unsqueeze.default: torch.unsqueeze, aten.t.default: torch.t,
    aten._batch_norm_with_update_functional.default: batch_norm_with_update,
}  # fmt: skip
"""Most are the same functions, bound so that a call costs half as much."""


NEW_DATA = getattr(aten, "shallow_copy_data_", None)
"""`x.data = y` for a torch after 2.13; before it is `set_`."""
WRITES = (aten.set_.source_Tensor, aten.copy_.default, *([NEW_DATA.default] if NEW_DATA else ()))
"""What changes an input, where AOTAutograd leaves that to the graph."""


def mutates(target: Any) -> bool:
    return not isinstance(target, torch._ops.OpOverload) or target._schema.is_mutable


def gives_view(target: Any) -> bool:
    """Whether an op's result shares the memory of an operand."""
    if mutates(target):
        return False
    return any(result.alias_info is not None for result in target._schema.returns)


def op_name(target: Any) -> str:
    return target.__name__ if isinstance(target, types.FunctionType) else str(target)


def has_effect(target: Any) -> bool:
    """Whether calls of this op must keep their order: random numbers, collectives, assertions."""
    if not isinstance(target, torch._ops.OpOverload):
        return isinstance(target, torch._ops.HigherOrderOperator)
    return torch.Tag.nondeterministic_seeded in target.tags or target.namespace in (
        "c10d_functional",
        "_c10d_functional",
    )


def is_function(target: Any) -> bool:
    """Whether an op of ATen gives the same of the same arguments, and does nothing else."""
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        return False
    unset = "empty" in target._schema.name  # gives whatever was in memory
    return not (target._schema.is_mutable or torch.Tag.nondeterministic_seeded in target.tags or unset)
