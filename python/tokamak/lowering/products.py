"""Matrix products, convolutions, attention: the library's, with what follows fused in by the planner."""

from __future__ import annotations

import torch

from .registry import Context, Value, lowers

aten = torch.ops.aten


@lowers(aten.mm.default, aten.bmm.default)
def mm(c: Context, a: Value, b: Value) -> Value:
    return c.b.matmul(a, b)


@lowers(aten.addmm.default)
def addmm(c: Context, bias: Value, a: Value, b: Value, *, beta=1, alpha=1) -> Value:
    if beta == 1 and alpha == 1 and bias.rank == 1 and bias.shape[0] == c.shape[1] and bias.shape[0] != 1:
        return c.b.matmul(a, b, bias)
    out = c.b.matmul(a, b) if alpha != 0 else c.b.full(0, c.dtype, c.shape)  # which what is not finite leaves alone
    if alpha not in (0, 1):
        out = c.b.mul(out, alpha)
    if beta == 0:
        return out
    return c.b.add(out, c.b.mul(bias, beta) if beta != 1 else bias)
