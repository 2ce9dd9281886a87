"""Integers divided by zero: on the CPU the call raises, as in eager; a GPU gives what it gives."""

from __future__ import annotations

from typing import Any

import torch

from tokamak.importer.segment import product

from .registry import Context, Value

aten = torch.ops.aten

DIVISIONS = ("div", "floordiv", "rem", "fmod")


def require_divisor(c: Context, divisor: Any, written: Any) -> None:
    """The divisor, a value or a number, is nowhere zero, unless there is nothing to divide; `written` is the node's."""
    if c.stops or 0 in c.shape or never_zero(written):
        return
    divisor = divisor if isinstance(divisor, Value) else c.b.full(divisor, c.dtype)
    holds = c.b.binary("ne", divisor, 0)
    kept = [1] * (len(c.shape) - divisor.rank) + list(divisor.shape)
    grown = [n for n, k in zip(c.shape, kept, strict=True) if n != k and not isinstance(n, int)]
    if grown:  # to nothing, perhaps
        holds = c.b.binary("or", holds, c.b.binary("eq", c.b.size(product(grown)), 0))
    c.require(holds, RuntimeError, "ZeroDivisionError")


def never_zero(divisor: Any) -> bool:
    """Whether a divisor is a number, the same number everywhere or bounded from below, and not zero."""
    if not isinstance(divisor, torch.fx.Node):
        return divisor != 0
    args = divisor.args
    if divisor.target in (aten.full.default, aten.scalar_tensor.default):
        number = args[divisor.target is aten.full.default]
        return isinstance(number, (int, float)) and int(number) != 0
    bounded = divisor.target is aten.clamp.default and len(args) == 2 and not divisor.kwargs
    return bounded and isinstance(args[1], int) and args[1] > 0
