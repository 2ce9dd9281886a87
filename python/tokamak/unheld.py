"""Numbers that the dtype of their op cannot hold. ATen refuses them, or knows what they mean: it runs the op."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

aten = torch.ops.aten

NUMBERS = {
    **dict.fromkeys((aten.clamp.default, aten.hardtanh.default, aten.threshold.default), (1, 2)),
    **dict.fromkeys((aten.hardshrink.default, aten.full.default, aten.full_like.default, aten.fill.Scalar), (1,)),
    aten.pow.Tensor_Scalar: (1,),
    **dict.fromkeys((aten.masked_fill.Scalar, aten.constant_pad_nd.default, aten.new_full.default), (2,)),
    **dict.fromkeys((aten.scatter.value, aten.index_fill.int_Scalar), (3,)),
    **dict.fromkeys((aten.add.Tensor, aten.sub.Tensor), ("alpha",)),
}  # fmt: skip
"""Arguments that become numbers of the result's dtype, by place or name."""
WIDE_NUMBERS = {
    **dict.fromkeys((aten.leaky_relu.default, aten.celu.default), (1,)),
    **dict.fromkeys((aten.elu.default, aten.softplus.default), (1, 2)),
    **dict.fromkeys((aten.addcmul.default, aten.addcdiv.default), ("value",)),
    aten.scalar_tensor.default: (0,), aten.lerp.Scalar: (2,),
}  # fmt: skip
"""The same of ops that compute halves in f32."""


def holds(dtype: torch.dtype, number: Any) -> bool:
    """Whether the number is one of this dtype, rounded. Of `True` for an integer and the like ATen makes one."""
    if dtype.is_complex or not isinstance(number, (int, float)):
        return True
    if dtype.is_floating_point:
        return not math.isfinite(number) or abs(number) <= torch.finfo(dtype).max
    if not math.isfinite(number):
        return False
    if dtype is torch.bool:
        return True
    return torch.iinfo(dtype).min <= int(number) <= torch.iinfo(dtype).max


def unheld(op: Any, args: Any, kwargs: Any, dtype: torch.dtype) -> bool:
    """Whether a number among the arguments does not fit this op of this result."""
    wide = torch.float32 if dtype.is_floating_point and dtype.itemsize == 2 else dtype
    for table, held in ((NUMBERS, dtype), (WIDE_NUMBERS, wide)):
        for at in table.get(op, ()):
            number = kwargs.get(at) if isinstance(at, str) else args[at] if at < len(args) else None
            if not holds(held, number):
                return True
    return False


def why_unheld(node: Node) -> str | None:
    """Why ATen has to run this node, if a number among its arguments does not fit."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not unheld(node.target, node.args, node.kwargs, value.dtype):
        return None
    return f"a number does not fit {str(value.dtype).removeprefix('torch.')}: ATen says what becomes of it"


def left_whole(op: torch._ops.OpOverload, then: Callable) -> Callable:
    """A decomposition that leaves the op as it is where a number does not fit."""

    def decompose(x: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype") or x.dtype
        return NotImplemented if unheld(op, (x, *args), kwargs, dtype) else then(x, *args, **kwargs)

    return decompose


def decompositions(table: dict) -> dict:
    """What replaces these ops' entries in the table."""
    return {op: left_whole(op, table[op]) for op in (*NUMBERS, *WIDE_NUMBERS) if op in table}
