"""Tensors made of nothing: filled, counted."""

from __future__ import annotations

from typing import Any

import torch

from .registry import Context, Extent, Unsupported, Value, lowers

aten = torch.ops.aten


def number(x: Any) -> bool | int | float:
    if not isinstance(x, (bool, int, float)):
        raise Unsupported(
            "the value is a size or complex" if isinstance(x, (Extent, complex)) else "the value is a tensor"
        )
    return x


@lowers(aten.full.default, aten.full_like.default, free=True)
def full(c: Context, shape: Any, value: Any, **kwargs: Any) -> Value:
    return c.b.full(number(value), c.dtype, c.shape)


@lowers(aten.scalar_tensor.default, free=True)
def scalar_tensor(c: Context, value: Any, **kwargs: Any) -> Value:
    return c.b.full(number(value), c.dtype, c.shape)


@lowers(aten.empty.memory_format, aten.empty_permuted.default, aten.empty_strided.default, free=True)
def empty(c: Context, *args: Any, **kwargs: Any) -> Value:
    """Memory without contents; zeros cost nothing where they are not read."""
    return c.b.full(0, c.dtype, c.shape)


@lowers(aten.fill.Tensor)
def fill(c: Context, x: Value, value: Value) -> Value:
    return c.b.broadcast_to(c.b.cast(value, c.dtype), c.shape)


@lowers(aten.arange.start_step, free=True)
def arange(c: Context, start: Any, end: Any, step: Any = 1, **kwargs: Any) -> Value:
    """start + step i: integers exactly, floats in f64 and rounded once."""
    start, step = number(start), number(step)
    if len(c.shape) != 1:
        raise Unsupported("an arange without an extent")
    index = c.b.iota("i64", c.shape, 0)
    if all(isinstance(v, int) for v in (start, step)) and not c.fake.dtype.is_floating_point:
        index = index if step == 1 else c.b.mul(index, step)
        return c.b.cast(index if start == 0 else c.b.add(index, start), c.dtype)
    exact = c.b.add(c.b.mul(c.b.cast(index, "f64"), step), start)
    return c.b.cast(exact, c.dtype)
