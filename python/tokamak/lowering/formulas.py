"""Elementwise functions that are formulas of others. Where one is singular it says what eager gives there."""

from __future__ import annotations

import math
from typing import Any

import torch

from .algebra import Expr, finish, formula, operand, rounded, widened
from .registry import Context, Unsupported, Value, lowers

aten = torch.ops.aten


@formula(aten.frac.default)
def frac(x: Expr) -> Expr:
    return x - x.trunc()


@formula(aten.square.default)
def square(x: Expr) -> Expr:
    return x * x


@formula(aten.ldexp.Tensor)
def ldexp(x: Expr, exponent: Expr) -> Expr:
    return x * 2**exponent


@formula(aten.addcmul.default)
def addcmul(x: Expr, a: Expr, b: Expr, value: Any = 1) -> Expr:
    return x + (a * b if value == 1 else a * value * b)


@formula(aten.addcdiv.default)
def addcdiv(x: Expr, a: Expr, b: Expr, value: Any = 1) -> Expr:
    return x + (a / b if value == 1 else a * value / b)


@formula(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(x: Expr, end: Expr, weight: Any) -> Expr:
    """From the nearer end, so that weights 0 and 1 give the ends themselves."""
    if not isinstance(weight, Expr):
        return x + (end - x) * weight if abs(weight) < 0.5 else end - (end - x) * (1 - weight)
    return (weight.abs() < 0.5).where(x + weight * (end - x), end - (end - x) * (1 - weight))


@formula(aten.hypot.default)
def hypot(x: Expr, y: Expr) -> Expr:
    x, y = x.abs(), y.abs()
    large, small = x.max(y), x.min(y)
    ratio = small / large
    plain = (large == 0).where(large, large * (ratio * ratio + 1).sqrt())
    return (x.isinf() | y.isinf()).where(math.inf, plain)


@formula(aten.logaddexp.default)
def logaddexp(x: Expr, y: Expr) -> Expr:
    return (x.isinf() & (x == y)).where(x, x.max(y) + (-(x - y).abs()).exp().log1p())


@formula(aten.logaddexp2.default)
def logaddexp2(x: Expr, y: Expr) -> Expr:
    return (x.isinf() & (x == y)).where(x, x.max(y) + (-(x - y).abs()).exp2().log1p() * (1 / math.log(2)))


def times_log(x: Any, y: Any, log: Any) -> Expr:
    """x log(y), which is 0 where x is, unless y is NaN."""
    if not isinstance(x, Expr):
        x = y.number(x)
    if not isinstance(y, Expr):
        y = x.number(y)
    return y.isnan().where(y, (x == 0).where(0, x * log(y)))


@formula(aten.xlogy.Tensor, aten.xlogy.Scalar_Self, aten.xlogy.Scalar_Other)
def xlogy(x: Any, y: Any) -> Expr:
    return times_log(x, y, lambda v: v.log())


@formula(aten.special_xlog1py.default, aten.special_xlog1py.self_scalar, aten.special_xlog1py.other_scalar)
def xlog1py(x: Any, y: Any) -> Expr:
    return times_log(x, y, lambda v: v.log1p())


@formula(aten.special_entr.default)
def entr(x: Expr) -> Expr:
    return x.isnan().where(x, (x > 0).where(-x * x.log(), (x == 0).where(0, x.number(-math.inf))))


@formula(aten.sinc.default)
def sinc(x: Expr) -> Expr:
    scaled = x * math.pi
    return (x == 0).where(1, scaled.sin() / scaled)


@lowers(aten.logit.default)
def logit(c: Context, x: Value, eps: float | None = None) -> Value:
    """On the CPU its bounds are numbers of the result's dtype: among halves the upper one may be 1."""
    v = Expr(c.b, operand(c, x, c.dtype))
    if eps is not None:
        held = "f64" if c.stops else c.dtype
        low = c.scalar(eps, held)
        high = c.scalar(1 - low, held)
        v = (v < low).where(low, (v > high).where(high, v))
    return finish(c, (v / (1 - v)).log().value)


@formula(aten.logit_backward.default)
def logit_backward(grad: Expr, x: Expr, eps: float | None = None) -> Expr:
    low, high, outside = (0, 1, math.nan) if eps is None else (eps, 1 - eps, 0)
    return ((x < low) | (x > high)).where(outside, grad / (x * (1 - x)))


@formula(aten.heaviside.default)
def heaviside(x: Expr, at_zero: Expr) -> Expr:
    return (x == 0).where(at_zero, (x > 0).where(1, x.number(0)))


@lowers(aten.nan_to_num.default)
def nan_to_num(c: Context, x: Value, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Value:
    if not x.floating:
        return x
    limits = torch.finfo(c.fake.dtype)
    v = Expr(c.b, widened(c, x))
    finite = (v == -math.inf).where(limits.min if neginf is None else neginf, v)
    finite = (v == math.inf).where(limits.max if posinf is None else posinf, finite)
    return rounded(c, v.isnan().where(0.0 if nan is None else nan, finite).value, c.dtype)


@formula(aten.round.decimals)
def round_decimals(x: Expr, *, decimals: int) -> Expr:
    if not x.value.floating:
        raise Unsupported("decimals of an integer")
    scale = float(10 ** abs(decimals))
    return (x / scale).round() * scale if decimals < 0 else (x * scale).round() / scale
