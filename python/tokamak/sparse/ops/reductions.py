"""Folds over axes."""

from __future__ import annotations

import math
from typing import Any

from ..index import Axes, Expr, Fold, Value
from .arithmetic import call, pointwise, unmasked
from .registry import op
from .views import wrap


def folded(trace: Any, shapes: Any, hint: str, kind: str, x: Value, dim: Any, keepdim: bool, make: Any = None) -> Value:
    """A fold of make(x) over the axes `dim`."""
    x = unmasked(trace, x)
    rank = len(x.shape)
    axes = range(rank) if dim is None or dim == [] else [dim] if isinstance(dim, int) else dim
    gone = {wrap(axis, rank) for axis in axes}
    vars: Axes = x.fresh()
    over = [var for axis in sorted(gone) for var in vars[axis]]
    repeats = math.prod(x.shape[axis] for axis in gone if not x.axes[axis])
    value: Expr = x.at(vars)
    value = make(value) if make else value
    if over:
        value = Fold(kind, over, value)
    if kind == "sum" and repeats != 1:
        value = call("mul", value, repeats)
    left = [[] if a in gone else vars[a] for a in range(rank) if keepdim or a not in gone]
    return trace.define(hint, tuple(shapes.shape), shapes.dtype, left, value)


@op("sum")
def sum_of(trace, shapes, x, dim=None, keepdim=False, *, dtype=None):
    return folded(trace, shapes, "sum", "sum", x, dim, keepdim)


@op("_sparse_sum", no_meta=True)
def sparse_sum(trace, _, x, dim=None, *, dtype=None):
    import torch

    axes = (
        range(len(x.shape))
        if dim is None
        else [wrap(a, len(x.shape)) for a in ([dim] if isinstance(dim, int) else dim)]
    )
    shape = [size for axis, size in enumerate(x.shape) if axis not in axes]
    shapes = torch.empty(shape, dtype=dtype or x.dtype, device="meta")
    return folded(trace, shapes, "sum", "sum", x, list(axes), False)


@op("mean")
def mean(trace, shapes, x, dim=None, keepdim=False, *, dtype=None):
    return folded(trace, shapes, "mean", "mean", x, dim, keepdim)


@op("amax")
def amax(trace, shapes, x, dim=None, keepdim=False):
    return folded(trace, shapes, "max", "max", x, dim, keepdim)


@op("amin")
def amin(trace, shapes, x, dim=None, keepdim=False):
    return folded(trace, shapes, "min", "min", x, dim, keepdim)


@op("max", "min")
def largest(trace, shapes, x, dim=None, keepdim=False):
    if isinstance(dim, Value):
        return pointwise(trace, shapes, trace.now, [x, dim], lambda a, b: call(trace.now, a, b))
    if dim is None:
        return folded(trace, shapes, trace.now, trace.now, x, None, False)
    raise trace.refuse(
        f"{trace.now} along an axis gives positions as well", f"use torch.a{trace.now}, which gives the values alone"
    )


@op("any", "all")
def any_all(trace, shapes, x, dim=None, keepdim=False):
    kind = "max" if trace.now == "any" else "min"
    return folded(trace, shapes, trace.now, kind, x, dim, keepdim, lambda v: call("ne", v, 0))


def moments(trace: Any, shapes: Any, x: Value, dim: Any, keepdim: bool, correction: float) -> Value:
    """The variance: the mean of squares about the mean."""
    x = unmasked(trace, x)
    rank = len(x.shape)
    axes = range(rank) if dim is None or dim == [] else [dim] if isinstance(dim, int) else dim
    gone = {wrap(axis, rank) for axis in axes}
    count = math.prod(x.shape[axis] for axis in gone)
    if count <= correction:
        raise trace.refuse(f"a variance of {count} values less {correction:g}", "it is no number: use correction=0")
    vars = x.fresh()
    rows = [[] if a in gone else vars[a] for a in range(rank)]
    flat = [1 if a in gone else size for a, size in enumerate(x.shape)]
    over = [var for axis in sorted(gone) for var in vars[axis]]
    if not over:
        return pointwise(trace, shapes, "var", [0.0], lambda v: v)
    mean = trace.define("mean", flat, shapes.dtype, rows, Fold("mean", over, x.at(vars)))
    off = call("sub", x.at(vars), mean.at(rows))
    spread: Expr = Fold("mean", over, call("mul", off, off))
    if correction:
        spread = call("mul", spread, count / (count - correction))
    left = [axis for a, axis in enumerate(rows) if keepdim or a not in gone]
    return trace.define("var", tuple(shapes.shape), shapes.dtype, left, spread)


@op("var", "std")
def var(trace, shapes, x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 0 if unbiased is False else 1
    name = trace.now
    out = moments(trace, shapes, x, dim, keepdim, float(correction))
    return out if name == "var" else pointwise(trace, shapes, "std", [out], lambda v: call("sqrt", v))


@op("linalg_vector_norm", "norm")
def norm(trace, shapes, x, p=2, dim=None, keepdim=False, *, dtype=None):
    p = 2 if p is None else p
    if p not in (1, 2, math.inf):
        raise trace.refuse(f"a norm of order {p}", "use 1, 2 or inf, or write it with pow and sum")
    if p == 2:
        squares = folded(trace, shapes, "squares", "sum", x, dim, keepdim, lambda v: call("mul", v, v))
        return pointwise(trace, shapes, "norm", [squares], lambda v: call("sqrt", v))
    return folded(trace, shapes, "norm", "sum" if p == 1 else "max", x, dim, keepdim, lambda v: call("abs", v))
