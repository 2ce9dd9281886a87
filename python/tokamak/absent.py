"""Ops of dtypes for which ATen has no kernel on the CPU. It is left to refuse them, in its own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

aten = torch.ops.aten

BOOL = {torch.bool}
WHOLE = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
ABSENT = {
    **dict.fromkeys((aten.abs, aten.floor, aten.ceil, aten.round, aten.trunc, aten.relu, aten.argmax), BOOL),
    **dict.fromkeys((aten.argmin, aten.threshold, aten.addcmul, aten.mm, aten.bmm, aten.addmm, aten.dot), BOOL),
    **dict.fromkeys((aten.mv, aten.addmv, aten.vdot, aten.linalg_cross, aten.reflection_pad1d), BOOL),
    **dict.fromkeys((aten.frac, aten.celu, aten.lerp, aten.huber_loss, aten.smooth_l1_loss), WHOLE),
    **dict.fromkeys((aten.binary_cross_entropy, aten.hardshrink, aten.glu), WHOLE),
}
"""By the dtype of their first operand; `lacks` knows more."""


def lacks(op: Any, args: Any) -> bool:
    """Whether ATen has no kernel for this op of these operands, tensors or numbers."""
    tensors = [a for a in args if isinstance(a, torch.Tensor)]
    if not tensors or tensors[0].device.type != "cpu":
        return False
    dtypes = [a.dtype if isinstance(a, torch.Tensor) else type(a) for a in args]
    if op in (aten.sub, aten.rsub):
        return torch.bool in dtypes[:2] or bool in dtypes[:2]
    if op is aten.pow:
        return set(dtypes) <= {torch.bool, bool} and dtypes[1] is not bool
    if op is aten.heaviside:
        return len(set(dtypes)) > 1
    if op is aten.ldexp:
        return dtypes[0] not in WHOLE and dtypes[1] is torch.bool
    return dtypes[0] in ABSENT.get(op, ())


def why_absent(node: Node) -> str | None:
    """Why ATen has to run this node of the program, if it lacks a kernel for it."""
    op = getattr(node.target, "overloadpacket", None)
    written = node.meta.get("original_aten") or node.target
    if getattr(written, "overloadpacket", None) is not op:
        return None
    args = torch.fx.map_arg(node.args, lambda n: n.meta.get("val"))
    return "ATen has no kernel for its dtype, and raises" if lacks(op, args) else None


def left_whole(op: torch._ops.OpOverload, then: Callable) -> Callable:
    """A decomposition that leaves what ATen refuses as it is."""

    def decompose(*args: Any, **kwargs: Any) -> Any:
        return NotImplemented if lacks(op.overloadpacket, args) else then(*args, **kwargs)

    return decompose


def decompositions(table: dict) -> dict:
    """What replaces these ops' entries in the table."""
    packets = {aten.rsub, *ABSENT}
    return {op: left_whole(op, then) for op, then in table.items() if getattr(op, "overloadpacket", None) in packets}
