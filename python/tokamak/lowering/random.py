"""Random numbers: Philox streams by a seed that torch's generator gives at each call, one stream an op."""

from __future__ import annotations

from typing import Any

import torch

from .algebra import Expr, rounded, widened
from .registry import Context, Extent, Unsupported, Value, lowers

aten = torch.ops.aten


def draw(c: Context, kind: str, dtype: str) -> Value:
    fake = c.fake[0] if isinstance(c.fake, (tuple, list)) else c.fake
    return c.b.random(c.seed(), c.next_offset(), kind, dtype, c.type_of(fake)[1])


def drawn(c: Context, kind: str) -> Value:
    """In the node's dtype: halves and f32 from 24 random bits, so that a half may round up to 1 as nowhere in eager."""
    return draw(c, kind, c.dtype)


@lowers(aten.native_dropout.default, needs_seed=True)
def native_dropout(c: Context, x: Value, p: float, train: bool | None) -> tuple[Value, Value]:
    if train is False or p == 0:
        return x, c.b.full(True, "bool", x.shape)
    if p == 1:
        return c.b.mul(x, 0), c.b.full(False, "bool", x.shape)
    wide = Expr(c.b, widened(c, x))
    keep = Expr(c.b, draw(c, "uniform", "f32")) >= p
    factor = keep.where(1 / (1 - p), wide.number(0))  # a factor, not a choice: what is not finite stays so
    return rounded(c, (wide * factor).value, x.dtype), keep.value


for _name, _kind in (("rand", "uniform"), ("randn", "normal")):

    @lowers(getattr(aten, _name).default, needs_seed=True)
    def fresh(c: Context, size: Any, *, _kind: str = _kind, **kwargs: Any) -> Value:
        return drawn(c, _kind)

    @lowers(getattr(aten, f"{_name}_like").default, needs_seed=True)
    def fresh_like(c: Context, x: Value, *, _kind: str = _kind, **kwargs: Any) -> Value:
        return drawn(c, _kind)


@lowers(aten.bernoulli.p, needs_seed=True)
def bernoulli(c: Context, x: Value, p: float, generator: Any = None) -> Value:
    if generator is not None or not isinstance(p, float):
        raise Unsupported("it draws from a generator of its own")
    return c.b.cast(c.b.binary("lt", draw(c, "uniform", "f32"), p), c.dtype)


@lowers(aten.randint.default, aten.randint.low, needs_seed=True)
def randint(c: Context, *args: Any, **kwargs: Any) -> Value:
    low, high = (0, args[0]) if c.node.target is aten.randint.default else args[:2]
    if any(isinstance(v, Extent) for v in (low, high)):
        raise Unsupported("a bound is a size")
    offset = c.b.binary("rem", draw(c, "bits", "i64"), high - low)
    return c.b.cast(c.b.add(offset, low), c.dtype)
