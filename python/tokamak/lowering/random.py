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


STEPS = {"f16": 2.0**11, "bf16": 2.0**8}  # numbers below 1 that a half tells apart everywhere in [0, 1)


def drawn(c: Context, kind: str) -> Value:
    """In the node's dtype; uniform halves from as many bits as they have, since others round up to 1."""
    if kind != "uniform" or c.dtype not in STEPS:
        return draw(c, kind, c.dtype)
    u = Expr(c.b, draw(c, kind, "f32"))
    return rounded(c, ((u * STEPS[c.dtype]).floor() * (1 / STEPS[c.dtype])).value, c.dtype)


FEW = 1024  # elements up to which a mask is drawn by torch: a call costs little there, and the numbers are eager's


def drawn_by_torch(node: torch.fx.Node) -> str | None:
    x, p = node.args[0].meta["val"], node.args[1]
    static = all(isinstance(n, int) for n in x.shape)
    if p in (0, 1) or node.args[2] is False or not static or not 0 < x.numel() <= FEW:
        return None
    return f"torch draws masks of at most {FEW} elements, as in eager"


@lowers(aten.native_dropout.default, needs_seed=True, leaves=drawn_by_torch)
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


@lowers(aten.normal_functional.default, needs_seed=True)
def normal(c: Context, x: Value, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Value:
    return affine(c, "normal", std, mean, generator)


@lowers(aten.uniform.default, needs_seed=True)
def uniform(c: Context, x: Value, low: float = 0.0, high: float = 1.0, generator: Any = None) -> Value:
    return affine(c, "uniform", high - low, low, generator)


def affine(c: Context, kind: str, scale: float, start: float, generator: Any) -> Value:
    if generator is not None:
        raise Unsupported("it draws from a generator of its own")
    draws = Expr(c.b, draw(c, kind, "f64" if c.dtype == "f64" else "f32"))
    return rounded(c, (draws * scale + start).value, c.dtype)
