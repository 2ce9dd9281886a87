"""Folds over axes."""

from __future__ import annotations

import math
from typing import Any

import torch

from tokamak.importer.segment import HALVES

from .algebra import Expr, converted, exact, rounded, widened
from .registry import Context, Unsupported, Value, lowers
from .shapes import axis_of

aten = torch.ops.aten


def axes_of(x: Value, dim: Any) -> list[int]:
    """The axes as torch means them: none or an empty list is all, negative ones count from the end."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(x.rank))
    dims = [dim] if isinstance(dim, int) else list(dim)
    found = {axis_of(x, d) for d in dims}
    return sorted(found) if x.rank else []


def fold(c: Context, kind: str, x: Value, dim: Any, keepdim: bool, correction: int = 0) -> Value:
    """Folds as torch does, where a 0-d tensor has one axis of extent 1."""
    if x.rank == 0:
        return c.b.reduce(kind, c.b.reshape(x, [1]), [0], False, correction)
    return c.b.reduce(kind, x, axes_of(x, dim), keepdim, correction)


for _name in ("sum", "prod", "mean"):
    _targets = [getattr(getattr(aten, _name), o) for o in ("default", "dim", "dim_IntList", "dim_int")
                if o in getattr(aten, _name).overloads()]  # fmt: skip

    @lowers(*_targets)
    def total(
        c: Context, x: Value, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, _kind: str = _name
    ) -> Value:
        """In the dtype asked for, or i64 for integers; of halves before they were rounded, where the same kernel has
        them."""
        wide = x.dtype in HALVES and c.dtype in (*HALVES, "f32")
        out = fold(c, _kind, widened(c, x) if wide else converted(c, x, c.dtype), dim, keepdim)
        return rounded(c, out, c.dtype)


for _name in ("amax", "amin", "max", "min"):

    @lowers(getattr(aten, _name).default)
    def extreme(c: Context, x: Value, dim: Any = None, keepdim: bool = False, _kind: str = _name[-3:]) -> Value:
        return fold(c, _kind, x, dim, keepdim)


for _name in ("max", "min"):

    @lowers(getattr(aten, _name).dim)
    def extreme_and_place(c: Context, x: Value, dim: int, keepdim: bool = False, _kind: str = _name) -> tuple:
        return fold(c, _kind, x, dim, keepdim), fold(c, f"arg{_kind}", x, dim, keepdim)


for _name in ("argmax", "argmin"):

    @lowers(getattr(aten, _name).default)
    def place(c: Context, x: Value, dim: int | None = None, keepdim: bool = False, _kind: str = _name) -> Value:
        return fold(c, _kind, x, dim, keepdim)


for _name in ("any", "all"):

    @lowers(getattr(aten, _name).default, getattr(aten, _name).dim, getattr(aten, _name).dims)
    def truth(c: Context, x: Value, dim: Any = None, keepdim: bool = False, _kind: str = _name) -> Value:
        if isinstance(dim, (list, tuple)) and not dim and x.rank:  # of no axes: only the dtype changes
            return c.b.cast(c.b.cast(x, "bool"), c.dtype)
        return c.b.cast(fold(c, _kind, c.b.cast(x, "bool"), dim, keepdim), c.dtype)


# Moments


def variance(c: Context, x: Value, dim: Any, correction: Any, keepdim: bool) -> Value:
    """In the dtype of x; a correction that is not whole scales the biased variance."""
    correction = 1 if correction is None else correction
    if not isinstance(correction, (int, float)):
        raise Unsupported("the correction is a size")
    if float(correction).is_integer() and correction >= 0:
        return fold(c, "var", x, dim, keepdim, int(correction))
    count = math.prod(s if isinstance(s, int) else -1 for s in (x.shape[a] for a in axes_of(x, dim)))
    if count < 0:
        raise Unsupported("a fractional correction over a symbolic extent")
    biased = fold(c, "var", x, dim, keepdim)
    left = max(count - correction, 0.0)
    return c.b.mul(biased, count / left if left else math.inf)


@lowers(aten.var.correction)
def var(c: Context, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Value:
    return rounded(c, variance(c, exact(c, x), dim, correction, keepdim), c.dtype)


@lowers(aten.std.correction)
def std(c: Context, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Value:
    return rounded(c, c.b.unary("sqrt", variance(c, exact(c, x), dim, correction, keepdim)), c.dtype)


@lowers(aten.var_mean.correction)
def var_mean(c: Context, x: Value, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> tuple:
    wide = exact(c, x)
    moments = variance(c, wide, dim, correction, keepdim), fold(c, "mean", wide, dim, keepdim)
    return tuple(rounded(c, m, x.dtype) for m in moments)


# Norms and logarithms of sums


@lowers(aten.linalg_vector_norm.default)
def vector_norm(
    c: Context, x: Value, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Value:
    x = Expr(c.b, widened(c, c.b.cast(x, c.dtype))).abs()
    folded = lambda kind, e: Expr(c.b, fold(c, kind, e.value, dim, keepdim))  # noqa: E731
    if ord in (math.inf, -math.inf):
        out = folded("max" if ord > 0 else "min", x)
    elif ord == 0:
        out = folded("sum", (x != 0).cast(x.value.dtype))
    elif ord == 1:
        out = folded("sum", x)
    elif ord == 2:
        out = folded("sum", x * x).sqrt()
    else:
        out = folded("sum", x ** float(ord)) ** (1.0 / ord)
    return rounded(c, out.value, c.dtype)


@lowers(aten.logsumexp.default)
def logsumexp(c: Context, x: Value, dim: Any, keepdim: bool = False) -> Value:
    """log(sum(exp(x - max))) + max; a maximum that is infinite is not taken off."""
    if not x.floating:
        x = c.b.cast(x, c.dtype)
    wide = Expr(c.b, widened(c, x if x.rank else c.b.reshape(x, [1])))
    axes = axes_of(wide.value, dim)
    if any(wide.shape[a] == 0 for a in axes):
        raise Unsupported("of an empty axis")
    top = wide.fold("max", axes)
    top = top.isinf().where(0, top)
    out = (wide - top).exp().fold("sum", axes).log() + top
    return rounded(c, c.b.reshape(out.value, c.shape), c.dtype)


# Softmax


@lowers(aten._softmax.default, aten._log_softmax.default)
def softmax(c: Context, x: Value, dim: int, half_to_float: bool) -> Value:
    log = ", log = true" if c.node.target is aten._log_softmax.default else ""
    x, axis = c.b.cast(x, c.dtype), axis_of(x, dim)
    if x.rank == 0:
        return c.b.reshape(c.b.op("softmax", [c.b.reshape(x, [1])], f"axis = 0{log}"), [])
    return c.b.op("softmax", [x], f"axis = {axis}{log}")


@lowers(aten._softmax_backward_data.default, aten._log_softmax_backward_data.default)
def softmax_backward(c: Context, grad: Value, y: Value, dim: int, input_dtype: Any) -> Value:
    grad, y = (Expr(c.b, widened(c, v if v.rank else c.b.reshape(v, [1]))) for v in (grad, y))
    axes = axes_of(grad.value, dim)
    if c.node.target is aten._softmax_backward_data.default:
        product = grad * y
        out = product - y * product.fold("sum", axes)
    else:
        out = grad - y.exp() * grad.fold("sum", axes)
    return rounded(c, c.b.reshape(out.value, c.shape), c.dtype)
