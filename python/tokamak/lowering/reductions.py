"""Folds over axes."""

from __future__ import annotations

import torch

from .pointwise import narrowed, widened
from .registry import Context, Unsupported, Value, lowers

aten = torch.ops.aten


def axes_of(x: Value, dim) -> list[int]:
    """The axes as torch means them: none or an empty list is all, negative ones count from the end."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(x.rank))
    dims = [dim] if isinstance(dim, int) else list(dim)
    return sorted({d % max(1, x.rank) for d in dims}) if x.rank else []


@lowers(aten.sum.dim_IntList, aten.sum.default)
def sum(c: Context, x: Value, dim=None, keepdim: bool = False, *, dtype=None) -> Value:
    out = c.dtype
    x = c.b.cast(x, out)
    axes = axes_of(x, dim)
    return c.b.reduce("sum", x, axes, keepdim) if axes else x


@lowers(aten.mean.dim, aten.mean.default)
def mean(c: Context, x: Value, dim=None, keepdim: bool = False, *, dtype=None) -> Value:
    x = c.b.cast(x, c.dtype)
    axes = axes_of(x, dim)
    return c.b.reduce("mean", x, axes, keepdim) if axes else x


@lowers(aten._softmax.default, aten._log_softmax.default)
def softmax(c: Context, x: Value, dim: int, half_to_float: bool) -> Value:
    log = ", log = true" if c.node.target is aten._log_softmax.default else ""
    x = c.b.cast(x, c.dtype)
    if x.rank == 0:
        return c.b.reshape(c.b.op("softmax", [c.b.reshape(x, [1])], f"axis = 0{log}"), [])
    return c.b.op("softmax", [x], f"axis = {dim % x.rank}{log}")


@lowers(aten.native_layer_norm.default)
def layer_norm(c: Context, x: Value, shape, weight, bias, eps: float):
    axes = list(range(x.rank - len(shape), x.rank))
    w = widened(c, x)
    mean = c.b.reduce("mean", w, axes, True)
    var = c.b.reduce("var", w, axes, True)
    inv = c.b.unary("rsqrt", c.b.add(var, eps))
    y = c.b.mul(c.b.sub(w, mean), inv)
    if weight is not None:
        y = c.b.mul(y, widened(c, weight))
    if bias is not None:
        y = c.b.add(y, widened(c, bias))
    stats = "f32" if c.fake[1].dtype == torch.float32 else None
    mean, inv = (narrowed(c, v, x.dtype) if stats is None else v for v in (mean, inv))
    return narrowed(c, y, x.dtype), mean, inv
