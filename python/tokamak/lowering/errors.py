"""What eager raises on the CPU where an index is wrong: it depends on the op that the program wrote."""

from __future__ import annotations

import torch
from torch.fx import Node

from tokamak.importer.dims import Dim

aten = torch.ops.aten

ANY_INDEX = (aten.gather, aten.scatter, aten.scatter_add, aten.scatter_reduce)  # all checks are RuntimeErrors
IN_SELF = (aten.embedding, aten.index_select, aten.index_add)
FROM_ZERO = (aten.index_add, aten.index_copy)  # written by index_put, which also counts from the end
LOSSES = (aten.nll_loss_forward, aten.nll_loss2d_forward)


def written_op(node: Node) -> torch._ops.OpOverloadPacket:
    """The op of the program; what was taken apart remembers it."""
    op = node.meta.get("original_aten") or node.target
    return getattr(op, "overloadpacket", op)


def wrong_index(node: Node, rank: int, axis: int, size: Dim) -> tuple[type, str]:
    """The exception and the message for indices along an axis of this size of a tensor of this rank."""
    op = written_op(node)
    name = op.__name__
    if op in LOSSES:
        return IndexError, f"{name}: a target is out of bounds, there are {size} classes"
    kind = IndexError
    if op in ANY_INDEX or (op is aten.index_select and rank > 1 and axis == 1) or (op is aten.index_add and rank > 1):
        kind = RuntimeError
    if op in IN_SELF and kind is IndexError:
        return kind, f"{name}: index out of range in self"
    return kind, f"{name}: an index is out of bounds for dimension {axis} with size {size}"
