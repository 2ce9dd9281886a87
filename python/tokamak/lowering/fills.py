"""Tensors made of nothing: filled, counted."""

from __future__ import annotations

from typing import Any

import torch

from tokamak.importer.dims import memory_order
from tokamak.importer.segment import INTEGERS
from tokamak.unread import REACHED

from .algebra import converted
from .registry import Context, Extent, Unsupported, Value, lowers

aten = torch.ops.aten


def number(c: Context, x: Any, dtype: str) -> Value:
    """A number or a size as a scalar of this dtype."""
    if isinstance(x, Extent):
        return c.b.cast(c.b.size(x.dim), dtype)
    if not isinstance(x, (bool, int, float)):
        raise Unsupported("the value is complex" if isinstance(x, complex) else "the value is a tensor")
    return c.b.full(c.scalar(x, dtype), dtype)


@lowers(aten.full.default, aten.full_like.default, free=True)
def full(c: Context, shape: Any, value: Any, **kwargs: Any) -> Value:
    return c.b.broadcast_to(number(c, value, c.dtype), c.shape)


@lowers(aten.scalar_tensor.default, free=True)
def scalar_tensor(c: Context, value: Any, **kwargs: Any) -> Value:
    return number(c, value, c.dtype)


@lowers(
    aten.empty.memory_format,
    aten.empty_permuted.default,
    aten.empty_strided.default,
    aten.new_empty_strided.default,
    free=True,
)
def empty(c: Context, *args: Any, **kwargs: Any) -> Value:
    """Memory without contents; zeros cost nothing where they are not read."""
    if memory_order(c.fake) is None:
        raise Unsupported("its memory has gaps or overlaps")
    results = [user.op == "output" for user in c.node.users]
    if all(results) or (0 in c.shape and any(results)):
        raise Unsupported("nothing fills it: an `out=` that is resized later, which only ATen's own memory can be")
    return c.b.full(0, c.dtype, c.shape)


@lowers(aten._efficientzerotensor.default, free=True)
def zeros(c: Context, size: Any, **kwargs: Any) -> Value:
    return c.b.full(0, c.dtype, c.shape)


@lowers(aten.fill.Tensor)
def fill(c: Context, x: Value, value: Value) -> Value:
    return c.b.broadcast_to(converted(c, value, c.dtype), c.shape)


@lowers(aten.arange.start_step, free=True)
def arange(c: Context, start: Any, end: Any, step: Any = 1, **kwargs: Any) -> Value:
    """start + step i: integers exactly, floats in f64 and rounded once."""
    if len(c.shape) != 1:
        raise Unsupported("an arange without an extent")
    whole = c.dtype in INTEGERS
    wide = "i64" if whole else "f64"
    if whole:
        start, step = (v if isinstance(v, Extent) else int(v) for v in (start, step))
    out = c.b.iota(wide, c.shape, 0)
    if step != 1:
        out = c.b.mul(out, number(c, step, wide))
    if start != 0:
        out = c.b.add(out, number(c, start, wide))
    return c.b.cast(out, c.dtype)


@lowers(REACHED)
def reached(c: Context, x: Value) -> Value:
    """What `x` needs to hold is noted by now; its elements are not wanted."""
    return c.b.full(True, "bool")
