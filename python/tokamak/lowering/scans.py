"""Running folds along an axis."""

from __future__ import annotations

from typing import Any

import torch

from .algebra import converted
from .registry import Context, Value, lowers
from .shapes import axis_of

aten = torch.ops.aten


def scan(c: Context, kind: str, x: Value, dim: int) -> Value:
    """As torch does, where a 0-d tensor has one axis of extent 1."""
    axis = axis_of(x, dim)
    if x.rank == 0:
        return c.b.reshape(c.b.scan(kind, c.b.reshape(x, [1]), 0), [])
    return c.b.scan(kind, x, axis)


for _name in ("cumsum", "cumprod"):

    @lowers(getattr(aten, _name).default)
    def running(c: Context, x: Value, dim: int, *, dtype: Any = None, _kind: str = _name[3:]) -> Value:
        return c.b.cast(scan(c, _kind, converted(c, x, c.dtype), dim), c.dtype)


for _name in ("cummax", "cummin"):

    @lowers(getattr(aten, _name).default)
    def running_extreme(c: Context, x: Value, dim: int, _kind: str = _name[3:]) -> tuple[Value, Value]:
        return scan(c, _kind, x, dim), scan(c, f"arg{_kind}", x, dim)
